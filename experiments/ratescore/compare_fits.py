"""Compare fits of RaTEScore's W and p: runs of `fit`, and the best trial of a study.

python experiments/ratescore/compare_fits.py runs/affinity runs/affinity-tpe
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from radreward.io.artifacts import read_json


def fit_rows(folder: Path) -> dict[str, tuple[Any, float, int]]:
    """Return the held-out agreement, the seconds and the number of evaluated W and p, by fit.

    The time of a run is that of its optimizer; the time of a study is that of all its trials.
    """
    trials = [read_json(path) for path in sorted(folder.glob("trials/*/trial.json"))]
    if not trials:
        fit = read_json(folder / "affinity.json")["fit"]
        agreement = read_json(folder / "metrics.json")["agreement"]
        presets = {f"published, {name}": (agreement[name], 0.0, 0) for name in ("long", "short")}
        return {**presets, folder.name: (agreement["total"], fit["seconds"], fit["evaluations"])}
    best = max((trial for trial in trials if trial["state"] == "complete"), key=lambda trial: trial["value"])
    agreement = read_json(folder / "trials" / str(best["number"]) / "metrics.json")["agreement"]["total"]
    return {
        f"{folder.name}, trial {best['number']}": (agreement, sum(trial["seconds"] for trial in trials), len(trials))
    }


def main() -> None:
    """Print one row per fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of runs or studies on the same pairs")
    options = parser.parse_args()
    rows = {name: row for folder in options.folders for name, row in fit_rows(folder).items()}
    table = Table("fit", "τ-b", "ρ", "pairs", "evaluations", "seconds")
    for name, (agreement, seconds, evaluations) in rows.items():
        metrics = (f"{agreement[key]:.3f}" for key in ("tau_b", "spearman", "pair_accuracy"))
        table.add_row(name, *metrics, str(evaluations), f"{seconds:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
