"""A training step with LoRA and scoring: packed, in rows, and in TRL's way.

Random weights in bfloat16, LoRA of rank 16 on queries and values, bf16-mixed. The peer is a replica of the step of
TRL's RewardTrainer: all pairs of a group, both sides of each as rows padded on the right, the reward of the last token,
the same adapters and head. Before timing, losses and gradients must agree. Times are those of CUDA events over forward
and backward, variants in turn, after a warm-up, without the optimizer step, which is equal for all. Useful tokens are
those of rows without padding, each candidate once. The FLOPs of a model are 4 · N · computed tokens (frozen weights
have no gradients: 2 N forward, 2 N backward), with N weights in the layers and without attention; MFU is their rate
over the peak of the device. A job without the peer measures the tree only, in a batch for which the peer has too
little memory. Where one kernel computes attention, the tree is also measured with the loop over nodes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig

from benchmarks._figures import Figure
from benchmarks._gpu_models import Job, elapsed_seconds, reward_model
from benchmarks.training_speed import Paths, all_pairs, random_paths
from radreward.data.packing import Packing, pack
from radreward.models import PooledRewardModel, node_attention
from radreward.models.varlen_attention import supports_varlen

PEER, ROWS, TREE, LOOP = "TRL's step", "rows", "tree", "tree, node loop"
WARM_UP = 2
PUBLISHED_TFLOPS = 402
"""Published rate of LoRA on Llama 3 8B on one H100, 12,473 tokens/s."""


class Variant(NamedTuple):
    """One implementation; `sides` returns the rewards of accepted and rejected candidates, `score` those of all."""

    sides: Callable[[], tuple[Tensor, Tensor]]
    score: Callable[[], Tensor]
    tokens: int
    """Computed tokens without padding."""
    positions: int
    """Computed tokens with padding."""
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    """Around forward and backward."""


def node_loop() -> AbstractContextManager[object]:
    """Compute attention node by node instead of by one kernel."""
    # A function, because a mock would keep the tensors of its calls, and so their graphs.
    return patch.object(node_attention, "supports_varlen", lambda query, softcap: False)


def own_variant(model: PooledRewardModel, paths: Paths, pairs: Sequence[tuple[int, int]], packing: Packing) -> Variant:
    """Return packing and model of radreward: every candidate once."""
    device = model.head.scale.device
    accepted, rejected = torch.tensor(pairs, device=device).T

    def score() -> Tensor:
        rewards: Tensor = model(pack(paths, packing).to(device)).rewards
        return rewards

    def sides() -> tuple[Tensor, Tensor]:
        rewards = score()
        return rewards[accepted], rewards[rejected]

    tokens = len(pack(paths, packing).input_ids)
    return Variant(sides, score, tokens, tokens)


def peer_variant(model: PooledRewardModel, paths: Paths, pairs: Sequence[tuple[int, int]]) -> Variant:
    """Return both sides of every pair as padded rows; for scoring, every candidate as one row."""
    device = model.head.scale.device
    sequences = [torch.tensor(sum(path, [])) for path in paths]

    def rewards(rows: Sequence[Tensor]) -> Tensor:
        ids = nn.utils.rnn.pad_sequence(list(rows), batch_first=True).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        states = model.encoder(input_ids=ids, attention_mask=mask.long(), use_cache=False).last_hidden_state
        last = states[torch.arange(len(rows), device=device), lengths - 1]
        with torch.autocast(device.type, enabled=False):
            result: Tensor = model.head(last.to(model.head.scale.dtype))
        return result

    def sides() -> tuple[Tensor, Tensor]:
        both = rewards([sequences[i] for i, _ in pairs] + [sequences[j] for _, j in pairs])
        return both[: len(pairs)], both[len(pairs) :]

    lengths = [len(sequences[index]) for pair in pairs for index in pair]
    return Variant(sides, lambda: rewards(sequences), sum(lengths), max(lengths) * len(lengths))


def pair_loss(variant: Variant, device: torch.device) -> Tensor:
    """Return the Bradley-Terry loss over all pairs, as TRL does."""
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        accepted, rejected = variant.sides()
    return -F.logsigmoid(accepted - rejected).mean()


def gradients(model: PooledRewardModel, variant: Variant, device: torch.device) -> tuple[float, Tensor]:
    """Return the loss, and all gradients as one vector; the head's bias has none."""
    model.zero_grad()
    with variant.context():
        loss = pair_loss(variant, device)
        torch.autograd.backward(loss)
    parts = [p.grad.flatten() for n, p in model.named_parameters() if p.grad is not None and n != "head.out.bias"]
    return loss.item(), torch.cat(parts)


def build_variants(job: Job, model: PooledRewardModel, vocabulary: int) -> dict[str, Variant]:
    """Return the variants of a job by name; the first is the one that the others are compared with."""
    paths, pairs = random_paths(job.case, vocabulary), all_pairs(job.case)
    tree = {TREE: own_variant(model, paths, pairs, "tree")}
    head_size = model.config.hidden_size // model.config.num_attention_heads
    if supports_varlen(torch.empty(1, 1, 1, head_size, dtype=torch.bfloat16, device=model.head.scale.device), None):
        tree[LOOP] = tree[TREE]._replace(context=node_loop)
    if not job.case.peer:
        return tree
    return {PEER: peer_variant(model, paths, pairs), ROWS: own_variant(model, paths, pairs, "rows")} | tree


