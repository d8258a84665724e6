"""Scorers are found by name, in their folder, and in the folder of the run that made them."""

from pathlib import Path

import pytest

from radreward.cli import build
from radreward.errors import InputError
from radreward.scorers import SCORER_SPECS, SCORERS, ScorerSpec, resolve


@pytest.mark.parametrize("kind", SCORER_SPECS, ids=[kind.class_name for kind in SCORER_SPECS])
def test_every_kind_is_found_in_its_folder_and_in_its_run(kind: ScorerSpec, tmp_path: Path) -> None:
    for folder in (tmp_path / "run" / "model", tmp_path / "alone"):
        folder.mkdir(parents=True)
        (folder / kind.config_name).touch()
    assert resolve(tmp_path / "run") == (kind, tmp_path / "run" / "model", {})
    assert resolve(str(tmp_path / "alone")) == (kind, tmp_path / "alone", {})


@pytest.mark.parametrize("name", SCORERS)
def test_every_name_is_found(name: str) -> None:
    kind, folder, _ = resolve(f"{name}:folder" if SCORERS[name].argument_help else name)
    assert kind in SCORER_SPECS
    assert folder is None or (folder / kind.config_name).is_file()


def test_what_holds_no_scorer_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the folder of a model, my_file.py:my_metric, or a name of embedded"):
        resolve("nowhere")
    for path in (tmp_path / "nowhere", "./nowhere/", "~/nowhere", "runs/nowhere"):
        with pytest.raises(InputError, match="of a model or of a run but there is no such folder.$"):
            resolve(path)
    with pytest.raises(InputError, match="Expected the folder of a saved scorer or of a run"):
        resolve(tmp_path)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(InputError, match="holds a run without a model; finish it with"):
        resolve(tmp_path)


def test_training_begins_with_what_was_trained() -> None:
    with pytest.raises(InputError, match="--start: Expected a model that was trained and saved, which 'ratescore' is"):
        build(None, "criteria=RadCliQ", "start=ratescore", "data.records=none.jsonl")
