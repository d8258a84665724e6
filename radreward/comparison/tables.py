"""A comparison as tables: for the terminal, and as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from radreward.comparison.compare import MEASURES, Comparison, Difference, Spread
from radreward.errors import InputError
from radreward.io.text_tables import latex_table, markdown_table, markdown_text, plain, signed, terminal_table

HEADS = {"tau_b": "τ-b", "spearman": "ρ", "pair_accuracy": "pairs", "count_mae": "MAE"}
"""Kendall's τ-b, Spearman's ρ, pairs of one reference ordered right, absolute error of counts."""


class Written(NamedTuple):
    """The files of a comparison."""

    csv: Path
    markdown: Path
    latex: Path


def figure_table(found: Comparison, tag: str = "total") -> Table:
    """Arms with mean ± SD over their runs."""
    heads, rows = _figures(found, tag)
    return terminal_table(_title(tag), heads, rows)


def difference_table(found: Comparison, tag: str = "total") -> Table:
    """Arms against the baseline."""
    heads, rows = _differences(found, tag)
    return terminal_table(f"{_title(tag)}, against {found.arms[found.baseline].name}", heads, rows)


def legend(found: Comparison) -> str:
    """What the tables tell, and the test."""
    told = (
        f"{found.references} references with {found.candidates} candidates. Mean ± SD over runs. τ-b and ρ over all "
        "candidates; pairs: share of the pairs of one reference ordered right; MAE: absolute error of counts."
    )
    if len(found.arms) == 1:
        return told
    return (
        f"{told} Δ pairs: that share less the baseline's, with its bootstrap interval; p: sign-flip test, two-sided; "
        "Holm: p corrected for the number of tests. Both resample references, over which runs are averaged: they tell "
        "whether other references would show the same, the SD whether other seeds would."
    )


def write_comparison(found: Comparison, folder: Path) -> Written:
    """Write comparison.csv, .md and .tex: the total, and every criterion.

    Raises:
        InputError: If they cannot be written.
    """
    written = Written(*(folder / f"comparison.{end}" for end in ("csv", "md", "tex")))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(_long(found))
        written.markdown.write_text(_markdown(found), encoding="utf-8")
        written.latex.write_text(_latex(found), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror}).") from error
    return written


def _figures(found: Comparison, tag: str) -> tuple[list[str], list[list[str]]]:
    heads = ["", "runs", *(HEADS[name] for name in MEASURES)]
    rows = [
        [arm.name, str(len(arm.runs)), *(_spread(figures[name]) for name in MEASURES)]
        for arm, figures in zip(found.arms, found.figures[tag], strict=True)
    ]
    return heads, rows


def _differences(found: Comparison, tag: str) -> tuple[list[str], list[list[str]]]:
    heads = ["", "Δ pairs", "95 %", "p", "Holm"]
    rows = [
        [arm.name, *_difference(entry)]
        for arm, entry in zip(found.arms, found.differences[tag], strict=True)
        if entry is not None
    ]
    return heads, rows


def _long(found: Comparison) -> list[list[object]]:
    """One row per criterion and arm, for a spreadsheet or a data frame; empty where not defined."""
    names = [f"{name}_{part}" for name in MEASURES for part in Spread._fields]
    rows: list[list[object]] = [
        ["criterion", "arm", "runs", *names, *(f"difference_{part}" for part in Difference._fields), "folders"]
    ]
    for tag, figures in found.figures.items():
        for arm, values, difference in zip(found.arms, figures, found.differences[tag], strict=True):
            spreads = [part for name in MEASURES for part in values[name]]
            folders = " ".join(str(run.folder) for run in arm.runs)
            rows.append(
                [tag, arm.name, len(arm.runs), *spreads, *(difference or [None] * len(Difference._fields)), folders]
            )
    return rows


def _markdown(found: Comparison) -> str:
    parts = ["# Comparison", legend(found)]
    for tag in sorted(found.figures, key=lambda tag: tag != "total"):  # the total first
        parts.append(f"## {_title(tag)}")
        tables = [_figures(found, tag)]
        if len(found.arms) > 1:
            parts.append(f"Baseline of the differences: {markdown_text(found.arms[found.baseline].name)}")
            tables.append(_differences(found, tag))
        parts += [markdown_table(*table) for table in tables]
    parts.append("## Runs")
    parts += [
        "\n".join(f"- {markdown_text(arm.name)}: seed {run.seed}, `{run.folder}`" for run in arm.runs)
        for arm in found.arms
    ]
    return "\n\n".join(parts) + "\n"


def _latex(found: Comparison) -> str:
    r"""Tables for `\input`: figures and differences of the total, τ-b by criterion."""
    parts = [r"% \usepackage{booktabs}", latex_table(*_figures(found, "total"))]
    if len(found.arms) > 1:
        parts.append(latex_table(*_differences(found, "total")))
    heads = ["", *(arm.name for arm in found.arms)]
    rows = [[_title(tag), *(_spread(entry["tau_b"]) for entry in found.figures[tag])] for tag in found.figures]
    parts.append(latex_table(heads, rows))
    return "\n\n".join(parts) + "\n"


def _title(tag: str) -> str:
    return tag[:1].upper() + tag[1:].replace("_", " ")


def _spread(value: Spread) -> str:
    if value.mean is None:
        return "–"
    mean = plain(value.mean)
    return mean if value.sd is None else f"{mean} ± {value.sd:.3f}"


def _difference(value: Difference) -> list[str]:
    if value.mean is None or value.low is None or value.high is None:
        return ["–"] * 4
    return [
        signed(value.mean),
        f"{signed(value.low)} to {signed(value.high)}",
        *("–" if p is None else f"{p:.4f}" for p in (value.p, value.holm)),
    ]
