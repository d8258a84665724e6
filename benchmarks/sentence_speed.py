"""Pairs per second of `sentence-eval` on one core, in fp32 and in bf16, in chunks as `radreward score` makes them.

The peer scores pair by pair, so that a sentence of several reports is encoded for each. SYNTHETIC reports of about 60
words, three candidates per reference. One process, one thread, variants in turn, CPU time, minimum of the rounds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau
from torch import Tensor

from benchmarks._figures import Figure
from radreward.criteria import RadCliQCriteria
from radreward.models.precision import has_bfloat16_products
from radreward.scorers import Scorer
from radreward.synthesis import synthesize
from radreward.systems.sentence_eval import SentenceScorer

GOAL = 60
"""Pairs per second."""
ALONE, FP32, BF16 = "fp32, pair by pair", "fp32", "bf16"


def generated_pairs(pairs: int) -> tuple[list[str], list[str]]:
    """Return references and candidates, pair by pair."""
    groups = synthesize(RadCliQCriteria(), -(-pairs // 3), seed=7)
    both = [(group.reference, candidate.text) for group in groups for candidate in group.candidates][:pairs]
    return [reference for reference, _ in both], [candidate for _, candidate in both]


def quality(scorer: Scorer, chunk_size: int, references: Sequence[str], candidates: Sequence[str]) -> Tensor:
    """Return the quality of pairs that are scored in chunks."""
    chunks = [slice(start, start + chunk_size) for start in range(0, len(references), chunk_size)]
    scores = [scorer.score(references[chunk], candidates[chunk]).quality for chunk in chunks]
    return torch.cat([values for values in scores if values is not None])


def main(pairs: int = 384, rounds: int = 2) -> list[Figure]:
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    full = SentenceScorer.from_pretrained()
    variants: dict[str, tuple[Scorer, int]] = {ALONE: (full, 1), FP32: (full, full.chunk_size)}
    if has_bfloat16_products():
        variants[BF16] = SentenceScorer.from_pretrained(precision="bf16"), full.chunk_size
    reports = generated_pairs(pairs)
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    results = {}
    for _ in range(rounds):
        for name, (scorer, chunk_size) in variants.items():
            start = time.process_time()
            results[name] = quality(scorer, chunk_size, *reports)
            seconds[name].append(time.process_time() - start)
    torch.testing.assert_close(results[FP32], results[ALONE], rtol=1e-4, atol=1e-4)
    speed = {name: pairs / min(values) for name, values in seconds.items()}
    words = sum(len(text.split()) for side in reports for text in side) / (2 * pairs)
    table = Table("variant", "pairs/s", "against pair by pair", title=f"{pairs} pairs, {words:.0f} words per report")
    for name, value in speed.items():
        table.add_row(name, f"{value:.1f}", f"{value / speed[ALONE]:.2f}")
    Console(width=100).print(table)
    fastest = max(speed, key=speed.__getitem__)
    parity = f"τ-b of quality {kendalltau(results[FP32], results[BF16]).statistic:.3f}" if BF16 in results else ""
    return [
        Figure(f"sentence-eval, {fastest}, reports of {words:.0f} words", speed[fastest], "pairs/s", parity, GOAL),
        Figure("sentence-eval, fp32, against pair by pair", speed[FP32] / speed[ALONE], parity="1e-4"),
    ]
