"""The main job on small data: score; then synthesize, train a reward model in two stages, evaluate it, score with it.

    python experiments/demo.py                          synthetic reports
    python experiments/demo.py --reports my.csv         your own reports (column `report`)

Every step is a `radreward` command, printed before it runs. All data and errors are SYNTHETIC; scores are for research.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from radreward.cli import main as radreward
from radreward.criteria import load_criteria
from radreward.data.records import read_groups
from radreward.io.atomic import atomic_file
from radreward.models.precision import has_bfloat16_products
from radreward.scorers import load

CRITERIA = "radcliq-significance"
CONFIG = Path(__file__).parent / "er2score" / "embedded.yaml"
console = Console()


REFERENCE = "Moderate left pleural effusion. No pneumothorax. The heart is mildly enlarged."
CANDIDATES = (
    "Moderate effusion on the left. Mild cardiomegaly.",
    "Small left pleural effusion. Mild cardiomegaly.",
    "Clear lungs. Left pneumothorax. Normal heart size.",
)


def example_table() -> Table:
    """Return scores of three made-up reports by the shipped model."""
    scorer = load("er2score")
    scores = scorer.score([REFERENCE] * len(CANDIDATES), CANDIDATES)
    if scorer.criteria is None or scores.error_counts is None or scores.quality is None:
        raise RuntimeError("Expected the shipped model to count errors and to have a quality.")
    table = Table(
        "candidate", "total", "quality", "Expected errors", title=f"Reference: {REFERENCE}", title_justify="left"
    )
    columns = (scores.total.tolist(), scores.quality.tolist(), scores.error_counts.tolist())
    for text, total, quality, row in zip(CANDIDATES, *columns, strict=True):
        errors = [
            f"{tag.replace('_', ' ')} {n:.1f}" for tag, n in zip(scorer.criteria.tags, row, strict=True) if n >= 0.5
        ]
        table.add_row(text, f"{total:z.1f}", f"{quality:.2f}", ", ".join(errors) or "none")
    return table


def run(*arguments: str) -> None:
    """Run a command as a user types it; exit if it fails."""
    console.print(f"\n[bold]$ radreward {' '.join(arguments)}[/bold]", soft_wrap=True, highlight=False)
    if code := radreward(list(arguments)):
        sys.exit(code)


def train(stage: str, out: Path, *synthesis: str, steps: int, init_from: Path | None = None) -> Path:
    """Synthesize data and train on them, optionally from the weights of an earlier stage; return the run's folder."""
    data, folder = out / f"{stage}-data", out / stage
    run("synthesize", f"--criteria={CRITERIA}", "--seed=0", f"--output={data}", *synthesis)
    run(
        "fit",
        f"--config={CONFIG}",
        f"--run-dir={folder}",
        f"--data.records={data / 'groups.parquet'}",
        "--data.val_split=0.05",
        f"--trainer.max_steps={steps}",
        f"--trainer.val_check_interval={steps}",
        *(["--trainer.precision=bf16-mixed"] if has_bfloat16_products() else []),
        "--overwrite",
        *([f"--init-from={init_from}"] if init_from else []),
    )
    return folder


def write_pairs(groups: Path, path: Path, references: int = 3) -> dict[str, float]:
    """Write pairs to score; return their weighted numbers of errors by id."""
    criteria = load_criteria(CRITERIA)
    weighted_errors: dict[str, float] = {}
    with atomic_file(path) as new, new.open("w", encoding="utf-8") as file:
        for group in islice(read_groups(groups, criteria), references):
            for number, candidate in enumerate(group.candidates):
                pair_id = f"{group.id}-{number}"
                targets = criteria.target_rewards(criteria.to_tensor(candidate.errors or {}))
                weighted_errors[pair_id] = abs(float(criteria.total(targets)))
                row = {"id": pair_id, "reference": group.reference, "candidate": candidate.text}
                file.write(json.dumps(row) + "\n")
    return weighted_errors


def scores_table(path: Path, weighted_errors: dict[str, float]) -> Table:
    """Return a table of scores beside the errors that were injected."""
    table = Table(title="Scores of single reports (higher is better)", title_justify="left")
    for name in ("id", "total", "largest count", "weighted errors injected"):
        table.add_column(name, justify="left" if name in ("id", "largest count") else "right")
    for row in pq.read_table(path).to_pylist():
        counts = {name.removeprefix("count_"): row[name] for name in row if name.startswith("count_")}
        largest = max(counts, key=lambda tag: counts[tag])
        cell = f"{largest.replace('_', ' ')} ({counts[largest]:.1f})"
        table.add_row(row["id"], f"{row['total']:z.2f}", cell, f"{weighted_errors[row['id']]:.2f}")
    return table


def agreement_table(results: dict[str, dict[str, Any]]) -> Table:
    """Return a table of τ-b with the injected errors, per criterion and model."""
    title = "Held-out synthetic groups: τ-b of rewards with the injected errors"
    table = Table("criterion", *results, title=title, title_justify="left")
    for tag in next(iter(results.values())):
        if tag == "total":
            table.add_section()
        values = (result[tag]["tau_b"] for result in results.values())
        table.add_row(tag.replace("_", " "), *("–" if value is None else f"{value:.2f}" for value in values))
    return table


def main() -> None:
    """Run all steps, then print the tables and all paths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--reports", default=None, help="file of reports to perturb, in the formats that `radreward score` reads"
    )
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="folder of all output")
    options = parser.parse_args()
    start, out = time.monotonic(), options.output
    console.print(example_table())
    console.print("Higher is better. The shipped model is er2score; now a smaller one is trained, in a few minutes.")
    held_out = out / "held-out"
    run("synthesize", f"--criteria={CRITERIA}", "--groups=60", "--per-reference=4", "--seed=1", f"--output={held_out}")
    statements = train("statements", out, "--granularity=statement", "--per-reference=8", "--groups=600", steps=65)
    reports = [f"--reports={options.reports}"] if options.reports else []
    model = train("reports", out, "--groups=300", *reports, steps=30, init_from=statements)
    results = {}
    for title, name in (("trained now", str(model)), ("shipped: er2score", "er2score")):
        metrics = out / f"{Path(name).name}.json"
        run("evaluate", f"--scorer={name}", f"--data={held_out / 'groups.parquet'}", f"--output={metrics}")
        results[title] = json.loads(metrics.read_text(encoding="utf-8"))["agreement"]
    weighted_errors = write_pairs(held_out / "groups.parquet", out / "pairs.jsonl")
    scores = out / "scores.parquet"
    scores.unlink(missing_ok=True)
    run("score", f"--scorers={model}", f"--input={out / 'pairs.jsonl'}", f"--output={scores}")
    console.print(scores_table(scores, weighted_errors))
    console.print(agreement_table(results))
    for name, path in (
        ("training data", ", ".join(str(path) for path in sorted(out.glob("*-data")))),
        ("trained model", model / "model"),
        ("scores", scores),
        ("TensorBoard", f"tensorboard --logdir {out}"),
    ):
        console.print(f"{name:<14} {path}", soft_wrap=True, highlight=False)
    console.print(
        "\nNext: `radreward score --input FILE --output FILE` scores your own pairs;\n"
        "docs/choose-a-metric.md compares metrics on your ratings;\n"
        "docs/losses.md trains with a loss of your own.\n"
        f"Synthetic data, for research only. {(time.monotonic() - start) / 60:.1f} minutes."
    )


if __name__ == "__main__":
    main()
