"""A comparison as tables: for the terminal, and as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from radreward.comparison.compare import METRICS, Comparison, Difference, MeanStd
from radreward.errors import InputError
from radreward.io.text_tables import (
    escape_markdown,
    format_number,
    format_signed,
    latex_table,
    markdown_table,
    terminal_table,
)

METRIC_TITLES = {"tau_b": "τ-b", "spearman": "ρ", "pair_accuracy": "pairs", "count_mae": "MAE"}
"""Kendall's τ-b, Spearman's ρ, pairs of one reference ordered right, absolute error of counts."""


class TableFiles(NamedTuple):
    """The files of a comparison."""

    csv: Path
    markdown: Path
    latex: Path


def metrics_table(comparison: Comparison, tag: str = "total") -> Table:
    """Arms with mean ± SD over their runs."""
    heads, rows = _metrics_rows(comparison, tag)
    return terminal_table(_title(tag), heads, rows)


def difference_table(comparison: Comparison, tag: str = "total") -> Table:
    """Arms against the baseline."""
    heads, rows = _difference_rows(comparison, tag)
    return terminal_table(
        f"{_title(tag)}, against {comparison.run_groups[comparison.baseline_index].name}", heads, rows
    )


def comparison_footnote(comparison: Comparison) -> str:
    """What the tables tell, and the test."""
    told = (
        f"{comparison.num_references} references with {comparison.num_candidates} candidates. Mean ± SD over runs. τ-b and ρ over all "
        "candidates; pairs: share of the pairs of one reference ordered right; MAE: absolute error of counts."
    )
    if len(comparison.run_groups) == 1:
        return told
    return (
        f"{told} Δ pairs: that share less the baseline's, with its bootstrap interval; p: sign-flip test, two-sided; "
        "Holm: p corrected for the number of tests. Both resample references, over which runs are averaged: they tell "
        "whether other references would show the same, the SD whether other seeds would."
    )


def write_comparison(comparison: Comparison, folder: Path) -> TableFiles:
    """Write comparison.csv, .md and .tex: the total, and every criterion.

    Raises:
        InputError: If they cannot be written.
    """
    written = TableFiles(*(folder / f"comparison.{end}" for end in ("csv", "md", "tex")))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(_to_long_format(comparison))
        written.markdown.write_text(_to_markdown(comparison), encoding="utf-8")
        written.latex.write_text(_to_latex(comparison), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return written


def _metrics_rows(comparison: Comparison, tag: str) -> tuple[list[str], list[list[str]]]:
    heads = ["", "runs", *(METRIC_TITLES[name] for name in METRICS)]
    rows = [
        [arm.name, str(len(arm.runs)), *(_format_mean_std(figures[name]) for name in METRICS)]
        for arm, figures in zip(comparison.run_groups, comparison.metrics[tag], strict=True)
    ]
    return heads, rows


def _difference_rows(comparison: Comparison, tag: str) -> tuple[list[str], list[list[str]]]:
    heads = ["", "Δ pairs", "95 %", "p", "Holm"]
    rows = [
        [arm.name, *_format_difference(entry)]
        for arm, entry in zip(comparison.run_groups, comparison.differences[tag], strict=True)
        if entry is not None
    ]
    return heads, rows


def _to_long_format(comparison: Comparison) -> list[list[object]]:
    """One row per criterion and arm, for a spreadsheet or a data frame; empty where not defined."""
    names = [f"{name}_{part}" for name in METRICS for part in MeanStd._fields]
    rows: list[list[object]] = [
        ["criterion", "arm", "runs", *names, *(f"difference_{part}" for part in Difference._fields), "folders"]
    ]
    for tag, figures in comparison.metrics.items():
        for arm, values, difference in zip(comparison.run_groups, figures, comparison.differences[tag], strict=True):
            spreads = [part for name in METRICS for part in values[name]]
            folders = " ".join(str(run.folder) for run in arm.runs)
            rows.append(
                [tag, arm.name, len(arm.runs), *spreads, *(difference or [None] * len(Difference._fields)), folders]
            )
    return rows


def _to_markdown(comparison: Comparison) -> str:
    parts = ["# Comparison", comparison_footnote(comparison)]
    for tag in sorted(comparison.metrics, key=lambda tag: tag != "total"):  # the total first
        parts.append(f"## {_title(tag)}")
        tables = [_metrics_rows(comparison, tag)]
        if len(comparison.run_groups) > 1:
            parts.append(
                f"Baseline of the differences: {escape_markdown(comparison.run_groups[comparison.baseline_index].name)}"
            )
            tables.append(_difference_rows(comparison, tag))
        parts += [markdown_table(*table) for table in tables]
    parts.append("## Runs")
    parts += [
        "\n".join(f"- {escape_markdown(arm.name)}: seed {run.seed}, `{run.folder}`" for run in arm.runs)
        for arm in comparison.run_groups
    ]
    return "\n\n".join(parts) + "\n"


def _to_latex(comparison: Comparison) -> str:
    r"""Tables for `\input`: figures and differences of the total, τ-b by criterion."""
    parts = [r"% \usepackage{booktabs}", latex_table(*_metrics_rows(comparison, "total"))]
    if len(comparison.run_groups) > 1:
        parts.append(latex_table(*_difference_rows(comparison, "total")))
    heads = ["", *(arm.name for arm in comparison.run_groups)]
    rows = [
        [_title(tag), *(_format_mean_std(entry["tau_b"]) for entry in comparison.metrics[tag])]
        for tag in comparison.metrics
    ]
    parts.append(latex_table(heads, rows))
    return "\n\n".join(parts) + "\n"


def _title(tag: str) -> str:
    return tag[:1].upper() + tag[1:].replace("_", " ")


def _format_mean_std(value: MeanStd) -> str:
    if value.mean is None:
        return "–"
    mean = format_number(value.mean)
    return mean if value.std is None else f"{mean} ± {value.std:.3f}"


def _format_difference(value: Difference) -> list[str]:
    if value.mean is None or value.low is None or value.high is None:
        return ["–"] * 4
    return [
        format_signed(value.mean),
        f"{format_signed(value.low)} to {format_signed(value.high)}",
        *("–" if p is None else f"{p:.4f}" for p in (value.p, value.p_holm)),
    ]
