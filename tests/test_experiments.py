"""Every file of experiments/ is valid: runs build and train with a small backbone, studies build, criteria load."""

import json
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from radreward.cli import build, main
from radreward.criteria import load_criteria
from radreward.models import Backbone
from radreward.modules import RewardModule
from radreward.objectives import MarginRewardEnforcement
from radreward.synthesis import synthesize_files
from radreward.synthesis.report_styles import Granularity
from radreward.tuning import load_study_config
from tests.logged_terms import fit_and_record

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "experiments").rglob("*.yaml"))
CRITERIA = [path for path in FILES if path.parent.name == "criteria"]
LOADED = {path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
ELSEWHERE = ("green", "radreason", "ratescore")
# parts.yaml needs a saved model and has data of its own: tests/experiments/er2score/test_parts.py.
OWN_TEST = ("parts",)
STUDIES = [
    path
    for path in FILES
    if "study" in LOADED[path] and path.parent.name not in ELSEWHERE and path.stem not in OWN_TEST
]
# Runs of other modules are tested in tests/modules, their studies there and in test_ratescore_studies.py.
# Full-size runs are tested in test_full_size_experiments.py.
RUNS = [
    path
    for path in FILES
    if "class_path" not in LOADED[path].get("model", {"class_path": "none"})
    and "/" not in LOADED[path]["model"]["backbone"]["name"]
]
FULL_SIZE = ROOT / "experiments" / "er2score" / "llama3-8b.yaml"
# Bases of a study: its own base and the full-size one named in its file, if that is another one.
TRIED = [
    (path, base)
    for path in STUDIES
    for base in (None, FULL_SIZE)
    if not base or (base.name in path.read_text() and load_study_config(path).base.name != base.name)
]
IN_SMALL = {
    "lmsys/vicuna-7b-v1.5": "tiny-llama",
    "epfl-llm/meditron-7b": "tiny-llama",
    "google/gemma-7b": "tiny-gemma",
    "Qwen/Qwen1.5-7B": "tiny-qwen2",
    "microsoft/phi-2": "tiny-phi",
    "runs/small-backbones/minilm-4": "tiny-bert",
    "runs/small-backbones/minilm-2": "tiny-bert",
}
SAME_IN_SMALL = {"backbones-7b": 1, "backbones": 2}
"""Number of variants that equal another one in small: two Llama 2, three MiniLM."""
GROUPS = {"report": 8, "statement": 12}
"""Number of groups by granularity: reports are long, their tokens are bytes here."""
Records = Callable[[Path], Path]
ER2SCORE_TERMS = {"loss", "individual", "total"}
"""What a run with the loss of the paper logs: L, L_ind and λ·L_tot (Eq. 1)."""
SHIPPED_TERMS = {
    "MarginRewardEnforcement/loss",
    "CountRegression/loss",
    "FindingRegression/loss",
    "QualityOrder/loss",
    "LocatedErrors/loss",
}
"""What embedded.yaml adds up."""


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT / "experiments")) for path in paths]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """Return a function that writes groups of the kind in the head of a file once; all runs on this kind read them."""

    @cache
    def write(preset: str, granularity: Granularity) -> Path:
        folder = tmp_path_factory.mktemp("groups")
        groups = GROUPS[granularity]
        synthesize_files(folder, load_criteria(preset), groups, per_reference=2, granularity=granularity)
        return folder / "groups.parquet"

    def records_of(path: Path) -> Path:
        statements = "synthesize --granularity statement" in path.read_text(encoding="utf-8")
        return write(settings_of(path)["criteria"], "statement" if statements else "report")

    return records_of


def settings_of(path: Path) -> dict[str, Any]:
    settings: dict[str, Any] = LOADED[ROOT / path]
    return settings


def small(path: Path, folder: Path, tiny_llama: Path, records: Records) -> list[str]:
    """Return overrides that make the run of a file small: backbone, data, steps."""
    decoder = "llama" in settings_of(path)["model"]["backbone"]["name"]
    return [
        f"--run-dir={folder / 'run'}",
        f"--data.records={records(path)}",
        "--data.val_split=0.4",
        "--data.batch_size=2",
        f"--data.collator.max_length={8192 if decoder else 4096}",  # the tokens of the tiny backbones are bytes
        f"--model.backbone.name={tiny_llama if decoder else 'tiny-bert'}",
        "--trainer.max_steps=1",
        "--trainer.accelerator=cpu",
        "--trainer.strategy=auto",
        "--trainer.devices=1",
        "--trainer.enable_progress_bar=false",
    ]


