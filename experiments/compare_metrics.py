"""Compare all metrics that run offline by their agreement with known errors, on one page.

python -m experiments.compare_metrics                              SYNTHETIC reports and errors
python -m experiments.compare_metrics --csv indiana_reports.csv    also Open-i reports, with errors from expert codes

Each step is a `radreward` command, printed before it runs. For research only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from experiments.openi.studies import write_coded_groups
from radreward.cli import main as radreward
from radreward.criteria import RadCliQCriteria

METRICS = (
    *("er2score", "ratescore", "sentence-eval"),
    *("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-1", "rouge-2", "rouge-l", "chrf", "meteor", "cider"),
    *("bertscore", "entity-f1", "chexpert-f1"),
)
SEED = 11  # no shipped model was trained on data of this seed
CANDIDATES = 4
console = Console()


def run(*arguments: str) -> None:
    """Run a command as typed by a user, and exit if it fails; `benchmark` may leave pairs without a score."""
    console.print(f"\n[bold]$ radreward {' '.join(arguments)}[/bold]", soft_wrap=True, highlight=False)
    if radreward(list(arguments)) > (arguments[0] == "benchmark"):
        sys.exit(2)


def run_benchmark(groups: Path, output: Path, *options: str) -> Path:
    """Benchmark all metrics on the candidates of report groups, and return the page."""
    rated = output / "rated.jsonl"
    run("convert", f"--input={groups}", "--from=groups", f"--output={rated}")
    run("benchmark", f"--data={rated}", f"--output={output}", *options, "--scorers", *METRICS)
    return output / "page.html"


def main(arguments: list[str] | None = None) -> None:
    """Create report groups, run the metrics and print the paths of the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, default=None, help="Open-i reports with uid, MeSH, findings, impression")
    parser.add_argument("--groups", type=int, default=100, help="number of references, with four candidates each")
    parser.add_argument("--probes", type=int, default=30, help="number of reports for sensitivity tests")
    parser.add_argument("--output", type=Path, default=Path("runs/metrics"), help="output folder")
    options = parser.parse_args(arguments)
    pages, data = [], options.output / "generated"
    run(
        "synthesize",
        "--criteria=radcliq",
        f"--groups={options.groups}",
        f"--per-reference={CANDIDATES}",
        f"--seed={SEED}",
        f"--output={data}",
    )
    pages.append(run_benchmark(data, options.output / "generated-benchmark", f"--probes={options.probes}"))
    if options.csv:
        folder = options.output / "openi"
        _, groups = write_coded_groups(options.csv, folder, RadCliQCriteria(), 5 * options.groups, CANDIDATES)
        pages.append(run_benchmark(groups, options.output / "openi-benchmark"))
    console.print("\nPages:", *pages, soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
