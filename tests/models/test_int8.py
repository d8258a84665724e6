"""8-bit linear layers against float64 arithmetic."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from radreward.criteria import RadCliQCriteria
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.models.int8 import Int8Linear, quantize_linear_layers
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.scorer import RewardModelScorer


def _grid(rows: np.ndarray, levels: int) -> np.ndarray:
    """Round each row to the nearest of 2 levels + 1 evenly spaced values up to its largest magnitude."""
    step = np.abs(rows).max(1, keepdims=True) / levels
    grid: np.ndarray = np.rint(np.divide(rows, step, out=np.zeros_like(rows), where=step > 0)) * step
    return grid


def _oracle(x: Tensor, linear: nn.Linear) -> np.ndarray:
    """Return dequantized inputs times dequantized weights plus the bias, in float64."""
    y: np.ndarray = _grid(x.double().numpy(), 127) @ _grid(linear.weight.detach().double().numpy(), 64).T
    if linear.bias is not None:
        y += linear.bias.detach().double().numpy()
    return y


def _linear(inputs: int, outputs: int, bias: bool, seed: int) -> tuple[nn.Linear, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    linear = nn.Linear(inputs, outputs, bias)
    with torch.no_grad():
        linear.weight.copy_(torch.randn(outputs, inputs, generator=generator))
    return linear, torch.randn(5, inputs, generator=generator)


@given(
    inputs=st.integers(2, 70), outputs=st.integers(1, 40), bias=st.booleans(), seed=st.integers(0, 99),
    scale=st.sampled_from([1e-6, 1.0, 1e4]),
)  # fmt: skip
def test_forward_equals_dequantized_product(inputs: int, outputs: int, bias: bool, seed: int, scale: float) -> None:
    linear, x = _linear(inputs, outputs, bias, seed)
    x *= scale
    expected = _oracle(x, linear)
    y = Int8Linear(linear)(x).double().numpy()
    # Ties within float32 precision may be rounded either way, by one step of an entry.
    step = float(x.abs().max()) * float(linear.weight.detach().abs().max()) / 64
    assert np.abs(y - expected).max() <= 1e-5 * np.abs(expected).max() + 1.01 * step


def test_forward_at_backbone_width_equals_dequantized_product() -> None:
    linear, x = _linear(384, 1536, True, 0)
    expected = _oracle(x, linear)
    difference = np.abs(Int8Linear(linear)(x).numpy() - expected) / np.abs(expected).max()
    assert np.quantile(difference, 0.995) < 1e-6  # except for ties


@given(st.integers(2, 300), st.integers(0, 99))
def test_forward_error_is_within_its_bound(inputs: int, seed: int) -> None:
    linear, x = _linear(inputs, 7, True, seed)
    weight = linear.weight.detach().double()
    x64 = x.double()
    token, output = x64.abs().amax(1) / 127, weight.abs().amax(1) / 64  # the two scales
    bound = (
        x64.abs().sum(1, keepdim=True) * output / 2
        + token.unsqueeze(1) * weight.abs().sum(1) / 2
        + token.unsqueeze(1) * output * inputs / 4
    )
    error = (Int8Linear(linear)(x).double() - linear(x).detach().double()).abs()
    assert bool((error <= 1.001 * bound + 1e-5).all())


def test_forward_token_does_not_depend_on_the_batch() -> None:
    linear, x = _linear(32, 16, True, 0)
    layer = Int8Linear(linear)
    assert torch.equal(layer(torch.cat([x[:1], 1000 * x[1:]]))[:1], layer(x[:1]))
    assert torch.equal(layer(x.reshape(1, 5, 32)), layer(x).unsqueeze(0))


def test_forward_single_token_with_unusual_strides() -> None:
    linear, x = _linear(32, 16, True, 0)
    odd = x[:1].as_strided((1, 1, 32), (0, 0, 1))
    assert torch.equal(Int8Linear(linear)(odd)[0], Int8Linear(linear)(x)[:1])


def test_constructor_single_input_raises() -> None:
    with pytest.raises(ValueError, match="at least 2 inputs"):
        Int8Linear(nn.Linear(1, 3))


EXTREMES = """
import torch
from radreward.models.int8 import Int8Linear
layer = torch.nn.Linear(384, 40, bias=False)
with torch.no_grad():
    layer.weight.copy_(torch.randn(40, 384, generator=torch.Generator().manual_seed(0)).sign())
x = torch.cat([layer.weight.detach(), torch.ones(1, 384), -torch.ones(1, 384)])
torch.testing.assert_close(Int8Linear(layer)(x), x @ layer.weight.detach().t())
"""


@pytest.mark.parametrize("instructions", ["SSE41", "AVX2", "DEFAULT"])
def test_forward_does_not_saturate_on_older_cpus(instructions: str) -> None:
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": instructions}  # disables newer instructions
    subprocess.run([sys.executable, "-c", EXTREMES], env=environment, check=True)


def test_forward_of_zeros_is_the_bias() -> None:
    linear, x = _linear(8, 4, True, 0)
    assert torch.equal(Int8Linear(linear)(torch.zeros(2, 8)), linear.bias.detach().expand(2, 4))
    with torch.no_grad():
        linear.weight.zero_()
    assert torch.equal(Int8Linear(linear)(x), linear.bias.detach().expand(5, 4))


def test_quantize_linear_layers_keeps_other_modules() -> None:
    class Special(nn.Linear):
        """A subclass may use its weight differently."""

    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2), nn.GELU()), Special(2, 2))
    quantize_linear_layers(module)
    inner = module[1]
    assert isinstance(inner, nn.Sequential)
    assert [type(module[0]), type(inner[0]), type(inner[1]), type(module[2])] == [
        Int8Linear, Int8Linear, nn.GELU, Special
    ]  # fmt: skip


@pytest.mark.parametrize("backbone", ["tiny-bert", "tiny-llama"])
def test_int8_scorer_quantizes_the_encoder_only(backbone: str) -> None:
    torch.manual_seed(0)
    saved = RewardModelArtifact(RewardModel(Backbone(backbone), RadCliQCriteria()), PlainPairTemplate(), 200)
    full, eight = RewardModelScorer(saved, "fp32"), RewardModelScorer(saved, "int8")
    kinds = {name: type(module) for name, module in eight._model.named_modules() if hasattr(module, "weight")}
    assert not any(kind is nn.Linear for name, kind in kinds.items() if name.startswith("encoder."))
    assert not any(kind is Int8Linear for name, kind in kinds.items() if not name.startswith("encoder."))
    texts = ["clear lungs", "small left effusion", "the heart is large", "no change", "new catheter"]
    expected, int8 = (scorer.score(["clear lungs"] * 5, texts).total for scorer in (full, eight))
    assert 0 < float((int8 - expected).abs().max()) < 0.1 * float(expected.std())