def check(model: PooledRewardModel, variants: dict[str, Variant], device: torch.device) -> dict[str, float]:
    """Return the relative differences of gradients from those of the first variant, after checking their tolerance."""
    tolerance = 0.1 if device.type == "cuda" else 1e-4
    expected_loss, expected = gradients(model, next(iter(variants.values())), device)
    differences = {}
    for name in list(variants)[1:]:
        loss, actual = gradients(model, variants[name], device)
        differences[name] = float((actual - expected).norm() / expected.norm())
        difference = max(abs(loss - expected_loss) / abs(expected_loss), differences[name])
        assert difference < tolerance, f"{name}: differs by {difference:.1e}."
    model.zero_grad(set_to_none=True)
    return differences


def measure(job: Job, config: PreTrainedConfig, device: torch.device, peak: float | None) -> dict[str, Any]:
    """Time all variants of a job; return its results. `peak` is the FLOP/s of the device, None if unknown."""
    case = job.case
    model = reward_model(config, device, "bfloat16" if device.type == "cuda" else "float32", job.checkpointing)
    variants = build_variants(job, model, config.vocab_size)
    layers = sum(p.numel() for n, p in model.encoder.named_parameters() if "embed_tokens" not in n)
    differences = check(model, variants, device)
    rounds, scoring, memory = time_variants(model, variants, case.rounds, device)
    useful = sum(sum(map(len, path)) for path in random_paths(case, config.vocab_size))
    first, pairs, rows = next(iter(variants)), len(all_pairs(case)), {}
    for name, variant in variants.items():
        minimum = min(rounds[name])
        rate = 4 * layers * variant.tokens / minimum
        rows[name] = {
            "tokens": variant.tokens,
            "positions": variant.positions,
            "seconds": minimum,
            "seconds_median": statistics.median(rounds[name]),
            "useful_tokens_per_second": useful / minimum,
            "pairs_per_second": pairs / minimum,
            "model_tflops": rate / 1e12,
            "mfu": rate / peak if peak else None,
            "peak_bytes": memory.get(name),
            "scored_per_second": case.groups * case.candidates / min(scoring[name]),
            "ratio": min(rounds[first]) / minimum,
            "error": differences.get(name),
        }
    settings = {"checkpointing": job.checkpointing, "pairs": pairs, "layer_weights": layers}
    return {"job": {**case._asdict(), **settings}, "variants": rows}


def time_variants(
    model: PooledRewardModel, variants: dict[str, Variant], count: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, list[float]], dict[str, int]]:
    """Return the seconds of steps and of scoring in each round, and on a GPU the peak memory of a step in bytes."""
    rounds: dict[str, list[float]] = {name: [] for name in variants}
    scoring: dict[str, list[float]] = {name: [] for name in variants}
    memory = {}
    for number in range(WARM_UP + count):
        for name, variant in variants.items():
            model.zero_grad(set_to_none=True)
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            seconds = elapsed_seconds(partial(step, variant, device), device)
            if device.type == "cuda":
                memory[name] = torch.cuda.max_memory_allocated()
            score = elapsed_seconds(partial(score_all, variant, device), device)
            if number >= WARM_UP:
                rounds[name].append(seconds)
                scoring[name].append(score)
    return rounds, scoring, memory


def step(variant: Variant, device: torch.device) -> None:
    """Run forward and backward."""
    with variant.context():
        torch.autograd.backward(pair_loss(variant, device))


@torch.no_grad()
def score_all(variant: Variant, device: torch.device) -> Tensor:
    """Return the rewards of all candidates without gradients; adapters are not merged."""
    with variant.context(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        return variant.score()


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one job as a table."""
    job = result["job"]
    checkpointing = "gradient checkpointing" if job["checkpointing"] else "no checkpointing"
    title = f"{job['groups']} groups of {job['candidates']}, {job['pairs']} pairs, {checkpointing}"
    columns = (
        "tokens",
        "ms",
        "useful tokens/s",
        "pairs/s",
        "MFU",
        "peak GiB",
        "scored/s",
        "first / this",
        "difference",
    )
    table = Table("variant", *columns, title=title)
    for name, row in result["variants"].items():
        mfu = "" if row["mfu"] is None else f"{row['mfu']:.0%}"
        peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**30:.1f}"
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        speeds = (f"{row[key]:.0f}" for key in ("useful_tokens_per_second", "pairs_per_second"))
        scored_speed, ratio = f"{row['scored_per_second']:.0f}", f"{row['ratio']:.2f}"
        table.add_row(
            name, str(row["tokens"]), f"{1000 * row['seconds']:.0f}", *speeds, mfu, peak, scored_speed, ratio, error
        )
    return table


def figures(result: dict[str, Any]) -> list[Figure]:
    """Return the figures of a job on a GPU."""
    job, tree = result["job"], result["variants"][TREE]
    work = f"8B step, {job['groups']} groups" + ", checkpointing" * job["checkpointing"]
    measured = [
        Figure(f"{work}; MFU", tree["mfu"] and 100 * tree["mfu"], "%", at_least=45),
        Figure(f"{work}; rate, published on an H100 {PUBLISHED_TFLOPS}", tree["model_tflops"], "TFLOP/s"),
        Figure(f"{work}; peak memory", tree["peak_bytes"] / 2**30, "GiB"),
    ]
    if job["peer"]:
        ratio = Figure(f"{work}; against {PEER}", tree["ratio"], parity=f"{tree['error']:.0e}", at_least=5)
        return [ratio, *measured]
    return measured
