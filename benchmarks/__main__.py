"""`python -m benchmarks [name ...]`: run the named benchmarks, or all of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def benchmark_names() -> list[str]:
    """Return the names of all benchmarks, which are the public modules of this package."""
    return sorted(module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_"))


def run(names: Sequence[str]) -> int:
    """Run benchmarks in order, all of them if none is named; return the exit code."""
    unknown = sorted(set(names) - set(benchmark_names()))
    if unknown:
        print(f"Expected benchmarks of {', '.join(benchmark_names())} but got {unknown[0]!r}.", file=sys.stderr)
        return 2
    for name in names or benchmark_names():
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
