"""RadReason's second-stage experiments: the run takes a small step, and every study variant builds."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from radreward.cli import build
from radreward.criteria import RadCliQCriteria
from radreward.modules import GRPOModule
from radreward.objectives import GRPO, DynamicWeighting, GaussianAccuracy, MajorityGuidedScaling
from radreward.synthesis import synthesize_files
from radreward.tuning import load_study_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "radreason"
LOADED = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))}
RUNS = [name for name, values in LOADED.items() if "GRPOModule" in str(values.get("model"))]
STUDIES = {
    "ablation": 5,
    "advantages": 5,
    "grpo_components": 5,
    "hyperparameters": 1,
    "longer": 2,
    "more_answers": 2,
    "settings": 10,
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    synthesize_files(folder, RadCliQCriteria(), 8, per_reference=2)
    return folder / "groups.parquet"


def small(folder: Path, records: Path, tiny_llama: Path) -> list[str]:
    """Return overrides for a small run."""
    return [
        f"run_dir={folder / 'run'}",
        "init_from=null",
        f"data.records={records}",
        "data.val_split=0.4",
        "data.batch_size=1",
        "data.collator.max_length=2000",
        "data.collator.max_answer_length=4",
        f"model.backbone.name={tiny_llama}",
        "model.backbone.dtype=float32",
        "model.rollouts.num_generations=2",
        "trainer.max_steps=1",
        "trainer.accelerator=cpu",
        "trainer.precision=32-true",
        "trainer.enable_progress_bar=false",
        "trainer.logger=false",
    ]


def test_all_experiment_files_are_covered() -> None:
    assert set(RUNS) == {"grpo-both", "qwen2.5-7b"}
    assert set(STUDIES) == {name for name, values in LOADED.items() if "study" in values}


@pytest.mark.parametrize("name", RUNS)
def test_run_config_builds_and_takes_a_step(
    name: str, tmp_path: Path, records: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    training = build(FOLDER / f"{name}.yaml", *small(tmp_path, records, tiny_llama))
    module = training.module
    assert isinstance(module, GRPOModule)
    objective = module.objective
    assert isinstance(objective, GRPO)
    assert isinstance(objective.accuracy_reward, GaussianAccuracy)
    assert isinstance(objective.weighting, DynamicWeighting)
    assert isinstance(objective.scaling, MajorityGuidedScaling)
    result = training.fit()
    assert training.trainer.global_step == 1
    assert set(result) == {*RadCliQCriteria().tags, "total"}
    assert torch.load(training.run_folder.last, weights_only=True)["global_step"] == 1


@pytest.mark.parametrize("name", sorted(STUDIES.keys() - {"ablation"}))  # test_ablation.py trains all of its variants
def test_every_study_variant_builds(
    name: str, tmp_path: Path, records: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = load_study_config(FOLDER / f"{name}.yaml")
    assert settings.metric == GRPOModule.monitor
    samples = [labels for labels in settings.space.conditional_branches() if labels.get("seed_everything", 0) == 0]
    overrides = [entry for entry in small(tmp_path, records, tiny_llama) if "num_generations" not in entry]
    files = [entry for entry in overrides if entry.startswith(("init_from", "data.records", "data.val_split"))]
    built: list[Any] = [
        build(settings.base, *overrides, *settings.overrides_for(labels), *files).settings["model"]
        for labels in samples
    ]
    assert all(built.index(entry) == index for index, entry in enumerate(built))
    assert len(built) >= STUDIES[name]
