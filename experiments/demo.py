"""The main job in small: make training data, train a reward model in two stages, measure it, score reports with it.

    python experiments/demo.py                          synthetic reports
    python experiments/demo.py --reports my.csv         your own reports (column `report`)

Every step is a `radreward` command, shown before it runs. All data and errors are SYNTHETIC; scores are for research.
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

CRITERIA = "radcliq-significance"
CONFIG = Path(__file__).parent / "er2score" / "embedded.yaml"
console = Console()


def run(*arguments: str) -> None:
    """A command as a user types it; the demo ends where it does."""
    console.print(f"\n[bold]$ radreward {' '.join(arguments)}[/bold]", soft_wrap=True, highlight=False)
    if code := radreward(list(arguments)):
        sys.exit(code)


def train(stage: str, out: Path, *synthesis: str, steps: int, start: Path | None = None) -> Path:
    """Make data and train on them, from the model of the stage before if there is one; the folder of the run."""
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
        "--overwrite=true",
        *([f"--start={start}"] if start else []),
    )
    return folder


def pairs_file(groups: Path, path: Path, references: int = 3) -> dict[str, float]:
    """Write pairs to score; the weighted number of known errors of each, by id."""
    criteria, known = load_criteria(CRITERIA), {}
    with path.open("w", encoding="utf-8") as file:
        for group in islice(read_groups(groups, criteria), references):
            for number, candidate in enumerate(group.candidates):
                name = f"{group.id}-{number}"
                known[name] = abs(
                    float(criteria.total_quality(criteria.quality(criteria.to_tensor(candidate.errors or {}))))
                )
                row = {"id": name, "reference": group.reference, "candidate": candidate.text}
                file.write(json.dumps(row) + "\n")
    return known


def scores_table(path: Path, known: dict[str, float]) -> Table:
    """Scores of a few candidates beside the errors that were made in them."""
    table = Table(title="Scores of single reports (higher is better)", title_justify="left")
    for name in ("id", "total", "most counted criterion", "weighted errors made"):
        table.add_column(name, justify="left" if name in ("id", "most counted criterion") else "right")
    for row in pq.read_table(path).to_pylist():
        counts = {name.removeprefix("count_"): row[name] for name in row if name.startswith("count_")}
        most = max(counts, key=lambda tag: counts[tag])
        most_told = f"{most.replace('_', ' ')} ({counts[most]:.1f})"
        table.add_row(row["id"], f"{row['total']:.2f}", most_told, f"{known[row['id']]:.2f}")
    return table


def agreement_table(results: dict[str, dict[str, Any]]) -> Table:
    """τ-b with the known errors, for each model, by criterion and in total."""
    title = "Held-out synthetic groups: τ-b of rewards with the errors that were made"
    table = Table("criterion", *results, title=title, title_justify="left")
    for tag in next(iter(results.values())):
        if tag == "total":
            table.add_section()
        values = (result[tag]["tau_b"] for result in results.values())
        table.add_row(tag.replace("_", " "), *("–" if value is None else f"{value:.2f}" for value in values))
    return table


def main() -> None:
    """Run the steps and show one table and where everything lies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", default=None, help="CSV, JSONL or Parquet of reports to make errors in")
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="folder of everything that comes out")
    options = parser.parse_args()
    began, out = time.monotonic(), options.output
    held_out = out / "held-out"
    run("synthesize", f"--criteria={CRITERIA}", "--groups=100", "--per-reference=4", "--seed=1", f"--output={held_out}")
    statements = train("statements", out, "--length=statement", "--per-reference=8", "--groups=1600", steps=200)
    own = [f"--reports={options.reports}"] if options.reports else []
    model = train("reports", out, "--groups=900", *own, steps=100, start=statements)
    results = {}
    for title, name in (("trained just now", str(model)), ("shipped: embedded", "embedded")):
        figures = out / f"{Path(name).name}.json"
        run("evaluate", f"--model={name}", f"--data={held_out / 'groups.parquet'}", f"--output={figures}")
        results[title] = json.loads(figures.read_text(encoding="utf-8"))["agreement"]
    known = pairs_file(held_out / "groups.parquet", out / "pairs.jsonl")
    scores = out / "scores.parquet"
    scores.unlink(missing_ok=True)
    run("score", f"--model={model}", f"--input={out / 'pairs.jsonl'}", f"--output={scores}")
    console.print(scores_table(scores, known))
    console.print(agreement_table(results))
    for what, path in (
        ("training data", ", ".join(str(path) for path in sorted(out.glob("*-data")))),
        ("trained model", model / "model"),
        ("scores", scores),
        ("TensorBoard", f"tensorboard --logdir {out}"),
    ):
        console.print(f"{what:<14} {path}", soft_wrap=True, highlight=False)
    console.print(f"\nSynthetic data, research only. {(time.monotonic() - began) / 60:.1f} minutes.")


if __name__ == "__main__":
    main()
