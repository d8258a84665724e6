"""`python -m soak [--scale 0.01] [job ...]`: run the named jobs, or all of them, and print one table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import soak
from radreward.io.text_tables import escape_markdown
from soak import Outcome


def job_names() -> list[str]:
    """Return the names of all jobs, which are the public modules of this package."""
    return sorted(module.name for module in iter_modules(soak.__path__) if not module.name.startswith("_"))


def main(arguments: Sequence[str]) -> int:
    """Run jobs in order and print their outcomes; return 1 if too few of anything survived."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=soak.__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 for the full run")
    parser.add_argument("jobs", nargs="*", metavar="job", help="jobs to run; all of them by default")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.jobs) - set(job_names())):
        parser.error(f"Expected jobs of {', '.join(job_names())} but got {unknown[0]!r}.")
    outcomes: list[Outcome] = []
    for name in options.jobs or job_names():
        print(f"== {name}", flush=True)
        for outcome in import_module(f"soak.{name}").run(options.scale):
            outcomes.append(outcome)
            print(f"{outcome.name}: {outcome.survived} of {outcome.tried} survived {outcome.note}".rstrip(), flush=True)
    print("\n| promise | cases | result | largest deviation | note |\n| --- | ---: | --- | ---: | --- |")
    for outcome in outcomes:
        deviation = f"{outcome.deviation:.3f}" if outcome.deviation else "none"
        cells = outcome.name, f"{outcome.tried:,}", outcome.result, deviation, escape_markdown(outcome.note)
        print(f"| {' | '.join(cells)} |")
    return int(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
