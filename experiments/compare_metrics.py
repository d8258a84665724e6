"""Which metric to trust? Every metric that runs offline, against known errors, on one page.

python experiments/compare_metrics.py                              SYNTHETIC reports and errors
python experiments/compare_metrics.py --csv indiana_reports.csv    and Open-i reports, errors counted from expert codes

Every step is a `radreward` command, shown before it runs. Scores are for research.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from radreward.cli import main as radreward
from radreward.criteria import RadCliQCriteria
from radreward.data.readers.openi import write_coded_groups

METRICS = (
    *("er2score", "ratescore", "sentence-eval"),
    *("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-1", "rouge-2", "rouge-l", "chrf", "meteor", "cider"),
    *("bertscore", "entity-f1", "chexpert-f1"),
)
SEED = 11  # no model here was trained on data of this one
console = Console()


def run(*arguments: str) -> None:
    """A command as a user types it; the script ends where it does, but for scores that single pairs have not."""
    console.print(f"\n[bold]$ radreward {' '.join(arguments)}[/bold]", soft_wrap=True, highlight=False)
    if radreward(list(arguments)) > (arguments[0] == "benchmark"):
        sys.exit(2)


def bench(groups: Path, out: Path, *options: str) -> Path:
    """Every metric on the candidates of some groups; the page."""
    rated = out / "rated.jsonl"
    run("convert", str(groups), "--from=groups", f"--output={rated}")
    run("benchmark", f"--data={rated}", f"--output={out}", *options, "--scorers", *METRICS)
    return out / "page.html"


def main(arguments: list[str] | None = None) -> None:
    """Make groups, run the metrics, say where the pages are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, default=None, help="Open-i reports with uid, MeSH, findings, impression")
    parser.add_argument("--groups", type=int, default=100, help="references, with four candidates each")
    parser.add_argument("--probes", type=int, default=30, help="reports that are edited to see what metrics notice")
    parser.add_argument("--output", type=Path, default=Path("runs/metrics"), help="folder of everything that comes out")
    options = parser.parse_args(arguments)
    pages, data = [], options.output / "generated"
    run(
        "synthesize",
        "--criteria=radcliq",
        f"--groups={options.groups}",
        "--per-reference=4",
        f"--seed={SEED}",
        f"--output={data}",
    )
    pages.append(bench(data, options.output / "generated-bench", f"--probes={options.probes}"))
    if options.csv:
        _, coded = write_coded_groups(options.csv, options.output / "openi", RadCliQCriteria(), 5 * options.groups, 4)
        pages.append(bench(coded, options.output / "openi-bench"))
    console.print("\nPages:", *pages, soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
