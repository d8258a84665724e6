"""Tests of scorer resolution by name, scorer folder and run folder."""

import re
from pathlib import Path

import pytest

from radreward._lazy_imports import import_object
from radreward.cli.training import build
from radreward.errors import InputError
from radreward.scorers import SCORERS, load, resolve
from radreward.scorers.registry import SCORER_SPECS, ScorerSpec


@pytest.mark.parametrize("spec", SCORER_SPECS, ids=[spec.class_path for spec in SCORER_SPECS])
def test_resolve_folder_or_run_returns_saved_scorer(spec: ScorerSpec, tmp_path: Path) -> None:
    for folder in (tmp_path / "run" / "model", tmp_path / "alone"):
        folder.mkdir(parents=True)
        (folder / spec.config_name).touch()
    assert resolve(tmp_path / "run") == (spec, tmp_path / "run" / "model", {})
    assert resolve(str(tmp_path / "alone")) == (spec, tmp_path / "alone", {})


def test_config_names_differ_and_are_those_of_the_classes() -> None:
    assert len({spec.config_name for spec in SCORER_SPECS}) == len(SCORER_SPECS)
    for spec in SCORER_SPECS:
        scorer_class = import_object(spec.class_path)
        assert getattr(scorer_class, "config_name", spec.config_name) == spec.config_name


def test_page_about_scores_names_every_scorer_with_a_quality() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "score.md").read_text(encoding="utf-8")
    paragraph = next(part for part in text.split("\n\n") if part.startswith("| scorer | where m and e come from"))
    named = set(re.findall(r"`([\w-]+)`", paragraph)) & set(SCORERS)
    expected = {name for name, entry in SCORERS.items() if import_object(entry.spec.class_path).has_quality is True}
    assert named == expected | {"er2score"}  # whose model decides


@pytest.mark.parametrize("name", SCORERS)
def test_resolve_name_returns_scorer(name: str) -> None:
    spec, folder, _ = resolve(f"{name}:folder" if SCORERS[name].argument_help else name)
    assert spec in SCORER_SPECS
    assert folder is None or (folder / spec.config_name).is_file()
    assert SCORERS[name].summary.endswith(".")


def test_loaded_scorer_has_title_of_registry() -> None:
    for name in ("er2score", "bleu-2", "g-rad"):
        assert load(name).title == SCORERS[name].title


def test_resolve_without_scorer_raises_with_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="my_file.py:my_metric, or a name that `radreward list` prints"):
        resolve("nowhere")
    with pytest.raises(InputError, match="Did you mean ratescore"):
        resolve("RaTEScores")
    with pytest.raises(InputError, match="Expected one scorer but got several. Separate their names by spaces"):
        resolve("rouge-l,bleu-4")
    for path in (tmp_path / "nowhere", "./nowhere/", "~/nowhere", "runs/nowhere/model"):
        with pytest.raises(InputError, match="of a model or of a run but there is no such folder.$"):
            resolve(path)
    with pytest.raises(InputError, match="runs/nowhere: Expected a folder, or a model of the Hub on this machine"):
        resolve("runs/nowhere")
    with pytest.raises(InputError, match="Expected the folder of a saved scorer or of a run"):
        resolve(tmp_path)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(InputError, match="without a model; it has no checkpoint: start it again with `.* --overwrite`"):
        resolve(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.ckpt").touch()
    with pytest.raises(InputError, match="contains a run without a model; finish it with `.* --ckpt-path=last`"):
        resolve(tmp_path)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "rouge-l",
            {"devize": "cpu"},
            "rouge-l: Expected settings among precision, .* but got 'devize'. Did you mean dev",
        ),
        ("er2score", {"models": "ner"}, "er2score: Expected settings among precision, .* but got 'models'"),
        ("er2score", {"device": "gpu"}, r"device: Expected auto or a device of this machine \(.*cpu\) but got 'gpu'"),
        ("er2score", {"device": "cuda:99"}, r"device: Expected auto or a device .* but got 'cuda:99'"),
        (None, {}, "Expected the name or the folder of a scorer but got NoneType"),
    ],
)
def test_load_with_wrong_arguments_raises(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(name, **settings)


def test_init_from_scorer_without_weights_raises() -> None:
    with pytest.raises(InputError, match="--init-from: Expected a saved trained model but 'ratescore' has no weights"):
        build(None, "criteria=radcliq", "init_from=ratescore", "data.records=none.jsonl")
