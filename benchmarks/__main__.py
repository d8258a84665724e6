"""`python -m benchmarks [name ...]`: run the named benchmarks, or all, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import benchmarks


def names() -> list[str]:
    """The benchmarks there are: the modules of this package."""
    return sorted(module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_"))


def run(chosen: Sequence[str]) -> int:
    """Run them in the order given, all where none is given; the exit code."""
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        print(f"Expected benchmarks of {', '.join(names())} but got {unknown[0]!r}.", file=sys.stderr)
        return 2
    for name in chosen or names():
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
