"""Attention by one kernel equals the node loop. No GPU is used: the kernel is a loop with the kernel's semantics."""

import math
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack
from radreward.models import Backbone, PooledRewardModel, varlen_attention
from radreward.models.node_attention import NodeLayout, node_attention
from radreward.models.varlen_attention import supports_varlen
from tests.models.test_node_attention import ANY_PATHS


def stand_in_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> Tensor:
    """Compute `varlen_attn` sequence by sequence, with masks aligned lower right, and check its preconditions."""
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    query_ends, key_ends = cu_seq_q.tolist(), cu_seq_k.tolist()
    assert (query_ends[-1], key_ends[-1]) == (len(query), len(key))
    assert enable_gqa == (query.shape[1] != key.shape[1])
    parts, lengths = [], []
    for index in range(len(query_ends) - 1):
        own = query[query_ends[index] : query_ends[index + 1]]
        keys, values = (tensor[key_ends[index] : key_ends[index + 1]] for tensor in (key, value))
        keys, values = (tensor.repeat_interleave(query.shape[1] // key.shape[1], 1) for tensor in (keys, values))
        lengths.append((len(own), len(keys)))
        distance = len(keys) - len(own) + torch.arange(len(own))[:, None] - torch.arange(len(keys))
        before, after = (math.inf if size < 0 else size for size in window_size)
        hidden = (distance > before) | (-distance > after)
        scores = torch.einsum("qhd,khd->hqk", own, keys) * (query.shape[-1] ** -0.5 if scale is None else scale)
        parts.append(torch.einsum("hqk,khd->qhd", scores.masked_fill(hidden, -math.inf).softmax(-1), values))
    assert (max_q, max_k) == tuple(max(column) for column in zip(*lengths, strict=True))
    return torch.cat(parts)


def stand_in_kernel_of_torch_2_11(*arguments: Any, scale: float | None, window_size: tuple[int, int]) -> Tensor:
    """Compute `varlen_attn` of torch 2.11, which has no `enable_gqa`."""
    return stand_in_kernel(*arguments, scale=scale, window_size=window_size)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen_attention, "kernel", lambda: stand_in_kernel)


@settings(max_examples=40)
@given(
    kernel=st.sampled_from([stand_in_kernel, stand_in_kernel_of_torch_2_11]),
    paths=ANY_PATHS,
    packing=st.sampled_from(["tree", "rows"]),
    causal=st.booleans(),
    window=st.none() | st.integers(1, 9),
    shared=st.sampled_from([1, 2]),
    scaling=st.sampled_from([None, 0.3]),
)
def test_stand_in_kernel_equals_the_node_loop(
    kernel: Any,
    paths: list[list[list[int]]],
    packing: Any,
    causal: bool,
    window: int | None,
    shared: int,
    scaling: float | None,
) -> None:
    packed = pack(paths, packing)
    layout = NodeLayout.from_packed(packed, causal)
    torch.manual_seed(0)
    shapes = ((1, heads, len(packed.input_ids), 8) for heads in (4, 4 // shared, 4 // shared))
    query, key, value = inputs = tuple(torch.randn(shape, requires_grad=True) for shape in shapes)
    sequences = layout.sequences(torch.device("cpu"))
    with patch.object(varlen_attention, "kernel", return_value=kernel):
        own = varlen_attention.varlen_attention(query, key, value, sequences, causal, scaling, window)
    outputs = (own, node_attention(query, key, value, layout, scaling, window))
    torch.testing.assert_close(*outputs, rtol=1e-5, atol=1e-5)
    weights = torch.randn_like(outputs[0])
    gradients = (torch.autograd.grad((output * weights).sum(), inputs) for output in outputs)
    for own, other in zip(*gradients, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-5)


def test_sequences_of_separate_rows_gather_no_keys() -> None:
    packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "rows")
    layout = NodeLayout.from_packed(packed, causal=True)
    assert layout.sequences(torch.device("cpu")).key_tokens is None
    assert layout.sequences(torch.device("cpu")) is layout.sequences(torch.device("cpu"))


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("backbone", ["tiny-llama", "tiny-mistral", "tiny-bert"])
def test_model_with_the_stand_in_kernel_gives_the_rewards_of_the_node_loop(
    backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = PooledRewardModel(Backbone(backbone), RadCliQCriteria())
    packed = pack([[[5, 6, 7], [8, 9], [10, 11, 12]], [[5, 6, 7], [8, 9], [13]], [[5, 6, 7], [14, 15], [16, 17]]])
    expected = model(packed).rewards
    calls = []

    def always(query: Tensor, softcap: float | None) -> bool:
        calls.append(query.shape)
        return True

    monkeypatch.setattr("radreward.models.node_attention.supports_varlen", always)
    torch.testing.assert_close(model(packed).rewards, expected, rtol=1e-5, atol=1e-5)
    assert len(calls) == model.config.num_hidden_layers


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"dtype": torch.float16}, True),
        ({"dtype": torch.float32}, False),
        ({"device": "cpu"}, False),
        ({"size": 12}, False),
        ({"size": 264}, False),
        ({"softcap": 30.0}, False),
        ({"capability": (7, 5)}, False),
        ({"kernel": None}, False),
        ({"built": False}, False),
    ],
)
def test_kernel_is_used_on_cuda_in_half_precision(
    changes: dict[str, Any], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case: dict[str, Any] = {
        "dtype": torch.bfloat16,
        "device": "cuda",
        "size": 128,
        "softcap": None,
        "capability": (9, 0),
    } | changes
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: case["capability"])
    monkeypatch.setattr(varlen_attention, "kernel", lambda: case.get("kernel", stand_in_kernel))
    monkeypatch.setattr(torch.backends.cuda, "is_flash_attention_available", lambda: case.get("built", True))
    with FakeTensorMode():
        query = torch.empty(1, 4, 6, case["size"], dtype=case["dtype"], device=case["device"])
        assert supports_varlen(query, case["softcap"]) is expected


def test_real_kernel_accepts_the_arguments_without_computing() -> None:
    """The signature, types and shapes only, in both directions: tensors of the device meta have no values."""
    if varlen_attention.kernel() is None:
        pytest.skip("this torch has no varlen_attn with windows")
    meta = torch.device("meta")
    sequences = NodeLayout([2, 1, 3], [-1, 0, 0], causal=True).sequences(meta)
    query, key, value = (
        torch.empty(1, heads, 6, 128, dtype=torch.bfloat16, device=meta, requires_grad=True) for heads in (4, 2, 2)
    )
    attended = varlen_attention.varlen_attention(query, key, value, sequences, True, 0.1, 4)
    assert attended.shape == (1, 6, 4, 128)
    gradients = torch.autograd.grad(attended.sum(), (query, key, value))
    assert [gradient.shape for gradient in gradients] == [query.shape, key.shape, value.shape]


def test_varlen_attention_without_the_kernel_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen_attention, "kernel", lambda: None)
    sequences = NodeLayout([1], [-1], causal=True).sequences(torch.device("cpu"))
    with pytest.raises(RuntimeError, match=r"Expected torch 2\.11"):
        varlen_attention.varlen_attention(*(torch.zeros(1, 1, 1, 8),) * 3, sequences, True)