def test_files_of_each_kind_exist() -> None:
    assert CRITERIA
    assert len(RUNS) >= 4
    assert len(STUDIES) >= 9
    assert not {*CRITERIA} & {*STUDIES, *RUNS}


@pytest.mark.parametrize("path", CRITERIA, ids=names(CRITERIA))
def test_criteria_load(path: Path) -> None:
    criteria = load_criteria(str(path))
    assert len(criteria.tags) == len(set(criteria.tags)) > 1


@pytest.mark.parametrize("path", RUNS, ids=names(RUNS))
def test_run_file_builds_and_trains_a_step(
    path: Path, tmp_path: Path, tiny_llama: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    training = build(path, *small(path, tmp_path, tiny_llama, records))
    module = training.module
    assert isinstance(module, RewardModule)
    assert module.criteria == load_criteria(settings_of(path)["criteria"])
    before = {name: value.clone() for name, value in module.model.trained_state().items()}
    (terms,) = fit_and_record(training)
    assert training.trainer.global_step == 1
    if path.name == "embedded.yaml":
        assert {name for name in terms if name.endswith("/loss")} == SHIPPED_TERMS
        assert sum(terms[name] for name in SHIPPED_TERMS) == pytest.approx(terms["loss"], rel=1e-4)
        assert all(terms[name] > 0 for name in SHIPPED_TERMS)
    else:
        assert terms.keys() == ER2SCORE_TERMS
        assert terms["individual"] + terms["total"] == pytest.approx(terms["loss"], rel=1e-4)
    metrics = json.loads((training.run_folder.folder / "metrics.json").read_text(encoding="utf-8"))
    assert set(metrics["agreement"]) - {"quality", "errors"} == {*module.criteria.tags, "total"}
    checkpoint = torch.load(training.run_folder.last, weights_only=True)
    assert any(
        not torch.equal(before[name.removeprefix("model.")], value) for name, value in checkpoint["state_dict"].items()
    )
    assert (training.run_folder.model / "model.safetensors").is_file()


def test_custom_loss_trains_from_the_command_line(
    tmp_path: Path,
    tiny_llama: Path,
    records: Records,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    path = Path("experiments/ablations/base_small.yaml")
    given = small(path, tmp_path, tiny_llama, records)
    given.append("--model.objective=experiments.ablations.custom_loss.SmoothMargin")
    assert main(["fit", "--config", str(path), *given]) == 0
    assert str(tmp_path / "run" / "model") in capsys.readouterr().out
    module = RewardModule.load_from_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt", map_location="cpu")
    assert type(module.objective).__module__ == "experiments.ablations.custom_loss"
    assert type(module.objective).__name__ == "SmoothMargin"


def shrunk(arguments: list[str], in_small: list[str]) -> list[str]:
    """Add the overrides of a small run; a backbone that the trial selects keeps its family."""
    chosen = [entry for entry in arguments if entry.startswith("model.backbone.name=")]
    others = [entry for entry in arguments if entry not in chosen]
    families = [f"model.backbone.name={IN_SMALL.get(name, name)}" for name in (e.partition("=")[2] for e in chosen)]
    return [*others, *in_small, *families]


@pytest.fixture(scope="module")
def built_settings(
    tmp_path_factory: pytest.TempPathFactory, tiny_llama: Path, records: Records
) -> Callable[[Path, list[str]], dict[str, Any]]:
    """Return a function that builds a variant once; studies share some of theirs."""
    folder = tmp_path_factory.mktemp("built")

    @cache
    def build_once(base: Path, arguments: tuple[str, ...]) -> dict[str, Any]:
        training = build(base, *arguments)
        assert isinstance(training.module, RewardModule)
        return training.settings

    def build_variant(base: Path, overrides: list[str]) -> dict[str, Any]:
        arguments = shrunk(overrides, small(base, folder, tiny_llama, records))
        return build_once(base, tuple(arguments))

    return build_variant


@pytest.mark.parametrize(
    ("path", "base"), TRIED, ids=[f"{path.stem}-{base.stem if base else 'own'}" for path, base in TRIED]
)
def test_every_variant_of_a_study_builds(
    path: Path,
    base: Path | None,
    built_settings: Callable[[Path, list[str]], dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    settings = load_study_config(path, base)
    samples = [labels for labels in settings.space.conditional_branches() if labels.get("seed_everything", 0) == 0]
    if base:  # settings are checked on their own base; this checks that both bases have the same ones
        samples = samples[:: len(samples) - 1]
    built = [built_settings(settings.base, settings.overrides_for(labels)) for labels in samples]
    assert len(samples) > 1
    distinct = sum(built.index(entry) == place for place, entry in enumerate(built))
    assert distinct >= len(samples) - SAME_IN_SMALL.get(path.stem, 0)


def contradict(overrides: list[str], settings: dict[str, Any]) -> bool:
    """Return True if overrides give one of the settings of an objective another value."""
    given = {
        key.rpartition(".")[2]: yaml.safe_load(text) for key, _, text in (entry.partition("=") for entry in overrides)
    }
    return any(given.get(name, value) != value for name, value in settings.items())


@pytest.mark.parametrize(
    ("table", "settings", "terms"),
    [
        ("losses.yaml", {"use_criteria": True, "use_total": False}, {"loss", "individual"}),
        ("losses.yaml", {"use_criteria": False, "use_total": True}, {"loss", "total"}),
        ("losses.yaml", {"use_criteria": True, "use_total": True}, ER2SCORE_TERMS),
        ("lambda.yaml", {"lambda_": 0.5}, ER2SCORE_TERMS),
        ("lambda.yaml", {"lambda_": 3}, ER2SCORE_TERMS),
    ],
)
def test_variant_of_a_table_of_er2score_minimizes_its_terms_only(
    table: str,
    settings: dict[str, Any],
    terms: set[str],
    tmp_path: Path,
    tiny_llama: Path,
    records: Records,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    study = load_study_config(ROOT / "experiments" / "ablations" / table)
    in_small = small(study.base, tmp_path, tiny_llama, records)
    for labels in study.space.conditional_branches():
        overrides = study.overrides_for(labels)
        if labels["seed_everything"] or contradict(overrides, settings):
            continue
        training = build(study.base, *shrunk(overrides, in_small))
        objective = training.module.objective
        if isinstance(objective, MarginRewardEnforcement) and settings.items() <= vars(objective).items():
            break
    else:
        pytest.fail(f"{table} has no variant with {settings}")
    (logged,) = fit_and_record(training)
    assert logged.keys() == terms
    assert sum(logged[name] for name in terms - {"loss"}) == pytest.approx(logged["loss"], rel=1e-4)


def test_study_runs_and_its_groups_are_compared(
    tmp_path: Path,
    tiny_llama: Path,
    records: Records,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "weighting.yaml"  # with two seeds instead of three
    path.write_text((ROOT / "experiments/ablations/weighting.yaml").read_text().replace("[0, 1, 2]", "[0, 1]"))
    settings = load_study_config(path)
    in_small = small(settings.base, tmp_path, tiny_llama, records)
    given = [entry.removeprefix("--") for entry in in_small if not entry.startswith("--run-dir")]
    given += ["trainer.val_check_interval=1", "trainer.logger=false"]
    assert main(["tune", "--config", str(path), "--run-dir", str(tmp_path / "study"), *given]) == 0
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "study"), "--output", str(tmp_path / "tables")]) == 0
    output = capsys.readouterr().out
    rows = [line.split() for line in output.splitlines() if line.startswith("weighting=")]
    assert [row[:2] for row in rows[:2]] == [["weighting=UniformWeighting", "2"], ["weighting=DynamicWeighting", "2"]]
    assert all(row.count("±") == 4 for row in rows[:2])
    assert [row[0] for row in rows[2:]] == ["weighting=DynamicWeighting"]
    assert "weighting=DynamicWeighting,2" in (tmp_path / "tables" / "comparison.csv").read_text(encoding="utf-8")


def test_small_backbones_are_layers_of_minilm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ROOT / "experiments" / "ablations" / "small_backbones.py"
    monkeypatch.setattr("sys.argv", [str(script), f"--output={tmp_path}"])
    runpy.run_path(str(script), run_name="__main__")
    full = Backbone(lora=None).build().state_dict()
    for number in (2, 4):
        cut = Backbone(str(tmp_path / f"minilm-{number}"), lora=None)
        assert cut.config().num_hidden_layers == number
        assert all(torch.equal(full[name], value) for name, value in cut.build().state_dict().items())
