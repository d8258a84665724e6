"""A training step and scoring with the architecture of Llama 3 8B on a GPU: packed, in rows, and in TRL's way.

Random weights in bfloat16, LoRA of rank 16 on queries and values, bf16-mixed, references of 450 tokens with
instruction, four candidates of 90. The peer is a replica of the step of TRL's RewardTrainer: all pairs of a group, both
sides of each as rows padded on the right, the reward of the last token, the same adapters and head. Before timing,
losses and gradients must agree. Times are those of CUDA events over forward and backward, variants in turn, after a
warm-up, without the optimizer step, which is equal for all. Useful tokens are those of rows without padding, each
candidate once. MFU is 4 · N · computed tokens / seconds over the peak of the device (frozen weights have no gradients:
2 N forward, 2 N backward), with N weights in the layers and without attention.

Without a GPU, or with `python -m benchmarks.llama_step --small`, a small Llama replaces it: the code runs, but the
results do not describe a GPU.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, LlamaConfig, PreTrainedConfig

from benchmarks._figures import Figure
from benchmarks._published_configs import published_config
from benchmarks.training_speed import Case, Paths, all_pairs, random_paths
from radreward.criteria import Criteria, Criterion
from radreward.data.packing import Packing, pack, to_device
from radreward.models import Backbone, LoRA, PooledRewardModel
from radreward.models.backbone import DTypeName

NAME = "meta-llama/Meta-Llama-3-8B"
PEER, ROWS, TREE = "TRL's step", "rows", "tree"
PACKINGS: dict[str, Packing] = {ROWS: "rows", TREE: "tree"}
WARM_UP = 2
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12, "RTX 4090": 165e12}
"""Dense bfloat16 FLOP/s stated by the manufacturers."""


class Job(NamedTuple):
    """A batch, with or without gradient checkpointing."""

    case: Case
    checkpointing: bool = False


JOBS = (
    Job(Case(4, 112, 338, 90)),
    Job(Case(4, 112, 338, 90), checkpointing=True),
    Job(Case(4, 112, 338, 90, groups=6), checkpointing=True),
)
SMALL = (Job(Case(4, 11, 34, 9, rounds=2)), Job(Case(4, 11, 34, 9, rounds=2), checkpointing=True))
SMALL_CONFIG = LlamaConfig(
    vocab_size=500, hidden_size=64, intermediate_size=224, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2,
)  # fmt: skip


class RandomLlama(Backbone):
    """Backbone with random weights of a given architecture."""

    def __init__(self, config: PreTrainedConfig, device: torch.device, checkpointing: bool) -> None:
        dtype: DTypeName = "bfloat16" if device.type == "cuda" else "float32"
        super().__init__(
            NAME, LoRA(16, targets=["q_proj", "v_proj"]), dtype=dtype, gradient_checkpointing=checkpointing
        )
        self.architecture, self.device = config, device

    def config(self, packed: bool = True) -> PreTrainedConfig:
        """See `Backbone.config`."""
        return self.architecture

    def build(self, packed: bool = True, causal_lm: bool = False) -> nn.Module:
        """Create the weights on the device, without a language-model head."""
        with self.device:
            return self.prepare(AutoModel.from_config(self.architecture, dtype=getattr(torch, self.dtype)))


class Variant(NamedTuple):
    """One implementation; `sides` returns the rewards of accepted and rejected candidates, `score` those of all."""

    sides: Callable[[], tuple[Tensor, Tensor]]
    score: Callable[[], Tensor]
    tokens: int
    """Computed tokens without padding."""
    positions: int
    """Computed tokens with padding."""


def build(config: PreTrainedConfig, device: torch.device, checkpointing: bool) -> PooledRewardModel:
    """Return a model with adapters that are not zero."""
    torch.manual_seed(0)
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    model = PooledRewardModel(RandomLlama(config, device, checkpointing), criteria).to(device)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.01)
    return model.train()


def own_variant(model: PooledRewardModel, paths: Paths, pairs: Sequence[tuple[int, int]], packing: Packing) -> Variant:
    """Return packing and model of radreward: every candidate once."""
    device = model.head.scale.device
    accepted, rejected = torch.tensor(pairs, device=device).T

    def score() -> Tensor:
        rewards: Tensor = model(to_device(pack(paths, packing), device)).rewards
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
    loss = pair_loss(variant, device)
    torch.autograd.backward(loss)
    parts = [p.grad.flatten() for n, p in model.named_parameters() if p.grad is not None and n != "head.out.bias"]
    return loss.item(), torch.cat(parts)


def check(model: PooledRewardModel, variants: dict[str, Variant], device: torch.device) -> dict[str, float]:
    """Return the relative differences of gradients from those of the peer, after checking their tolerance."""
    tolerance = 0.1 if device.type == "cuda" else 1e-4
    loss, expected = gradients(model, variants[PEER], device)
    differences = {}
    for name in PACKINGS:
        own_loss, actual = gradients(model, variants[name], device)
        differences[name] = float((actual - expected).norm() / expected.norm())
        difference = max(abs(own_loss - loss) / abs(loss), differences[name])
        assert difference < tolerance, f"{name}: differs by {difference:.1e}."
    model.zero_grad(set_to_none=True)
    return differences


def elapsed_seconds(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds of a call: of CUDA events on a GPU, CPU time without one."""
    if device.type != "cuda":
        start_time = time.process_time()
        work()
        return time.process_time() - start_time
    event: Any = torch.cuda.Event  # untyped in torch
    start, end = event(enable_timing=True), event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000


