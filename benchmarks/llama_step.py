"""A training step and scoring with the architecture of Llama 3 8B on a GPU: packed, in rows, and as TRL does it.

Random weights in bfloat16, LoRA of rank 16 on queries and values, bf16-mixed, references of 450 tokens with
instruction, four candidates of 90. The peer is a replica of the step of TRL's RewardTrainer: all pairs of a group, both
sides of each as rows padded on the right, the reward read at the last token, the same adapters and head. Losses and
gradients must agree before anything is timed. Time is that of CUDA events over forward and backward, variants in turn,
after a warm-up; of the optimizer there is none, it would be the same for all. Useful tokens are those that rows without
padding hold, each candidate once, whatever a variant computes. MFU is 4 · N · tokens computed / seconds over the peak
of the device (no gradients of frozen weights: 2 N forward, 2 N backward), N the weights of the layers, attention not
counted.

Without a GPU, or with `python -m benchmarks.llama_step --small`, a small Llama takes its place: the code runs, and the
figures say nothing of a GPU.
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

from benchmarks._published_configs import published_config
from benchmarks.training_speed import PATHS, Case, draw, pairs_of
from radreward.criteria import Criteria, Criterion
from radreward.data.packing import Packing, pack
from radreward.models import Backbone, LoRA, RewardModel
from radreward.models.backbone import DTypeName
from radreward.types import PackedBatch

NAME = "meta-llama/Meta-Llama-3-8B"
PEER, ROWS, TREE, BATCH = "TRL's step", "rows", "tree", "batch trie"
PACKINGS: dict[str, Packing] = {ROWS: "rows", TREE: "tree", BATCH: "batch"}
WARM_UP = 2
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12, "RTX 4090": 165e12}
"""Dense bfloat16 FLOP/s as the makers state them."""


class Job(NamedTuple):
    """A batch, and whether layers are computed anew in the backward pass."""

    case: Case
    checkpointing: bool = False


JOBS = (
    Job(Case(4, 450, 90, groups=2)),
    Job(Case(4, 450, 90, groups=2), checkpointing=True),
    Job(Case(4, 450, 90, groups=6), checkpointing=True),
)
SMALL = (Job(Case(4, 45, 9, groups=2, rounds=2)), Job(Case(4, 45, 9, groups=2, rounds=2), checkpointing=True))
SMALL_CONFIG = LlamaConfig(
    vocab_size=500, hidden_size=64, intermediate_size=224, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2,
)  # fmt: skip


class RandomLlama(Backbone):
    """An architecture with random weights, in the place of a model by name."""

    def __init__(self, config: PreTrainedConfig, device: torch.device, checkpointing: bool) -> None:
        dtype: DTypeName = "bfloat16" if device.type == "cuda" else "float32"
        super().__init__(
            NAME, LoRA(16, targets=["q_proj", "v_proj"]), dtype=dtype, gradient_checkpointing=checkpointing
        )
        self.given, self.device = config, device

    def config(self, packed: bool = True) -> PreTrainedConfig:
        """The given one."""
        return self.given

    def build(self, packed: bool = True, causal_lm: bool = False) -> nn.Module:
        """Weights made on the device; it never writes."""
        with self.device:
            return self.prepare(AutoModel.from_config(self.given, dtype=getattr(torch, self.dtype)))


class Variant(NamedTuple):
    """One way to reward the candidates: rewards of both sides of every pair, accepted first, by `sides`."""

    sides: Callable[[], tuple[Tensor, Tensor]]
    score: Callable[[], Tensor]
    tokens: int
    """Computed, padding not counted."""
    positions: int
    """Computed, padding counted."""


def build(config: PreTrainedConfig, device: torch.device, checkpointing: bool) -> RewardModel:
    """The model, with adapters that are not zero: what they compute is to be compared."""
    torch.manual_seed(0)
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    model = RewardModel(RandomLlama(config, device, checkpointing), criteria).to(device)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.01)
    return model.train()


def own(model: RewardModel, paths: PATHS, pairs: Sequence[tuple[int, int]], packing: Packing) -> Variant:
    """Packing and model of ours: every candidate once."""
    device = model.head.out.weight.device
    accepted, rejected = torch.tensor(pairs, device=device).T

    def score() -> Tensor:
        packed = pack(paths, packing)
        rewards: Tensor = model(PackedBatch(*(value.to(device) for value in packed)))
        return rewards

    def sides() -> tuple[Tensor, Tensor]:
        rewards = score()
        return rewards[accepted], rewards[rejected]

    nodes = pack(paths, packing).node_ids
    return Variant(sides, score, int((nodes >= 0).sum()), nodes.numel())


def peer(model: RewardModel, paths: PATHS, pairs: Sequence[tuple[int, int]]) -> Variant:
    """Both sides of every pair as padded rows; to score, every candidate as one."""
    device = model.head.out.weight.device
    whole = [torch.tensor(sum(path, [])) for path in paths]

    def rewards(rows: Sequence[Tensor]) -> Tensor:
        ids = nn.utils.rnn.pad_sequence(list(rows), batch_first=True).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        states = model.encoder(input_ids=ids, attention_mask=mask.long(), use_cache=False).last_hidden_state
        last = states[torch.arange(len(rows), device=device), lengths - 1]
        with torch.autocast(device.type, enabled=False):
            found: Tensor = model.head(last.to(model.head.scale.dtype))
        return found

    def sides() -> tuple[Tensor, Tensor]:
        both = rewards([whole[i] for i, _ in pairs] + [whole[j] for _, j in pairs])
        return both[: len(pairs)], both[len(pairs) :]

    lengths = [len(whole[index]) for pair in pairs for index in pair]
    return Variant(sides, lambda: rewards(whole), sum(lengths), max(lengths) * len(lengths))


def loss_of(variant: Variant, device: torch.device) -> Tensor:
    """Bradley-Terry over all pairs, which is TRL's."""
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        accepted, rejected = variant.sides()
    return -F.logsigmoid(accepted - rejected).mean()


