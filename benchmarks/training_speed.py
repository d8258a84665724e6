"""A training step against TRL's RewardTrainer: the same decoder, pairs, loss and gradients.

One process, one thread, variants in turn; CPU time of collation, forward and backward, minimum and median. Before
timing, loss and all gradients of the variants with the same pairs must agree. Lengths vary by a tenth, as within a
length bucket; a quarter of the prefix is an instruction that all references share. The optimizer step is equal for all
variants and not included.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from transformers import AutoModel

from benchmarks._training import (
    Gradients,
    ModelSize,
    backward_call,
    cpu_milliseconds,
    llama_config,
    random_tokens,
    relative_difference,
    special_tokenizer,
)
from radreward.criteria import Criteria, Criterion
from radreward.data.packing import Packing, pack
from radreward.models import Backbone, RewardModel
from radreward.objectives import BradleyTerry
from radreward.types import RewardBatch

Paths = list[list[list[int]]]
"""Token ids of instruction, reference and candidate, per candidate."""
PEER, ONE_PAIR, ROWS, TREE, BATCH = "TRL, all pairs", "TRL, one pair", "rows", "tree", "batch trie"
SPECIAL_TOKENS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
TOLERANCE = 5e-6
"""Maximum difference relative to the norm of all gradients, in float32."""


class Case(NamedTuple):
    """Size of a batch, and target speedups of the tree."""

    candidates: int
    prefix: int = 256
    candidate: int = 64
    groups: int = 2
    rounds: int = 5
    against_peer: float | None = None
    against_rows: float | None = None


CASES = (
    Case(3, against_peer=3, against_rows=2.5),
    Case(4, against_peer=7, against_rows=2.5),
    Case(8, rounds=3, against_rows=2.5),
    Case(4, prefix=32, candidate=256),  # almost nothing to share
)


class Variant(NamedTuple):
    """One implementation of a step; `step` returns its loss."""

    model: nn.Module
    step: Callable[[], Tensor]
    pairs: int
    tokens: int
    positions: int
    """Tokens with padding, all of which are computed."""


class Sides(NamedTuple):
    """TRL's trainer and our model, with equal weights."""

    trainer: Any
    model: RewardModel


def build(folder: str, size: ModelSize) -> Sides:
    """Save a random decoder, and load it on both sides with equal heads."""
    from datasets import Dataset
    from trl.trainer.reward_config import RewardConfig
    from trl.trainer.reward_trainer import RewardTrainer

    AutoModel.from_config(llama_config(size, eos_token_id=1)).save_pretrained(folder)
    trainer: Any = RewardTrainer(
        model=folder,
        args=RewardConfig(
            output_dir=folder,
            bf16=False,
            activation_checkpointing=False,
            use_cpu=True,
            max_length=None,
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"chosen_ids": [[3]], "rejected_ids": [[4]]}),
        processing_class=special_tokenizer(SPECIAL_TOKENS),
    )
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    model = RewardModel(Backbone(folder, lora=None, local_files_only=True), criteria)
    with torch.no_grad():
        model.head.out.weight.copy_(trainer.model.score.weight)
    return Sides(trainer, model)


