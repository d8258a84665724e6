"""Comparison tables for the terminal, CSV, Markdown and LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from radreward.io.atomic import write_text_file
from radreward.io.tables import write_csv
from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import (
    escape_markdown,
    format_number,
    format_p_value,
    format_signed,
    latex_table,
    markdown_code,
    markdown_table,
    text_frame,
)
from radreward.tuning.comparison import METRICS, MIN_REFERENCES, Comparison, Difference, MeanStd

METRIC_TITLES = {"tau_b": "τ-b", "spearman": "ρ", "pair_accuracy": "pairs", "count_mae": "MAE"}
"""Kendall's τ-b, Spearman's ρ, share of concordant pairs within references, mean absolute error of counts."""


class TableFiles(NamedTuple):
    """Files of a comparison."""

    csv: Path
    markdown: Path
    latex: Path


def metrics_table(comparison: Comparison, tag: str = "total") -> TerminalTable:
    """Return the table of groups with mean ± SD over their runs."""
    return TerminalTable(_title(tag), _metrics_frame(comparison, tag))


def difference_table(comparison: Comparison, tag: str = "total") -> TerminalTable:
    """Return the table of groups against the baseline."""
    baseline = comparison.run_groups[comparison.baseline_index].name
    return TerminalTable(f"{_title(tag)}, against {baseline}", _difference_frame(comparison, tag))


def comparison_footnote(comparison: Comparison) -> str:
    """Return the explanation of the columns and the test."""
    columns = (
        f"{comparison.num_references} references with {comparison.num_candidates} candidates. Mean ± SD over runs. "
        "τ-b and ρ: over all candidates; pairs: share of concordant pairs among candidates of one reference; MAE: mean "
        "absolute error of counts."
    )
    if len(comparison.run_groups) == 1:
        return columns
    return (
        f"{columns} Δ pairs: share of concordant pairs minus that of the baseline, with its bootstrap interval; p: "
        "two-sided sign-flip test; Holm: p corrected for the number of tests. References: those with candidates that "
        f"differ in the criterion; with fewer than {MIN_REFERENCES}, no difference can be shown (–). Interval and test "
        "resample references, with runs averaged: they show the variation over references, the SD shows the variation "
        "over seeds."
    )


def write_comparison(comparison: Comparison, folder: Path) -> TableFiles:
    """Write comparison.csv, .md and .tex with the total and every criterion.

    Raises:
        InputError: If a file cannot be written.
    """
    files = TableFiles(*(folder / f"comparison.{suffix}" for suffix in ("csv", "md", "tex")))
    write_csv(files.csv, _long_frame(comparison))
    write_text_file(files.markdown, _to_markdown(comparison))
    write_text_file(files.latex, _to_latex(comparison))
    return files


def _metrics_frame(comparison: Comparison, tag: str) -> pd.DataFrame:
    rows = [
        [group.name, len(group.runs), *(_format_mean_std(metrics[name]) for name in METRICS)]
        for group, metrics in zip(comparison.run_groups, comparison.metrics[tag], strict=True)
    ]
    return text_frame(["", "runs", *(METRIC_TITLES[name] for name in METRICS)], rows)


def _difference_frame(comparison: Comparison, tag: str) -> pd.DataFrame:
    rows = [
        [group.name, *_format_difference(difference)]
        for group, difference in zip(comparison.run_groups, comparison.differences[tag], strict=True)
        if difference is not None
    ]
    return text_frame(["", "references", "Δ pairs", "95 %", "p", "Holm"], rows)


def _long_frame(comparison: Comparison) -> pd.DataFrame:
    """Return one row per criterion and group. Undefined values are missing."""
    rows = []
    for tag, by_group in comparison.metrics.items():
        for group, metrics, difference in zip(
            comparison.run_groups, by_group, comparison.differences[tag], strict=True
        ):
            row: dict[str, object] = {"criterion": tag, "run_group": group.name, "runs": len(group.runs)}
            for name in METRICS:
                row |= {f"{name}_{part}": value for part, value in metrics[name]._asdict().items()}
            parts = difference._asdict() if difference else dict.fromkeys(Difference._fields)
            row |= {f"difference_{part}": value for part, value in parts.items()}
            rows.append({**row, "folders": " ".join(str(run.folder) for run in group.runs)})
    return pd.DataFrame(rows)


def _to_markdown(comparison: Comparison) -> str:
    parts = ["# Comparison", comparison_footnote(comparison)]
    for tag in sorted(comparison.metrics, key=lambda tag: tag != "total"):  # the total first
        parts += [f"## {_title(tag)}", markdown_table(_metrics_frame(comparison, tag))]
        if len(comparison.run_groups) > 1:
            baseline = comparison.run_groups[comparison.baseline_index].name
            parts.append(f"Baseline of the differences: {escape_markdown(baseline)}")
            parts.append(markdown_table(_difference_frame(comparison, tag)))
    parts.append("## Runs")
    parts += [
        "\n".join(
            f"- {escape_markdown(group.name)}: seed {run.seed}, {markdown_code(str(run.folder))}" for run in group.runs
        )
        for group in comparison.run_groups
    ]
    return "\n\n".join(parts) + "\n"


def _to_latex(comparison: Comparison) -> str:
    r"""Return tables for `\input`: metrics and differences of the total, and τ-b by criterion."""
    parts = [r"% \usepackage{booktabs}", latex_table(_metrics_frame(comparison, "total"))]
    if len(comparison.run_groups) > 1:
        parts.append(latex_table(_difference_frame(comparison, "total")))
    rows = [
        [_title(tag), *(_format_mean_std(metrics["tau_b"]) for metrics in by_group)]
        for tag, by_group in comparison.metrics.items()
    ]
    parts.append(latex_table(text_frame(["", *(group.name for group in comparison.run_groups)], rows)))
    return "\n\n".join(parts) + "\n"


def _title(tag: str) -> str:
    return tag[:1].upper() + tag[1:].replace("_", " ")


def _format_mean_std(value: MeanStd) -> str:
    mean = format_number(value.mean)
    return mean if value.std is None else f"{mean} ± {value.std:.3f}"


def _format_difference(value: Difference) -> list[str]:
    if value.mean is None or value.low is None or value.high is None:
        return [str(value.references), *["–"] * 4]
    interval = f"{format_signed(value.low)} to {format_signed(value.high)}"
    p_values = format_p_value(value.p), format_p_value(value.p_holm)
    return [str(value.references), format_signed(value.mean), interval, *p_values]
