"""What is told of fitted affinities: a heat map, a table and all numbers, in the folder of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.figure
from torch import Tensor

from radreward.modules.run_folder import write_json
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.optimizers import ConfidenceIntervals, CrossValidation, FitResult
from radreward.types import ENTITY_TYPES


class FitReport(NamedTuple):
    """A fit and what is known of it."""

    affinity: AffinityMatrix
    initial: AffinityMatrix
    type_pair_counts: Tensor
    """(5, 5): how often each type met each among the pairs that were fitted to."""
    intervals: ConfidenceIntervals | None
    cross_validation: CrossValidation
    fit: FitResult | None
    """None in a run that was continued after its fit."""


def plot_affinity(affinity: AffinityMatrix, type_pair_counts: Tensor) -> matplotlib.figure.Figure:
    """W by type of the entity (rows) and of its match (columns); in brackets how often the two met."""
    table = affinity.weight.detach()
    figure = matplotlib.figure.Figure(figsize=(7.5, 5.5), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(table.numpy(), cmap="viridis", vmin=0.0)
    places = range(len(ENTITY_TYPES))
    axis.set_xticks(places, ENTITY_TYPES, rotation=20)
    axis.set_yticks(places, ENTITY_TYPES)
    axis.set_xlabel("type of its match")
    axis.set_ylabel("type of the entity")
    axis.set_title(f"W; p = {affinity.penalty.item():.2f}")
    half = table.max().item() / 2
    for row in places:
        for column in places:
            value = table[row, column].item()
            color = "black" if value > half else "white"
            text = f"{value:.2f}\n({int(type_pair_counts[row, column])})"
            axis.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
    figure.colorbar(image)
    return figure


def write_fit_report(folder: Path, report: FitReport) -> None:
    """Write `affinity.png`, `affinity.md` and `affinity.json` into the folder of a run."""
    plot_affinity(report.affinity, report.type_pair_counts).savefig(folder / "affinity.png", dpi=150)
    (folder / "affinity.md").write_text(fit_report_markdown(report), encoding="utf-8")
    write_json(folder / "affinity.json", fit_report_dict(report))


def fit_report_dict(report: FitReport) -> dict[str, Any]:
    """All of it, for JSON."""
    intervals, fitted = report.intervals, report.fit
    return {
        "types": list(ENTITY_TYPES),
        "fitted": report.affinity.to_dict(),
        "start": report.initial.to_dict(),
        "matches": report.type_pair_counts.int().tolist(),
        "intervals": intervals
        and {"low": intervals.low.to_dict(), "high": intervals.high.to_dict(), "samples": intervals.n_resamples},
        "cross_validation": {"start": report.cross_validation.initial, "fitted": report.cross_validation.fitted},
        "fit": fitted
        and {
            "evaluations": fitted.evaluations,
            "seconds": fitted.seconds,
            "search_seconds": fitted.search_seconds,
            "steps": [step._asdict() for step in fitted.steps],
        },
    }


def fit_report_markdown(report: FitReport) -> str:
    """W with intervals as a table, p, and what the fit took."""
    lines = [f"| entity \\ match | {' | '.join(ENTITY_TYPES)} |", "| --- " * (len(ENTITY_TYPES) + 1) + "|"]
    for row, name in enumerate(ENTITY_TYPES):
        cells = [_format_cell(report, row, column) for column in range(len(ENTITY_TYPES))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    penalty = f"p = {report.affinity.penalty.item():.2f}"
    if report.intervals is not None:
        low, high = report.intervals.low.penalty.item(), report.intervals.high.penalty.item()
        penalty += f" [{low:.2f}, {high:.2f}]"
        lines += ["", f"In brackets 95 % of {report.intervals.n_resamples} fits to references drawn with replacement."]
    lines += ["", f"{penalty}. W has 1 as its largest entry; a dash marks types that never met."]
    start, fitted = (", ".join(f"{value:.3f}" for value in values) for values in report.cross_validation)
    lines += ["", f"Kendall's τ-b of folds left out: {fitted}; with the weights of the start {start}."]
    if report.fit is not None:
        fit = report.fit
        lines += [
            "",
            f"{fit.evaluations} evaluations in {fit.seconds:.2f} s, of which {fit.search_seconds:.2f} s were the "
            "method's own.",
        ]
    return "\n".join(lines) + "\n"


def _format_cell(report: FitReport, row: int, column: int) -> str:
    if not report.type_pair_counts[row, column]:
        return "–"
    value = f"{report.affinity.weight[row, column].item():.2f}"
    if report.intervals is None:
        return value
    low, high = (side.weight[row, column].item() for side in (report.intervals.low, report.intervals.high))
    return f"{value} [{low:.2f}, {high:.2f}]"
