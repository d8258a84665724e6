"""Packed and separate sequences give equal rewards, loss and gradients for every family of backbones."""

from typing import Any

import pytest
import torch
from torch import Tensor

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack, to_rows
from radreward.errors import InputError
from radreward.models import Backbone, EvidenceRewardModel, PooledRewardModel, RewardModel, transformers_attention
from radreward.models import reward_model as module
from radreward.models.node_attention import NodeLayout
from radreward.models.pooling import POOLINGS
from radreward.models.reward_model import check_packing
from radreward.models.tiny_backbones import FAMILIES
from radreward.types import PackedBatch

PATHS = [
    [[1, *range(10, 25)], [30, 31, 32, *range(40, 60)], [7, 8, 9]],
    [[1, *range(10, 25)], [30, 31, 32, *range(40, 60)], [*range(60, 90)]],
    [[1, *range(10, 25)], [50, 51], [7, 8, 9]],
    [[1, *range(10, 25)], [50, 51], [7]],
]


def _model(family: str, pooling: str = "auto") -> PooledRewardModel:
    torch.manual_seed(1)
    backbone = Backbone(f"tiny-{family}", lora=None)
    model = PooledRewardModel(backbone, RadCliQCriteria(), pooling)  # type: ignore[arg-type]
    model.encoder.double()
    torch.nn.init.normal_(model.head.out.weight)
    return model


def _gradients(model: RewardModel, packed: PackedBatch) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    rewards = model(packed).rewards
    rewards.square().sum().backward()
    return rewards.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_rewards_and_gradients_equal_those_of_rows(family: str) -> None:
    model = _model(family)
    packed_rewards, gradients = _gradients(model, pack(PATHS, "tree"))
    row_rewards, expected = _gradients(model, pack(PATHS, "rows"))
    torch.testing.assert_close(packed_rewards, row_rewards, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(gradients[name], value, rtol=1e-4, atol=1e-5 * float(value.abs().max()) + 1e-9)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_packed_pooling_equals_that_of_rows(family: str, pooling: str) -> None:
    model = _model(family, pooling)
    tree, rows = (model(pack(PATHS, packing)).rewards for packing in ("tree", "rows"))
    torch.testing.assert_close(tree, rows, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_packed_evidence_equals_that_of_rows(family: str) -> None:
    torch.manual_seed(1)
    model = EvidenceRewardModel(Backbone(f"tiny-{family}", lora=None), RadCliQCriteria(), predicts_findings=True)
    model.encoder.double()
    tree, rows = (model(pack(PATHS, packing)) for packing in ("tree", "rows"))
    torch.testing.assert_close(tree.rewards, rows.rewards, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(tree.finding_weights, rows.finding_weights, rtol=1e-5, atol=1e-5)


def test_single_row_equals_a_plain_sequence() -> None:
    model = _model("llama", "last")
    path = PATHS[0]
    tokens = torch.tensor([[token for piece in path for token in piece]])
    state = model.encoder(input_ids=tokens).last_hidden_state[:, -1]
    torch.testing.assert_close(model(pack([path], "tree")).rewards, model.head(state))


def test_unmasked_packing_changes_later_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _model("llama")
    packed = pack(PATHS, "tree")
    row_rewards = model(to_rows(packed)).rewards

    def unmasked(encoder: Any, packed: PackedBatch) -> dict[str, Any]:
        keys = ("input_ids", "position_ids", "use_cache")
        inputs = {
            key: value for key, value in transformers_attention.packed_inputs(encoder, packed).items() if key in keys
        }
        return inputs | {"node_layout": NodeLayout([len(packed.input_ids)], [-1], causal=True)}

    monkeypatch.setattr(module, "packed_inputs", unmasked)
    assert (model(packed).rewards - row_rewards).abs().max() > 1e-3
    with pytest.raises(InputError, match="packing: rows"):
        check_packing(model, packed, 1e-4)


def test_check_packing_accepts_a_correct_model() -> None:
    check_packing(_model("bert"), pack(PATHS, "tree"), 1e-5)
