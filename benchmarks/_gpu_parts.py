"""Parity with the CPU, decoding and scoring: three parts of the benchmark of GPUs, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaConfig

from benchmarks._gpu_models import RandomBackbone, Size, elapsed_seconds, evidence_model, reward_model
from benchmarks._training import random_tokens, special_tokenizer
from benchmarks.training_speed import Case, all_pairs, random_paths
from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack, pack_paths
from radreward.models import PooledRewardModel, SamplingParams, TransformersEngine
from radreward.types import PackedBatch, TokenPath

PARITY_CASE = Case(4, 24, 60, 20)
PARITY_DECODER = LlamaConfig(
    vocab_size=500, hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2,
)  # fmt: skip
"""Grouped heads of 128 numbers, as in Llama 3 8B."""
PAIRS_PER_BATCH = 512


def parity(device: torch.device) -> dict[str, float]:
    """Return the relative differences of rewards and gradients on a device from those on the CPU in float32.

    The tree is computed in float32 and, on a GPU, in bf16-mixed, as in training, there by one attention kernel.

    Raises:
        AssertionError: If a difference in float32 exceeds 1e-4, or one in bfloat16 exceeds 0.1.
    """
    paths = random_paths(PARITY_CASE, PARITY_DECODER.vocab_size)
    packed, pairs = pack(paths), torch.tensor(all_pairs(PARITY_CASE))
    model = reward_model(PARITY_DECODER, torch.device("cpu"), "float32")
    expected = _rewards_and_gradients(model, packed, pairs, bf16=False)
    model = model.to(device)
    differences = {}
    for precision, tolerance in {"fp32": 1e-4, "bf16": 0.1}.items():
        if precision == "bf16" and device.type != "cuda":
            continue
        actual = _rewards_and_gradients(model, packed.to(device), pairs, precision == "bf16")
        for name, own, other in zip(("rewards", "gradients"), actual, expected, strict=True):
            difference = float((own.cpu() - other).norm() / other.norm())
            assert difference <= tolerance, f"{name} in {precision} differ from those of the CPU by {difference:.1e}."
            differences[f"{name} {precision}"] = difference
    return differences


def _rewards_and_gradients(
    model: PooledRewardModel, packed: PackedBatch, pairs: Tensor, bf16: bool
) -> tuple[Tensor, Tensor]:
    """Return the rewards, and the gradients of the Bradley-Terry loss as one vector."""
    model.zero_grad()
    with torch.autocast(packed.input_ids.device.type, torch.bfloat16, enabled=bf16):
        rewards: Tensor = model(packed).rewards
    accepted, rejected = pairs.T.to(rewards.device)
    torch.autograd.backward(-nn.functional.logsigmoid(rewards[accepted] - rewards[rejected]).mean())
    parts = [p.grad.flatten() for n, p in model.named_parameters() if p.grad is not None and n != "head.out.bias"]
    return rewards.detach(), torch.cat(parts)


def decoding(size: Size, device: torch.device) -> dict[str, Any]:
    """Return the speed of sampling: prompts read once, and with one copy of the prompt per completion (`generate`)."""
    prompts, completions, length, new_tokens = size.decoding
    torch.manual_seed(0)
    backbone = RandomBackbone(size.decoder, device, "bfloat16" if device.type == "cuda" else "float32")
    model: Any = backbone.build(causal_lm=True).eval()
    source = torch.Generator().manual_seed(0)
    ids = [random_tokens(length, size.decoder.vocab_size, source) for _ in range(prompts)]
    tokenizer = special_tokenizer({"pad_token": "<pad>", "unk_token": "<unk>"})
    engine = TransformersEngine(model, tokenizer, batch_size=prompts * completions)
    copies = pad_sequence(
        [torch.tensor(prompt) for prompt in ids for _ in range(completions)], batch_first=True, padding_side="left"
    ).to(device)

    @torch.no_grad()
    def generate(tokens: int) -> None:
        options = {"attention_mask": (copies != 0).long(), "do_sample": True, "pad_token_id": 0, "eos_token_id": None}
        model.generate(copies, max_new_tokens=tokens, **options)

    def sample(tokens: int) -> None:
        engine.sample([[prompt] for prompt in ids], SamplingParams(completions, tokens))

    calls: dict[str, Callable[[int], None]] = {"radreward": sample, "generate": generate}
    for call in calls.values():
        call(2)
    seconds = {name: elapsed_seconds(partial(call, new_tokens), device) for name, call in calls.items()}
    speed = {name: prompts * completions * new_tokens / value for name, value in seconds.items()}
    return {"work": size.decoding._asdict(), "seconds": seconds, "tokens_per_second": speed}


def scoring(size: Size, device: torch.device) -> dict[str, Any]:
    """Return the speed of a reward model of evidence without tokenization, and its differences from the CPU.

    A reference has about 90 tokens and a candidate six statements of about 15, as reports of 60 words have.

    Raises:
        AssertionError: If rewards in float32 differ from those of the CPU by more than 1e-3, relative to the largest.
    """
    model = evidence_model(size.encoder, RadCliQCriteria())
    paths = _report_paths(size)
    first = paths[: min(8, len(paths))]
    expected = model(pack_paths(first)).rewards.detach()
    model.to(device)
    result: dict[str, Any] = {"pairs": size.pairs, "pairs_per_second": {}, "difference": {}}
    for precision in ("fp32", "bf16"):
        if precision == "bf16":
            if device.type != "cuda":
                break
            model.encoder.to(torch.bfloat16)
        difference = float((_scores(model, first, device).cpu() - expected).abs().max() / expected.abs().max())
        assert precision == "bf16" or difference <= 1e-3, f"Rewards differ from those of the CPU by {difference:.1e}."
        seconds = min(elapsed_seconds(partial(_scores, model, paths, device), device) for _ in range(3))
        result["pairs_per_second"][precision] = size.pairs / seconds
        result["difference"][precision] = difference
    return result


def _report_paths(size: Size) -> list[TokenPath]:
    source = torch.Generator().manual_seed(0)
    length = min(90, size.encoder.max_position_embeddings // 2)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(random_tokens(count, size.encoder.vocab_size, source))

    return [
        TokenPath((tokens(length),), tuple(tokens(max(1, length // 6)) for _ in range(6))) for _ in range(size.pairs)
    ]


@torch.inference_mode()
def _scores(model: nn.Module, paths: Sequence[TokenPath], device: torch.device) -> Tensor:
    """Return the rewards of all pairs."""
    starts = range(0, len(paths), PAIRS_PER_BATCH)
    batches = (pack_paths(paths[start : start + PAIRS_PER_BATCH]).to(device) for start in starts)
    return torch.cat([model(batch).rewards for batch in batches])