def measure(job: Job, config: PreTrainedConfig, device: torch.device) -> dict[str, Any]:
    """Time all variants of a job; return the results that are printed as JSON."""
    case, model = job.case, build(config, device, job.checkpointing)
    paths, pairs = random_paths(case, config.vocab_size), all_pairs(case)
    variants = {PEER: peer_variant(model, paths, pairs)}
    variants |= {name: own_variant(model, paths, pairs, packing) for name, packing in PACKINGS.items()}
    layers = sum(p.numel() for n, p in model.encoder.named_parameters() if "embed_tokens" not in n)
    useful = sum(sum(map(len, path)) for path in paths)
    differences = check(model, variants, device)
    rounds: dict[str, list[float]] = {name: [] for name in variants}
    scoring: dict[str, list[float]] = {name: [] for name in variants}
    memory = {}
    for number in range(WARM_UP + case.rounds):
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
    peak = peak_flops(device)
    rows = {}
    for name, variant in variants.items():
        minimum, flops = min(rounds[name]), 4 * layers * variant.tokens
        rows[name] = {
            "tokens": variant.tokens,
            "positions": variant.positions,
            "seconds": minimum,
            "seconds_median": statistics.median(rounds[name]),
            "useful_tokens_per_second": useful / minimum,
            "pairs_per_second": len(pairs) / minimum,
            "mfu": flops / minimum / peak if peak else None,
            "peak_bytes": memory.get(name),
            "scored_per_second": len(paths) / min(scoring[name]),
            "ratio": min(rounds[PEER]) / minimum,
            "error": differences.get(name),
        }
    device_name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    settings = {
        **case._asdict(),
        "checkpointing": job.checkpointing,
        "pairs": len(pairs),
        "layer_weights": layers,
    }
    return {"device": device_name, "job": settings, "variants": rows}


def step(variant: Variant, device: torch.device) -> None:
    """Run forward and backward."""
    torch.autograd.backward(pair_loss(variant, device))


@torch.no_grad()
def score_all(variant: Variant, device: torch.device) -> Tensor:
    """Return the rewards of all candidates without gradients; adapters are not merged."""
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        return variant.score()


def peak_flops(device: torch.device) -> float | None:
    """Return the peak of the device, or None if it is unknown."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else ""
    return next((value for key, value in PEAK.items() if key in name), None)


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one job as a table."""
    job = result["job"]
    checkpointing = "gradient checkpointing" if job["checkpointing"] else "no checkpointing"
    title = f"{result['device']}: {job['groups']} groups of {job['candidates']}, {job['pairs']} pairs, {checkpointing}"
    columns = ("tokens", "ms", "useful tokens/s", "pairs/s", "MFU", "peak GiB", "scored/s", "TRL / this", "difference")
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
    """Return speedup and MFU of a job; none without a GPU."""
    job, tree = result["job"], result["variants"][TREE]
    if tree["peak_bytes"] is None:
        return []
    work = f"8B step on {result['device']}, {job['groups']} groups" + ", checkpointing" * job["checkpointing"]
    return [
        Figure(f"{work}; against {PEER}", tree["ratio"], parity=f"{tree['error']:.0e}", at_least=5),
        Figure(f"{work}; MFU", tree["mfu"] and 100 * tree["mfu"], "%", at_least=45),
        Figure(f"{work}; peak memory", tree["peak_bytes"] / 2**30, "GiB"),
    ]


def main(small: bool = False) -> list[Figure]:
    """Run and print the benchmark; without a GPU, there are no figures."""
    console, measured = Console(width=130), []
    config = published_config(NAME)
    if small or not torch.cuda.is_available():
        console.print("A small Llama in float32 on the CPU: the results do not describe a GPU.")
        device, config = torch.device("cpu"), SMALL_CONFIG
        torch.set_num_threads(1)
    else:
        device = torch.device("cuda")
    jobs: Sequence[Job] = JOBS if device.type == "cuda" else SMALL
    for job in jobs:
        result = measure(job, config, device)
        console.print(result_table(result))
        print(json.dumps(result), flush=True)
        measured += figures(result)
    return measured or [Figure(f"8B step against {PEER}", None, parity="no GPU", at_least=5)]


if __name__ == "__main__":
    main("--small" in sys.argv[1:])
