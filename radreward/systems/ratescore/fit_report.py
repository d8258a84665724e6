"""Report of a fit of W and p: heat map, Markdown table and all numbers as JSON, in the run folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.figure
import numpy as np
from torch import Tensor

from radreward.io.artifacts import write_json
from radreward.io.atomic import atomic_file, write_text_file
from radreward.io.text_tables import markdown_table, text_frame
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.fit_evaluation import ConfidenceIntervals, CrossValidation
from radreward.systems.ratescore.fitting.optimizers import FitResult
from radreward.types import ENTITY_TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """A fit and its evaluation."""

    affinity: AffinityMatrix
    """Fitted W and p."""
    initial: AffinityMatrix
    type_pair_counts: Tensor
    """(5, 5) number of matches of each pair of types in the training pairs."""
    intervals: ConfidenceIntervals | None
    """Bootstrap intervals; None if not requested."""
    cross_validation: CrossValidation | None
    """None if W and p were given."""
    fit: FitResult


def plot_affinity(affinity: AffinityMatrix, type_pair_counts: Tensor) -> matplotlib.figure.Figure:
    """Plot W by type of the entity (rows) and of its match (columns), with the number of matches in parentheses.

    Cells of types that never matched are grey; their values have no meaning and do not set the scale.
    """
    table, matched = affinity.weight.detach().numpy(), type_pair_counts.numpy() > 0
    highest = table[matched].max() if matched.any() else 1.0
    colors = matplotlib.colormaps["viridis"].with_extremes(bad="lightgrey")
    figure = matplotlib.figure.Figure(figsize=(7.5, 5.5), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(np.where(matched, table, np.nan), cmap=colors, vmin=0.0, vmax=highest)
    types = range(len(ENTITY_TYPES))
    axis.set_xticks(types, ENTITY_TYPES, rotation=20)
    axis.set_yticks(types, ENTITY_TYPES)
    axis.set_xlabel("type of its match")
    axis.set_ylabel("type of the entity")
    axis.set_title(f"W; p = {affinity.penalty.item():.2f}")
    for row in types:
        for column in types:
            value = f"{table[row, column]:.2f}" if matched[row, column] else "–"
            text = f"{value}\n({int(type_pair_counts[row, column])})"
            color = "white" if matched[row, column] and table[row, column] <= highest / 2 else "black"
            axis.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
    figure.colorbar(image)
    return figure


def write_fit_report(folder: Path, report: FitReport) -> None:
    """Write `affinity.png`, `affinity.md` and `affinity.json` to a run folder."""
    with atomic_file(folder / "affinity.png") as new:
        plot_affinity(report.affinity, report.type_pair_counts).savefig(new, dpi=150)
    write_text_file(folder / "affinity.md", fit_report_markdown(report))
    write_json(folder / "affinity.json", _fit_report_dict(report))


def _fit_report_dict(report: FitReport) -> dict[str, Any]:
    """Return all numbers of a report, for JSON."""
    intervals, fit = report.intervals, report.fit
    return {
        "types": list(ENTITY_TYPES),
        "fitted": report.affinity.to_dict(),
        "initial": report.initial.to_dict(),
        "type_pair_counts": report.type_pair_counts.int().tolist(),
        "intervals": intervals
        and {"low": intervals.low.to_dict(), "high": intervals.high.to_dict(), "n_resamples": intervals.n_resamples},
        "cross_validation": report.cross_validation and report.cross_validation._asdict(),
        "fit": {
            "evaluations": fit.evaluations,
            "seconds": fit.seconds,
            "search_seconds": fit.search_seconds,
            "steps": [step._asdict() for step in fit.steps],
        },
    }


def fit_report_markdown(report: FitReport) -> str:
    """Return W with intervals as a table, p, and cross-validation and duration of the fit, if W and p were fitted."""
    rows = [
        [name, *(_format_cell(report, row, column) for column in range(len(ENTITY_TYPES)))]
        for row, name in enumerate(ENTITY_TYPES)
    ]
    paragraphs = [markdown_table(text_frame(["entity \\ match", *ENTITY_TYPES], rows), escape=str)]
    penalty = f"p = {report.affinity.penalty.item():.2f}"
    if report.intervals is not None:
        low, high = report.intervals.low.penalty.item(), report.intervals.high.penalty.item()
        penalty += f" [{low:.2f}, {high:.2f}]"
        paragraphs.append(f"In brackets: 95 % intervals of {report.intervals.n_resamples} bootstrap fits.")
    paragraphs.append(f"{penalty}. W is scaled to a maximum of 1; a dash marks types that never matched.")
    if report.cross_validation is None:
        paragraphs.append("W and p were given: no fold is held out.")
    else:
        initial, fitted = (", ".join(f"{tau:.3f}" for tau in taus) for taus in report.cross_validation)
        paragraphs.append(f"Kendall's τ-b of held-out folds: {fitted}; with the initial weights: {initial}.")
        fit = report.fit
        seconds = f"{fit.seconds:.2f} s; {fit.search_seconds:.2f} s of them in the optimizer"
        paragraphs.append(f"{fit.evaluations} evaluations in {seconds}.")
    return "\n\n".join(paragraphs) + "\n"


def _format_cell(report: FitReport, row: int, column: int) -> str:
    if not report.type_pair_counts[row, column]:
        return "–"
    value = f"{report.affinity.weight[row, column].item():.2f}"
    if report.intervals is None:
        return value
    low, high = (side.weight[row, column].item() for side in (report.intervals.low, report.intervals.high))
    return f"{value} [{low:.2f}, {high:.2f}]"