def gradients(model: RewardModel, variant: Variant, device: torch.device) -> tuple[float, Tensor]:
    """The loss, and the gradients of all that is trained as one vector; the head's bias has none."""
    model.zero_grad()
    loss = loss_of(variant, device)
    torch.autograd.backward(loss)
    found = [p.grad.flatten() for n, p in model.named_parameters() if p.grad is not None and n != "head.out.bias"]
    return loss.item(), torch.cat(found)


def check(model: RewardModel, every: dict[str, Variant], device: torch.device) -> dict[str, float]:
    """The relative difference of gradients from those of the peer; 16 bits round, 32 bits hardly."""
    tolerance = 0.1 if device.type == "cuda" else 1e-4
    loss, known = gradients(model, every[PEER], device)
    apart = {}
    for name in PACKINGS:
        own_loss, found = gradients(model, every[name], device)
        apart[name] = float((found - known).norm() / known.norm())
        assert max(abs(own_loss - loss) / abs(loss), apart[name]) < tolerance, f"{name}: differs by {apart[name]:.1e}."
    model.zero_grad(set_to_none=True)
    return apart


def spent(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of a piece of work: of CUDA events on a GPU, of the processor without."""
    if device.type != "cuda":
        begin = time.process_time()
        work()
        return time.process_time() - begin
    event: Any = torch.cuda.Event  # torch gives it no types
    start, end = event(enable_timing=True), event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000


def measure(job: Job, config: PreTrainedConfig, device: torch.device) -> dict[str, Any]:
    """All variants of a job: what is printed as a line of JSON."""
    case, model = job.case, build(config, device, job.checkpointing)
    paths, pairs = draw(case, config.vocab_size), pairs_of(case)
    every = {PEER: peer(model, paths, pairs), **{name: own(model, paths, pairs, way) for name, way in PACKINGS.items()}}
    layers = sum(p.numel() for n, p in model.encoder.named_parameters() if "embed_tokens" not in n)
    useful = sum(sum(map(len, path)) for path in paths)
    differs = check(model, every, device)
    rounds: dict[str, list[float]] = {name: [] for name in every}
    scoring: dict[str, list[float]] = {name: [] for name in every}
    memory = {}
    for number in range(WARM_UP + case.rounds):
        for name, variant in every.items():
            model.zero_grad(set_to_none=True)
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            seconds = spent(partial(step, variant, device), device)
            if device.type == "cuda":
                memory[name] = torch.cuda.max_memory_allocated()
            score = spent(partial(scored, variant, device), device)
            if number >= WARM_UP:
                rounds[name].append(seconds)
                scoring[name].append(score)
    peak = peak_flops(device)
    found = {}
    for name, variant in every.items():
        least, flops = min(rounds[name]), 4 * layers * variant.tokens
        found[name] = {
            "tokens": variant.tokens,
            "positions": variant.positions,
            "seconds": least,
            "seconds_median": statistics.median(rounds[name]),
            "useful_tokens_per_second": useful / least,
            "pairs_per_second": len(pairs) / least,
            "mfu": flops / least / peak if peak else None,
            "peak_bytes": memory.get(name),
            "scored_per_second": len(paths) / min(scoring[name]),
            "ratio": min(rounds[PEER]) / least,
            "error": differs.get(name),
        }
    device_name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    settings = {**case._asdict(), "checkpointing": job.checkpointing, "pairs": len(pairs), "layer_weights": layers}
    return {"device": device_name, "job": settings, "variants": found}


def step(variant: Variant, device: torch.device) -> None:
    """Forward and backward."""
    torch.autograd.backward(loss_of(variant, device))


@torch.no_grad()
def scored(variant: Variant, device: torch.device) -> Tensor:
    """Rewards of all candidates as in use, adapters apart."""
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        return variant.score()


def peak_flops(device: torch.device) -> float | None:
    """Of the device, None where it is not known."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else ""
    return next((value for key, value in PEAK.items() if key in name), None)


def table(result: dict[str, Any]) -> Table:
    """The variants of one job."""
    job = result["job"]
    again = "layers computed anew" if job["checkpointing"] else "no checkpointing"
    title = f"{result['device']}: {job['groups']} groups of {job['candidates']}, {job['pairs']} pairs, {again}"
    heads = ("tokens", "ms", "useful tokens/s", "pairs/s", "MFU", "peak GiB", "scored/s", "TRL / this", "differs by")
    printed = Table("variant", *heads, title=title)
    for name, row in result["variants"].items():
        mfu = "" if row["mfu"] is None else f"{row['mfu']:.0%}"
        peak = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**30:.1f}"
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        speeds = (f"{row[key]:.0f}" for key in ("useful_tokens_per_second", "pairs_per_second"))
        scored_speed, ratio = f"{row['scored_per_second']:.0f}", f"{row['ratio']:.2f}"
        printed.add_row(
            name, str(row["tokens"]), f"{1000 * row['seconds']:.0f}", *speeds, mfu, peak, scored_speed, ratio, error
        )
    return printed


def main(small: bool = False) -> None:
    """Measure and print."""
    console = Console(width=130)
    config = published_config(NAME)
    if small or config is None or not torch.cuda.is_available():
        console.print("A small Llama in float32 on the CPU: that the code runs, no figure of a GPU.")
        device, config = torch.device("cpu"), SMALL_CONFIG
        torch.set_num_threads(1)
    else:
        device = torch.device("cuda")
    jobs: Sequence[Job] = JOBS if device.type == "cuda" else SMALL
    for job in jobs:
        result = measure(job, config, device)
        console.print(table(result))
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main("--small" in sys.argv[1:])
