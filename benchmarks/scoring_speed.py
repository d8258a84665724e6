"""Pairs a second on one core: the scorer against padded batches in file order, in full precision and in 8 bits.

The peer is what a loop over a file does today: 32 pairs at a time as they come, each pair a row with its reference
and its candidate, padded to the longest; the same backbone with merged adapters, the same pooling and head. One
process, one thread, variants in turn, CPU time, minimum and median. Totals must agree within 1e-4. Two kinds of
files: all reports of 60 words, and lengths that vary as those of real reports do (log-normal).
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau, spearmanr
from torch import Tensor

import radreward
from radreward.criteria import RadCliQCriteria
from radreward.data.collators.reward import PromptEncoder
from radreward.data.packing import pack
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.prompts import PlainPairTemplate
from radreward.scorers import EMBEDDED_DIR
from radreward.systems.er2score.scorer import RewardModelScorer, for_inference

VOCABULARY = (
    "the a of is are no with and left right lung heart effusion small large mild severe stable clear new pleural basal "
    "opacity nodule catheter tip upper lower lobe normal size silhouette unchanged pneumothorax spine"
)
MEDIAN, LONGEST = 60, 150
"""Words of a report."""
BATCH = 32
PEER, FP32, INT8 = "padded, file order", "scorer fp32", "scorer int8"
Totals = Callable[[Sequence[str], Sequence[str]], Tensor]


class Case(NamedTuple):
    """A file, and what is aimed at."""

    candidates: int
    """Of each reference; they stand together."""
    pairs: int
    spread: float = 0.0
    """Standard deviation of the logarithm of the number of words."""
    fp32: float | None = None
    """Pairs a second."""
    int8: float | None = None
    against_peer: float | None = None
    rounds: int = 3


CASES = (
    Case(1, 32, fp32=15, int8=30),
    Case(4, 64, fp32=15, int8=30),
    Case(1, 64, spread=0.5),
    Case(4, 128, spread=0.5, against_peer=2.5),
)


def texts(case: Case) -> tuple[list[str], list[str]]:
    """References and candidates, pair by pair."""
    draw, vocabulary = random.Random(0), VOCABULARY.split()

    def report() -> str:
        words = min(LONGEST, round(MEDIAN * draw.lognormvariate(0, case.spread)))
        return " ".join(draw.choices(vocabulary, k=words))

    references = [report() for _ in range(case.pairs // case.candidates)]
    repeated = [reference for reference in references for _ in range(case.candidates)]
    return repeated, [report() for _ in repeated]


def peer(saved: RewardModelArtifact) -> Totals:
    """Totals by padded batches in the order of the file."""
    model = for_inference(saved.model, "fp32")
    prompts = PromptEncoder(model.backbone.name, model.criteria, saved.template, saved.max_length)

    @torch.inference_mode()
    def totals(references: Sequence[str], candidates: Sequence[str]) -> Tensor:
        rewards = []
        for begin in range(0, len(references), BATCH):
            pairs = zip(references[begin : begin + BATCH], candidates[begin : begin + BATCH], strict=True)
            rewards.append(model(pack([prompts.encode(*pair, truncate=True)[0] for pair in pairs], "rows")))
        return model.criteria.total_quality(torch.cat(rewards))

    return totals


def variants(saved: RewardModelArtifact) -> dict[str, Totals]:
    """By name."""
    full = RewardModelScorer(saved, on_too_long="truncate")
    eight = RewardModelScorer(saved, "int8", on_too_long="truncate")
    return {
        PEER: peer(saved),
        FP32: lambda references, candidates: full.score(references, candidates).total,
        INT8: lambda references, candidates: eight.score(references, candidates).total,
    }


def measure(case: Case, every: dict[str, Totals]) -> dict[str, Any]:
    """Time the variants in turn and compare their totals: what is printed as a line of JSON."""
    pairs = texts(case)
    spent: dict[str, list[float]] = {name: [] for name in every}
    totals = {}
    for _ in range(case.rounds):
        for name, score in every.items():
            begin = time.process_time()
            totals[name] = score(*pairs)
            spent[name].append(time.process_time() - begin)
    torch.testing.assert_close(totals[FP32], totals[PEER], rtol=1e-4, atol=1e-4)
    least = {name: min(values) for name, values in spent.items()}
    return {
        "case": case._asdict(),
        "pairs_per_second": {name: case.pairs / value for name, value in least.items()},
        "pairs_per_second_median": {name: case.pairs / statistics.median(value) for name, value in spent.items()},
        "ratio": {name: least[PEER] / value for name, value in least.items()},
        "spearman": float(spearmanr(totals[FP32], totals[INT8]).statistic),
        "kendall": float(kendalltau(totals[FP32], totals[INT8]).statistic),
    }


def table(result: dict[str, Any]) -> Table:
    """The variants of one case."""
    case = Case(**result["case"])
    lengths = f"log-normal around {MEDIAN} words" if case.spread else f"{MEDIAN} words"
    title = f"{case.pairs} pairs, {case.candidates} of a reference, reports of {lengths}"
    printed = Table("variant", "pairs/s best", "pairs/s median", "against padded", title=title)
    for name, best in result["pairs_per_second"].items():
        median, ratio = result["pairs_per_second_median"][name], result["ratio"][name]
        printed.add_row(name, f"{best:.1f}", f"{median:.1f}", f"{ratio:.2f}")
    return printed


def summary(result: dict[str, Any]) -> list[str]:
    """Rank agreement of the precisions, and whether the targets are met."""
    case, speed = Case(**result["case"]), result["pairs_per_second"]
    lines = [f"int8 with fp32: Spearman {result['spearman']:.3f}, Kendall tau-b {result['kendall']:.3f}"]
    goals = (
        ("fp32, pairs/s", speed[FP32], case.fp32),
        ("int8, pairs/s", speed[INT8], case.int8),
        ("fp32 against padded", result["ratio"][FP32], case.against_peer),
    )
    for name, value, goal in goals:
        if goal is not None:
            lines.append(f"{name}: {value:.2f}, target {goal:g}: {'met' if value >= goal else 'MISSED'}")
    return lines


def model() -> tuple[RewardModelArtifact, str]:
    """The model that is shipped, or where there is none its backbone under a random head; and which it is."""
    if EMBEDDED_DIR.is_dir():
        scorer = radreward.load("embedded")
        assert isinstance(scorer, RewardModelScorer)
        return scorer.artifact, "the embedded model"
    return RewardModelArtifact(
        RewardModel(Backbone(), RadCliQCriteria()).eval(), PlainPairTemplate(), 512
    ), "an untrained head"


def main(cases: Sequence[Case] = CASES, saved: RewardModelArtifact | None = None) -> None:
    """Measure and print; a missed target is said, not an error."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console = Console(width=100)
    chosen, name = (saved, "a given model") if saved else model()
    console.print(f"One thread, {name}.")
    every = variants(chosen)
    for case in cases:
        result = measure(case, every)
        console.print(table(result))
        for line in summary(result):
            console.print(line, highlight=False)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
