"""Every file of experiments/ can be used: settings build and train with a small backbone, criteria load."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import AutoModel, LlamaConfig

from radreward.cli import build, main
from radreward.criteria import PRESETS, load_criteria
from radreward.data.tokenizer import byte_tokenizer
from radreward.modules import RewardModule
from radreward.synthesis import synthesize_files

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "experiments").rglob("*.yaml"))
CRITERIA = [path for path in FILES if path.parent.name == "criteria"]
STUDIES = [path for path in FILES if "study" in yaml.safe_load(path.read_text(encoding="utf-8"))]  # tests/tuning
AFFINITY = [path for path in FILES if path.name == "affinity.yaml"]  # tests/modules/test_affinity.py
RUNS = [path for path in FILES if path not in CRITERIA + STUDIES + AFFINITY]
PRESET_OF = {type(make()).__name__: name for name, make in PRESETS.items()}
GROUPS = 12


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT / "experiments")) for path in paths]


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as from a hub; rows of 64 weights are the block of 4-bit numbers."""
    folder = tmp_path_factory.mktemp("tiny-llama")
    torch.manual_seed(0)
    AutoModel.from_config(
        LlamaConfig(
            vocab_size=260,
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=8192,
        )
    ).save_pretrained(folder)
    byte_tokenizer(encoder=False).save_pretrained(folder)
    return folder


def small(settings: dict[str, Any], folder: Path, tiny_llama: Path) -> list[str]:
    """What makes a run of a file small: its backbone, its data, its length."""
    records = folder / "data" / "groups.parquet"
    preset = PRESET_OF[settings["criteria"]]
    if not records.is_file():
        synthesize_files(folder / "data", load_criteria(preset), GROUPS, per_reference=2)
    decoder = "llama" in settings["model"]["backbone"]["name"]
    return [
        f"--run={folder / 'run'}",
        f"--data.records={records}",
        "--data.validation=0.4",
        "--data.groups_per_batch=3",
        f"--data.collator.max_length={8192 if decoder else 4096}",  # the tokens of the tiny backbones are bytes
        f"--model.backbone.name={tiny_llama if decoder else 'tiny-bert'}",
        "--trainer.max_steps=1",
        "--trainer.accelerator=cpu",
        "--trainer.enable_progress_bar=false",
    ]


def test_files_of_both_kinds_are_found() -> None:
    assert CRITERIA
    assert len(RUNS) >= 4


@pytest.mark.parametrize("path", CRITERIA, ids=names(CRITERIA))
def test_criteria_load(path: Path) -> None:
    criteria = load_criteria(str(path))
    assert len(criteria.tags) == len(set(criteria.tags)) > 1


# bitsandbytes reads a field of torch by a name that torch is dropping.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:MatMul8bitLt:UserWarning")
@pytest.mark.parametrize("path", RUNS, ids=names(RUNS))
def test_settings_build_and_take_a_step(
    path: Path, tmp_path: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    training = build(path, *small(settings, tmp_path, tiny_llama))
    module = training.module
    assert isinstance(module, RewardModule)
    assert type(module.criteria).__name__ == settings["criteria"]
    before = {name: value.clone() for name, value in module.model.trained_state().items()}
    result = training.fit()
    assert training.trainer.global_step == 1
    assert set(result) == {*module.criteria.tags, "total"}
    checkpoint = torch.load(training.run.last, weights_only=True)
    assert any(
        not torch.equal(before[name.removeprefix("model.")], value) for name, value in checkpoint["state_dict"].items()
    )
    assert (training.run.model / "model.safetensors").is_file()


def test_a_loss_outside_the_package_is_trained_from_the_command_line(
    tmp_path: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    path = Path("experiments/ablations/custom_loss.yaml")
    given = small(yaml.safe_load(path.read_text(encoding="utf-8")), tmp_path, tiny_llama)
    assert main(["fit", "--config", str(path), *given, "--trainer.max_steps=2"]) == 0
    assert str(tmp_path / "run" / "model") in capsys.readouterr().out
    module = RewardModule.load_from_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt", map_location="cpu")
    assert type(module.objective).__module__ == "experiments.ablations.custom_loss"
    assert type(module.objective).__name__ == "SmoothMargin"
