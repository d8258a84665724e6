"""Attention node by node is attention under the dense mask."""

import pytest
import torch
from torch import Tensor

from radreward.data.packing import pack
from radreward.models.attention import model_inputs
from radreward.models.tiny import tiny_model
from radreward.models.tree_attention import NAME, tree_blocks

PATHS = [
    [[1, *range(10, 25)], [30, 31, 32, *range(40, 60)], [7, 8, 9]],
    [[1, *range(10, 25)], [30, 31, 32, *range(40, 60)], [*range(60, 90)]],
    [[1, *range(10, 25)], [50, 51], [7, 8, 9]],
    [[4, 5], [7]],
]


def _run(family: str, attention: str) -> tuple[Tensor, list[Tensor]]:
    model = tiny_model(family, attention).double().eval()
    packed = pack(PATHS, "batch")
    inputs = model_inputs(packed, model.config, torch.float64)
    if attention == NAME:
        inputs["tree_blocks"] = tree_blocks(packed)
    states = model(**inputs).last_hidden_state[packed.nodes >= 0]
    states.sin().sum().backward()
    return states.detach(), [p.grad for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("family", ["bert", "gemma", "llama", "mistral", "phi", "qwen2"])
def test_states_and_gradients_are_those_of_the_dense_mask(family: str) -> None:
    states, gradients = _run(family, NAME)
    expected, expected_gradients = _run(family, "sdpa")
    torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradients, expected_gradients, rtol=1e-4, atol=1e-6)


def test_blocks_must_be_given() -> None:
    model = tiny_model("llama", NAME)
    with pytest.raises(ValueError, match="tree_blocks"):
        model(**model_inputs(pack(PATHS, "tree"), model.config, torch.float32))
