"""Saving and loading of reward models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models import (
    Backbone,
    Calibration,
    EvidenceRewardModel,
    LoRA,
    PooledRewardModel,
    RewardModelArtifact,
    load_reward_model,
    save_reward_model,
)
from radreward.models.heads import FeatureHead
from radreward.models.reward_artifact import load_initial_weights
from radreward.models.tiny_backbones import tiny_model
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.systems.er2score.scorer import for_inference
from tests.model_folders import renew_digests

PACKED = pack([[[1, 2], [3]], [[1, 2], [4, 5]]], "tree")


def _saved(backbone: Backbone, **options: Any) -> RewardModelArtifact:
    torch.manual_seed(3)
    model = PooledRewardModel(backbone, RadCliQCriteria(), **options)
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.1)
    return RewardModelArtifact(
        model, InstructionTemplate(), 64, Calibration([[(-1.0, 2.0), (0.0, 0.0)]] * 6), {"seed": 3}
    )


@pytest.mark.parametrize("lora", [LoRA(4), None])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_load_reward_model_restores_equal_rewards(tmp_path: Path, family: str, lora: LoRA | None) -> None:
    tiny_model(family).save_pretrained(tmp_path / "base")
    saved = _saved(Backbone(str(tmp_path / "base"), lora=lora))
    save_reward_model(saved, tmp_path / "model")
    save_reward_model(saved, tmp_path / "model")  # replaces the existing folder
    loaded = load_reward_model(tmp_path / "model")
    torch.testing.assert_close(loaded.model(PACKED).rewards, saved.model(PACKED).rewards, rtol=0, atol=0)
    assert loaded.calibration is not None
    assert saved.calibration is not None
    assert loaded.calibration.to_dict() == saved.calibration.to_dict()
    assert (loaded.max_length, loaded.training_info, type(loaded.template)) == (64, {"seed": 3}, InstructionTemplate)
    assert loaded.model.criteria == RadCliQCriteria()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "model"]


def test_load_reward_model_restores_equal_quality(tmp_path: Path) -> None:
    curves = Calibration([[(-50.0, 2.0), (50.0, 0.0)], [(-50.0, 1.0), (50.0, 0.0)]])
    saved = replace(_saved(Backbone("tiny-bert"), predicts_findings=True), finding_weights_calibration=curves)
    save_reward_model(saved, tmp_path / "model")
    loaded = load_reward_model(tmp_path / "model")
    with torch.no_grad():
        quality = saved.quality(saved.model(PACKED).finding_weights)
        assert quality is not None
        assert quality.std() > 0
        torch.testing.assert_close(loaded.quality(loaded.model(PACKED).finding_weights), quality, rtol=0, atol=0)


def test_load_initial_weights_keeps_a_new_head_for_findings(tmp_path: Path) -> None:
    saved = _saved(Backbone("tiny-bert"))
    save_reward_model(saved, tmp_path / "model")
    torch.manual_seed(4)
    model = PooledRewardModel(Backbone("tiny-bert"), RadCliQCriteria(), predicts_findings=True)
    assert isinstance(model.finding_head, FeatureHead)
    before = model.finding_head.out.weight.clone()
    load_initial_weights(model, tmp_path / "model")
    assert torch.equal(model.finding_head.out.weight, before)
    torch.testing.assert_close(model(PACKED).rewards, saved.model(PACKED).rewards, rtol=0, atol=0)


@pytest.mark.parametrize("saved_predicts", [True, False])
def test_load_initial_weights_of_evidence_with_and_without_findings_keeps_the_rewards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, saved_predicts: bool
) -> None:
    criteria = RadCliQCriteria()
    saved = EvidenceRewardModel(Backbone("tiny-bert"), criteria, saved_predicts)
    save_reward_model(RewardModelArtifact(saved, PlainPairTemplate(), 100), tmp_path / "model")
    model = EvidenceRewardModel(Backbone("tiny-bert"), criteria, not saved_predicts)
    load_initial_weights(model, tmp_path / "model")
    assert caplog.text == ""
    torch.testing.assert_close(model(PACKED).rewards, saved(PACKED).rewards, rtol=1e-5, atol=1e-6)


def test_load_reward_model_without_field_of_findings_raises(tmp_path: Path) -> None:
    save_reward_model(_saved(Backbone("tiny-bert")), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["predicts_findings"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"config\.json: Expected .*predicts_findings"):
        load_reward_model(tmp_path)


def test_save_reward_model_writes_trained_weights_only(tmp_path: Path) -> None:
    saved = _saved(Backbone("embedded"))
    save_reward_model(saved, tmp_path / "model", as_float16=True)
    weights = tmp_path / "model" / "model.safetensors"
    assert all("lora_" in name or name.startswith(("pooling.", "head.")) for name in load_file(weights))
    assert weights.stat().st_size < 2_000_000
    with torch.no_grad():
        expected, actual = saved.model(PACKED).rewards, load_reward_model(tmp_path / "model").model(PACKED).rewards
    torch.testing.assert_close(actual, expected, rtol=1e-2, atol=1e-2 * float(expected.abs().max()))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", 1),
        ("template", "os.system"),
        ("template", "../PlainPairTemplate"),
        ("max_length", True),
        ("max_length", 4097),
        ("architecture", "transformer"),
        ("architecture", "evidence"),  # the saved pooling is another model's
        ("pooling", "../last"),
        ("head_hidden_size", -1),
        ("lora", {"r": 0}),
        ("lora", 7),
        ("backbone", {"name": "tiny-nothing"}),
        ("backbone", {"name": "nobody/nothing"}),
        ("backbone", {"name": "/nowhere"}),
        ("backbone", {"code": "x"}),
        ("criteria", {"name": "two"}),
        ("unknown", 1),
    ],
)
def test_load_reward_model_wrong_field_raises(tmp_path: Path, field: str, value: Any) -> None:
    save_reward_model(_saved(Backbone("tiny-llama")), tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InputError, match="config.json"):
        load_reward_model(tmp_path / "model")


def test_load_reward_model_damaged_file_raises(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with pytest.raises(InputError, match="No such file"):
        load_reward_model(folder)
    save_reward_model(_saved(Backbone("tiny-llama")), folder)
    # copied: tensors may be views of the file, which is written again
    state = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    for damage in (
        {},
        {**state, "head.out.bias": torch.zeros(7)},
        {**state, "head.out.bias": torch.full((6,), torch.nan)},
    ):
        save_file(damage, folder / "model.safetensors")
        renew_digests(folder / "config.json")
        with pytest.raises(InputError, match=r"model\.safetensors"):
            load_reward_model(folder)
    (folder / "model.safetensors").write_bytes(b"broken")
    renew_digests(folder / "config.json")
    with pytest.raises(InputError, match=r"model\.safetensors"):
        load_reward_model(folder)
    save_file(state, folder / "model.safetensors")
    (folder / "calibration.json").write_text('{"curves": [[[0, 1]]]}')
    renew_digests(folder / "config.json")
    with pytest.raises(InputError, match=r"calibration\.json: Expected 6 curves"):
        load_reward_model(folder)
    curves = [[[0, 1]]] * 6
    for share in ("0.5", 2.0, True, None):
        (folder / "calibration.json").write_text(json.dumps({"curves": curves, "rules": share}))
        renew_digests(folder / "config.json")
        with pytest.raises(InputError, match=r"calibration\.json: Expected `rules` to be a number from 0\.0 to 1\.0"):
            load_reward_model(folder)
    (folder / "calibration.json").write_text("[")
    renew_digests(folder / "config.json")
    with pytest.raises(InputError, match=rf"^{folder / 'calibration.json'}: Expected JSON"):
        load_reward_model(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: Expected JSON"):
        load_reward_model(folder)


def test_save_reward_model_keeps_other_folders(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="new, empty"):
        save_reward_model(_saved(Backbone("tiny-llama")), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_save_reward_model_float16_overflow_raises_and_writes_nothing(tmp_path: Path) -> None:
    saved = _saved(Backbone("tiny-llama"))
    assert isinstance(saved.model, PooledRewardModel)
    torch.nn.init.constant_(saved.model.head.out.bias, 1e6)
    with pytest.raises(InputError, match=r"head\.out\.bias"):
        save_reward_model(saved, tmp_path / "model", as_float16=True)
    assert not list(tmp_path.iterdir())


def test_load_initial_weights_requires_equal_architecture(tmp_path: Path) -> None:
    save_reward_model(_saved(Backbone("tiny-bert", lora=LoRA(4))), tmp_path / "model")
    torch.manual_seed(9)
    fresh = PooledRewardModel(Backbone("tiny-bert", lora=LoRA(4)), RadCliQCriteria())
    load_initial_weights(fresh, tmp_path / "model")
    torch.testing.assert_close(
        fresh.eval()(PACKED).rewards, load_reward_model(tmp_path / "model").model(PACKED).rewards, rtol=0, atol=0
    )
    assert any(parameter.requires_grad for parameter in fresh.parameters())
    for model, field in (
        (PooledRewardModel(Backbone("tiny-bert", lora=LoRA(8)), RadCliQCriteria()), "lora"),
        (PooledRewardModel(Backbone("tiny-bert", lora=LoRA(4)), RadCliQSignificanceCriteria()), "criteria"),
    ):
        with pytest.raises(InputError, match=f"Expected a model whose {field} is"):
            load_initial_weights(model, tmp_path / "model")


def test_load_initial_weights_for_another_architecture_loads_the_adapters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saved = _saved(Backbone("tiny-bert", lora=LoRA(4))).model
    save_reward_model(_saved(Backbone("tiny-bert", lora=LoRA(4))), tmp_path / "model")
    model = EvidenceRewardModel(Backbone("tiny-bert", lora=LoRA(4)), RadCliQCriteria())
    before = {name: value.clone() for name, value in model.evidence.state_dict().items()}
    load_initial_weights(model, tmp_path / "model")
    assert (
        "Only the weights of the backbone are loaded; the layers on top keep their initial ones, because" in caplog.text
    )
    assert "architecture is 'evidence', saved 'pooled'" in caplog.text
    assert all(torch.equal(value, before[name]) for name, value in model.evidence.state_dict().items())
    adapters = {name: value for name, value in saved.trained_state().items() if name.startswith("encoder.")}
    assert adapters
    assert all(torch.equal(model.trained_state()[name], value) for name, value in adapters.items())


@pytest.mark.parametrize("family", ["bert", "llama", "phi"])
def test_load_reward_model_merged_adapters_equal_those_of_peft(tmp_path: Path, family: str) -> None:
    torch.manual_seed(0)
    model = PooledRewardModel(Backbone(f"tiny-{family}", LoRA(4, 6)), RadCliQCriteria(), head_hidden_size=3)
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.3)
    save_reward_model(RewardModelArtifact(model, PlainPairTemplate(), 64), tmp_path / "a")
    merged = load_reward_model(tmp_path / "a", merge_adapters=True)
    assert not any("lora" in name for name in merged.model.state_dict())
    expected = for_inference(model, "fp32").state_dict()
    assert merged.model.state_dict().keys() == expected.keys()
    for name, value in merged.model.state_dict().items():
        torch.testing.assert_close(value, expected[name])
    save_reward_model(merged, tmp_path / "b")  # with the original adapters
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()
    }


def test_load_reward_model_keeps_adapters_that_only_peft_can_merge(tmp_path: Path) -> None:
    model = PooledRewardModel(Backbone("tiny-llama", LoRA(targets="all-linear")), RadCliQCriteria())
    save_reward_model(RewardModelArtifact(model, PlainPairTemplate(), 64), tmp_path / "a")
    saved = load_reward_model(tmp_path / "a", merge_adapters=True)
    assert saved.trained_state is None
    assert any("lora" in name for name in saved.model.state_dict())


@pytest.mark.parametrize("change", ["missing", "unknown", "shape"])
def test_load_reward_model_adapters_of_another_model_raise(tmp_path: Path, change: str) -> None:
    save_reward_model(
        RewardModelArtifact(PooledRewardModel(Backbone("tiny-bert"), RadCliQCriteria()), PlainPairTemplate(), 64),
        tmp_path / "a",
    )
    path = tmp_path / "a" / "model.safetensors"
    state = load_file(path)
    name = next(name for name in sorted(state) if "lora_A" in name)
    if change == "shape":
        state[name] = state[name][:, 1:].contiguous()
    else:
        value = state.pop(name)
        if change == "unknown":
            state[name.replace("layer.0", "layer.7")] = value
    save_file(state, path)
    renew_digests(path.with_name("config.json"))
    with pytest.raises(InputError, match=r"model\.safetensors: Expected adapters of"):
        load_reward_model(tmp_path / "a", merge_adapters=True)
