"""Peak memory of `radreward benchmark` over rated pairs of different numbers: it must hardly grow with them.

Each file is judged by a process of its own, whose peak of resident memory Linux tells. The metrics are cheap and the
reports are random words, all different, so that what is measured is rows, ratings and draws. Three raters count errors
by six criteria; a case has four candidates.
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

from benchmarks.score_memory import peak_of
from radreward.meta_evaluation.rated_pairs_io import RatedPair, write_rated_pairs

SCORERS = ("rouge-l", "bleu-4")
SIZES = (1_000, 10_000, 50_000)
PER_CASE = 4
RATERS = ("one", "two", "three")
CRITERIA = ("addition", "omission", "place", "degree", "comparison", "change")
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
"""Words of a report."""


def pairs(number: int, seed: int = 0) -> Iterator[RatedPair]:
    """Candidates that change words of their reference, and raters who count roughly how many."""
    rng = np.random.default_rng(seed)
    for index in range(number):
        if index % PER_CASE == 0:
            words = [f"case {index}", *rng.choice(WORDS, LENGTH)]
        changed = int(rng.integers(0, 12))
        counts, significant = _counts(changed, rng), _counts(0, rng)
        candidate = " ".join([*words[: LENGTH - changed], *rng.choice(WORDS, changed)])
        yield RatedPair(
            f"r{index}",
            " ".join(words),
            candidate,
            f"c{index // PER_CASE}",
            f"system {index % PER_CASE}",
            {rater: float(12 - changed + rng.integers(0, 2)) for rater in RATERS},
            {rater: {tag: counts[rater][tag] + significant[rater][tag] for tag in CRITERIA} for rater in RATERS},
            significant,
        )


def _counts(errors: int, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    return {
        rater: dict(zip(CRITERIA, rng.poisson((errors + 0.5) / 6, len(CRITERIA)).astype(float).tolist(), strict=True))
        for rater in RATERS
    }


def measure(number: int, folder: Path) -> dict[str, Any]:
    """Judge a file of so many pairs: what is printed as a line of JSON."""
    source = folder / f"rated-{number}.jsonl"
    write_rated_pairs(source, pairs(number))
    arguments = ["benchmark", f"--data={source}", f"--output={folder / f'out-{number}'}", "--scorers", *SCORERS]
    begin = time.perf_counter()
    found = peak_of(arguments)
    return {"pairs": number, "file_bytes": source.stat().st_size, "bytes": found, "s": time.perf_counter() - begin}


def main(sizes: Sequence[int] = SIZES) -> None:
    """Measure and print."""
    printed = Table(
        "pairs", "file, MiB", "peak, MiB", "of the first", "s", title="Peak memory of `radreward benchmark`"
    )
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in sizes:
            results.append(found := measure(number, Path(folder)))
            found["ratio"] = found["bytes"] / results[0]["bytes"]
            size, most = (f"{found[name] / 2**20:.0f}" for name in ("file_bytes", "bytes"))
            printed.add_row(f"{number:,}", size, most, f"{found['ratio']:.2f}", f"{found['s']:.0f}")
            print(json.dumps(found), flush=True)
    Console(width=100).print(printed)


if __name__ == "__main__":
    main()
