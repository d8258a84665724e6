"""Peak memory of `radreward benchmark` for different numbers of rated pairs; it should hardly grow.

Each file is evaluated in a separate process, whose peak resident memory Linux reports. The metrics are cheap and the
reports are distinct random words. Texts stay in files, so that memory is that of numbers, bootstrap samples and pairs
of neighboring rows. Three raters count errors of six criteria; a case has four candidates.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks._figures import Figure
from benchmarks.score_memory import peak_memory
from radreward.meta_evaluation.rated_pairs import RatedPair
from radreward.meta_evaluation.rated_pairs_io import write_rated_pairs

SCORERS = ("rouge-l", "bleu-4")
SIZES = (200, 2_000, 50_000)
PER_CASE = 4
RATERS = ("one", "two", "three")
CRITERIA = ("addition", "omission", "location", "severity", "comparison", "change")
WORDS = (
    "heart",
    "lung",
    "left",
    "right",
    "clear",
    "small",
    "large",
    "new",
    "old",
    "line",
    "tube",
    "apex",
    "base",
    "no",
)
LENGTH = 40
"""Words per report."""


def pairs(number: int, seed: int = 0) -> Iterator[RatedPair]:
    """Yield candidates that change words of their reference, with raters who count approximately how many."""
    rng = np.random.default_rng(seed)
    for index in range(number):
        if index % PER_CASE == 0:
            words = [f"case {index}", *rng.choice(WORDS, LENGTH)]
        changed = int(rng.integers(0, 12))
        counts, significant = _counts(changed, rng), _counts(0, rng)
        candidate = " ".join([*words[: LENGTH - changed], *rng.choice(WORDS, changed)])
        yield RatedPair(
            id=f"r{index}",
            reference=" ".join(words),
            candidate=candidate,
            group=f"c{index // PER_CASE}",
            system=f"system {index % PER_CASE}",
            ratings={rater: float(12 - changed + rng.integers(0, 2)) for rater in RATERS},
            errors={rater: {tag: counts[rater][tag] + significant[rater][tag] for tag in CRITERIA} for rater in RATERS},
            significant_errors=significant,
        )


def _counts(errors: int, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    return {
        rater: dict(zip(CRITERIA, rng.poisson((errors + 0.5) / 6, len(CRITERIA)).astype(float).tolist(), strict=True))
        for rater in RATERS
    }


def measure(number: int, folder: Path) -> dict[str, Any]:
    """Evaluate a file of `number` pairs; return the results that are printed as JSON."""
    source = folder / f"rated-{number}.jsonl"
    write_rated_pairs(source, pairs(number))
    arguments = ["benchmark", f"--data={source}", f"--output={folder / f'out-{number}'}", "--scorers", *SCORERS]
    start = time.perf_counter()
    peak = peak_memory(arguments)
    return {"pairs": number, "file_bytes": source.stat().st_size, "bytes": peak, "s": time.perf_counter() - start}


def main(sizes: Sequence[int] = SIZES) -> list[Figure]:
    """Run and print the benchmark."""
    measured = []
    table = Table(
        "pairs", "file, MiB", "peak, MiB", "ratio to first", "s", title="Peak memory of `radreward benchmark`"
    )
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in sizes:
            results.append(result := measure(number, Path(folder)))
            result["ratio"] = result["bytes"] / results[0]["bytes"]
            size, peak = (f"{result[name] / 2**20:.0f}" for name in ("file_bytes", "bytes"))
            table.add_row(f"{number:,}", size, peak, f"{result['ratio']:.2f}", f"{result['s']:.0f}")
            print(json.dumps(result), flush=True)
            measured.append(Figure(f"peak memory of `benchmark`, {number:,} pairs", result["bytes"] / 2**20, "MiB"))
    Console(width=100).print(table)
    return measured
