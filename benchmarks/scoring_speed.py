"""Pairs per second on one core: the scorer, in full precision and in 8 bits, against padded batches in file order.

The peer is a plain loop over a file: batches of 32 pairs in order, one row per pair with its reference and candidate,
padded to the longest; the same backbone with merged adapters, the same pooling and head. One process, one thread,
variants in turn, CPU time, minimum and median. Totals must agree within 1e-4. Two types of files: reports of 60 words,
and log-normal lengths similar to those of real reports.
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
from radreward.data.packing import pack
from radreward.data.prompt_encoder import PromptEncoder
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.prompts import PlainPairTemplate
from radreward.scorers.registry import EMBEDDED_DIR
from radreward.systems.er2score.scorer import RewardModelScorer, for_inference

VOCABULARY = (
    "the a of is are no with and left right lung heart effusion small large mild severe stable clear new pleural basal "
    "opacity nodule catheter tip upper lower lobe normal size silhouette unchanged pneumothorax spine"
)
MEDIAN, LONGEST = 60, 150
"""Words per report."""
BATCH = 32
PEER, FP32, INT8 = "padded, file order", "scorer fp32", "scorer int8"
Totals = Callable[[Sequence[str], Sequence[str]], Tensor]


class Case(NamedTuple):
    """A file, and target speeds."""

    candidates: int
    """Candidates per reference, next to each other."""
    pairs: int
    spread: float = 0.0
    """Standard deviation of the logarithm of the number of words."""
    fp32: float | None = None
    """Target in pairs per second."""
    int8: float | None = None
    against_peer: float | None = None
    rounds: int = 3


CASES = (
    Case(1, 32, fp32=15, int8=30),
    Case(4, 64, fp32=15, int8=30),
    Case(1, 64, spread=0.5),
    Case(4, 128, spread=0.5, against_peer=2.5),
)


def random_reports(case: Case) -> tuple[list[str], list[str]]:
    """Return references and candidates, pair by pair."""
    rng, vocabulary = random.Random(0), VOCABULARY.split()

    def report() -> str:
        words = min(LONGEST, round(MEDIAN * rng.lognormvariate(0, case.spread)))
        return " ".join(rng.choices(vocabulary, k=words))

    references = [report() for _ in range(case.pairs // case.candidates)]
    repeated = [reference for reference in references for _ in range(case.candidates)]
    return repeated, [report() for _ in repeated]


def peer_totals(saved: RewardModelArtifact) -> Totals:
    """Return a function that scores padded batches in the order of the file."""
    model = for_inference(saved.model, "fp32")
    prompts = PromptEncoder(model.backbone.name, model.criteria, saved.template, saved.max_length)

    @torch.inference_mode()
    def totals(references: Sequence[str], candidates: Sequence[str]) -> Tensor:
        rewards = []
        for start in range(0, len(references), BATCH):
            pairs = zip(references[start : start + BATCH], candidates[start : start + BATCH], strict=True)
            rewards.append(model(pack([prompts.encode(*pair, truncate=True)[0] for pair in pairs], "rows")).rewards)
        return model.criteria.total_quality(torch.cat(rewards))

    return totals


def build_variants(saved: RewardModelArtifact) -> dict[str, Totals]:
    """Return all variants by name."""
    full = RewardModelScorer(saved, on_too_long="truncate")
    int8 = RewardModelScorer(saved, "int8", on_too_long="truncate")
    return {
        PEER: peer_totals(saved),
        FP32: lambda references, candidates: full.score(references, candidates).total,
        INT8: lambda references, candidates: int8.score(references, candidates).total,
    }


def measure(case: Case, variants: dict[str, Totals]) -> dict[str, Any]:
    """Time the variants in turn and compare their totals; return the results that are printed as JSON."""
    pairs = random_reports(case)
    times: dict[str, list[float]] = {name: [] for name in variants}
    totals = {}
    for _ in range(case.rounds):
        for name, score in variants.items():
            start = time.process_time()
            totals[name] = score(*pairs)
            times[name].append(time.process_time() - start)
    torch.testing.assert_close(totals[FP32], totals[PEER], rtol=1e-4, atol=1e-4)
    minimum = {name: min(values) for name, values in times.items()}
    return {
        "case": case._asdict(),
        "pairs_per_second": {name: case.pairs / value for name, value in minimum.items()},
        "pairs_per_second_median": {name: case.pairs / statistics.median(value) for name, value in times.items()},
        "ratio": {name: minimum[PEER] / value for name, value in minimum.items()},
        "spearman": float(spearmanr(totals[FP32], totals[INT8]).statistic),
        "kendall": float(kendalltau(totals[FP32], totals[INT8]).statistic),
    }


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one case as a table."""
    case = Case(**result["case"])
    lengths = f"log-normal around {MEDIAN} words" if case.spread else f"{MEDIAN} words"
    title = f"{case.pairs} pairs, {case.candidates} of a reference, reports of {lengths}"
    table = Table("variant", "pairs/s best", "pairs/s median", "against padded", title=title)
    for name, best in result["pairs_per_second"].items():
        median, ratio = result["pairs_per_second_median"][name], result["ratio"][name]
        table.add_row(name, f"{best:.1f}", f"{median:.1f}", f"{ratio:.2f}")
    return table


def summary_lines(result: dict[str, Any]) -> list[str]:
    """Return the rank correlation of the precisions, and whether the targets are met."""
    case, speed = Case(**result["case"]), result["pairs_per_second"]
    lines = [f"int8 with fp32: Spearman {result['spearman']:.3f}, Kendall tau-b {result['kendall']:.3f}"]
    targets = (
        ("fp32, pairs/s", speed[FP32], case.fp32),
        ("int8, pairs/s", speed[INT8], case.int8),
        ("fp32 against padded", result["ratio"][FP32], case.against_peer),
    )
    for name, value, target in targets:
        if target is not None:
            lines.append(f"{name}: {value:.2f}, target {target:g}: {'met' if value >= target else 'MISSED'}")
    return lines


def load_model() -> tuple[RewardModelArtifact, str]:
    """Return the shipped model, or without it its backbone with a random head, and a description."""
    if EMBEDDED_DIR.is_dir():
        scorer = radreward.load("er2score")
        assert isinstance(scorer, RewardModelScorer)
        return scorer.artifact, "the embedded model"
    return RewardModelArtifact(
        RewardModel(Backbone(), RadCliQCriteria()).eval(), PlainPairTemplate(), 512
    ), "an untrained head"


def main(cases: Sequence[Case] = CASES, saved: RewardModelArtifact | None = None) -> None:
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console = Console(width=100)
    chosen, name = (saved, "a given model") if saved else load_model()
    console.print(f"One thread, {name}.")
    variants = build_variants(chosen)
    for case in cases:
        result = measure(case, variants)
        console.print(result_table(result))
        for line in summary_lines(result):
            console.print(line, highlight=False)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
