"""`python -m benchmarks [name ...]`: run the named benchmarks, or the suite, and print their figures and goals."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from rich.console import Console

import benchmarks
from benchmarks._figures import Figure, figures_table

SUITE = (
    *("training_speed", "gpu", "scoring_speed", "grpo_update", "ratescore_speed", "startup", "study_overhead"),
    *("bootstrap", "page_render", "chat_client", "synthesis_speed", "sentence_speed"),
)
"""Comparisons with peers and with goals; the other benchmarks are run by name."""


def benchmark_names() -> list[str]:
    """Return the names of all benchmarks, which are the public modules of this package."""
    return sorted(module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_"))


def run(names: Sequence[str]) -> int:
    """Run benchmarks in order, the suite if none is named, and print their figures.

    Returns:
        The exit code: 2 for an unknown name, 1 if a benchmark failed. The others run nevertheless.
    """
    unknown = sorted(set(names) - set(benchmark_names()))
    if unknown:
        print(f"Expected benchmarks of {', '.join(benchmark_names())} but got {unknown[0]!r}.", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    failed = False
    for name in names or SUITE:
        print(f"== {name}", flush=True)
        wall, processor = time.perf_counter(), sum(os.times()[:4])  # of this process and its children
        try:
            figures += import_module(f"benchmarks.{name}").main()
        except Exception as error:
            traceback.print_exc()
            figures.append(Figure(name, None, parity=f"FAILED: {error}"))
            failed = True
        wall, processor = time.perf_counter() - wall, sum(os.times()[:4]) - processor
        print(f"{name} took {wall:.0f} s, {processor:.0f} s of processor time", flush=True)
    Console(width=130, markup=False).print(figures_table(figures))
    return int(failed)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