def random_paths(case: Case, vocabulary: int) -> Paths:
    """Return random token paths, group by group."""
    source = torch.Generator().manual_seed(0)
    instruction, paths = random_tokens(case.prefix // 4, vocabulary, source, 0), []
    for _ in range(case.groups):
        reference = random_tokens(case.prefix - case.prefix // 4, vocabulary, source)
        paths += [
            [instruction, reference, random_tokens(case.candidate, vocabulary, source)] for _ in range(case.candidates)
        ]
    return paths


def all_pairs(case: Case) -> list[tuple[int, int]]:
    """Return all pairs of every group; the first candidate is the better one."""
    starts = range(0, case.groups * case.candidates, case.candidates)
    return [(s + i, s + j) for s in starts for i in range(case.candidates) for j in range(i + 1, case.candidates)]


def peer_variant(trainer: Any, paths: Paths, pairs: Sequence[tuple[int, int]]) -> Variant:
    """Return collator and loss of TRL's trainer."""
    rows = [sum(path, []) for path in paths]
    examples = [{"chosen_ids": rows[i], "rejected_ids": rows[j]} for i, j in pairs]

    def step() -> Tensor:
        loss: Tensor = trainer.compute_loss(trainer.model, trainer.data_collator(examples))
        return loss

    mask = trainer.data_collator(examples)["attention_mask"]
    return Variant(trainer.model, step, len(pairs), int(mask.sum()), mask.numel())


def own_variant(
    model: RewardModel, paths: Paths, pairs: Sequence[tuple[int, int]], case: Case, packing: Packing
) -> Variant:
    """Return packing, model and objective of radreward."""
    objective = BradleyTerry(use_criteria=False)
    rank = torch.arange(len(paths))
    quality, group = -(rank % case.candidates).float().unsqueeze(1), rank // case.candidates

    def step() -> Tensor:
        rewards = model(pack(paths, packing)).rewards
        return objective.reduce(objective(RewardBatch(rewards, quality, group, torch.tensor(pairs))))

    nodes = pack(paths, packing).node_ids
    return Variant(model, step, len(pairs), int((nodes >= 0).sum()), nodes.numel())


def build_variants(case: Case, sides: Sides, vocabulary: int) -> dict[str, Variant]:
    """Return all variants by name, on the same tokens."""
    paths, pairs = random_paths(case, vocabulary), all_pairs(case)
    one_per_group = pairs[:: len(pairs) // case.groups]
    return {
        PEER: peer_variant(sides.trainer, paths, pairs),
        ONE_PAIR: peer_variant(sides.trainer, paths, one_per_group),
        ROWS: own_variant(sides.model, paths, pairs, case, "rows"),
        TREE: own_variant(sides.model, paths, pairs, case, "tree"),
        BATCH: own_variant(sides.model, paths, pairs, case, "batch"),
    }


def loss_and_gradients(variant: Variant) -> tuple[float, Gradients]:
    """Return the loss, and the gradients under TRL's names."""
    variant.model.zero_grad()
    loss = variant.step()
    torch.autograd.backward(loss)
    gradients = {}
    for name, parameter in variant.model.named_parameters():
        assert parameter.grad is not None, name
        name = name.replace("encoder.", "model.").replace("head.out.", "score.")
        gradients[name] = parameter.grad.clone()
    return loss.item(), gradients


def disagreement(variant: Variant, expected: tuple[float, Gradients]) -> float:
    """Return the larger of the relative differences of loss and gradients.

    Only our head has a bias, and differences of rewards do not depend on it.
    """
    loss, gradients = loss_and_gradients(variant)
    bias = gradients.pop("score.bias", None)
    assert bias is None or float(bias.abs().max()) < TOLERANCE
    return max(abs(loss - expected[0]) / abs(expected[0]), relative_difference(gradients, expected[1]))


def measure(case: Case, sides: Sides, vocabulary: int) -> dict[str, Any]:
    """Check that the variants agree, and time them in turn; return the results that are printed as JSON."""
    variants = build_variants(case, sides, vocabulary)
    expected = loss_and_gradients(variants[PEER])
    errors = {name: disagreement(variants[name], expected) for name in (ROWS, TREE, BATCH)}
    assert max(errors.values()) < TOLERANCE, f"Loss or gradients differ: {errors}."
    loss_and_gradients(variants[ONE_PAIR])  # warm-up; the others have run
    calls = {name: backward_call(variant.model, variant.step) for name, variant in variants.items()}
    times = cpu_milliseconds(calls, case.rounds)
    minimum = {name: min(values) for name, values in times.items()}
    rows = {
        name: {
            "pairs": variant.pairs,
            "tokens": variant.tokens,
            "positions": variant.positions,
            "ms": minimum[name],
            "ms_median": statistics.median(times[name]),
            "ratio": minimum[PEER] / minimum[name],
            "ratio_by_positions": minimum[PEER] / minimum[name] / (variants[PEER].positions / variant.positions),
            "error": errors.get(name),
        }
        for name, variant in variants.items()
    }
    once, sharing = minimum[PEER] / minimum[ROWS], minimum[ROWS] / minimum[TREE]
    return {"case": case._asdict(), "variants": rows, "once": once, "sharing": sharing}


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one case as a table."""
    case = Case(**result["case"])
    title = f"{case.groups} groups of {case.candidates}: prefix {case.prefix}, candidate {case.candidate} tokens"
    columns = ("pairs", "tokens", "with padding", "ms min", "ms median", "TRL / this", "÷ token ratio", "difference")
    table = Table("variant", *columns, title=title)
    for name, row in result["variants"].items():
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        times = f"{row['ms']:.0f}", f"{row['ms_median']:.0f}", f"{row['ratio']:.2f}", f"{row['ratio_by_positions']:.2f}"
        table.add_row(name, *(str(row[key]) for key in ("pairs", "tokens", "positions")), *times, error)
    return table


def summary_lines(result: dict[str, Any]) -> list[str]:
    """Return the two factors of the tree's speedup, and whether the targets are met."""
    once, sharing, case = result["once"], result["sharing"], Case(**result["case"])
    speedup = once * sharing
    lines = [f"TRL / tree {speedup:.2f} = {once:.2f} (each candidate encoded once) x {sharing:.2f} (prefix shared)"]
    if once > 1 and sharing > 1:
        fractions = (f"{math.log(factor) / math.log(speedup):.0%}" for factor in (once, sharing))
        lines[0] += f"; in logarithms {' and '.join(fractions)}"
    targets = (("TRL / tree", speedup, case.against_peer), ("rows / tree", sharing, case.against_rows))
    for name, value, target in targets:
        if target is not None:
            lines.append(f"{name}: {value:.2f}, target {target:g}: {'met' if value >= target else 'MISSED'}")
    return lines


def main(cases: Sequence[Case] = CASES, size: ModelSize = ModelSize()) -> None:  # noqa: B008 - immutable
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as folder:
        sides = build(folder, size)
        for case in cases:
            result = measure(case, sides, size.vocabulary)
            console.print(result_table(result))
            for line in summary_lines(result):
                console.print(line, highlight=False)
            print(json.dumps(result), flush=True)
