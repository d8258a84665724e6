"""The files of a bench."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.io.text_tables import escape_markdown, latex_table, markdown_table
from radreward.meta_evaluation.benchmark import BenchmarkResult
from radreward.meta_evaluation.benchmark_tables import FOOTNOTE, TextTable, all_tables, result_notes
from radreward.meta_evaluation.page import write_page
from radreward.meta_evaluation.statistics.correlations import CORRELATIONS, Estimate


def write_benchmark(result: BenchmarkResult, output_dir: Path) -> list[Path]:
    """Write results.json, rows.jsonl, agreement.csv, table.md, table.tex and page.html; the paths of what was written.

    Raises:
        OSError: If they cannot be written.
    """
    results = result.to_dict()
    names = ("page.html", "table.md", "table.tex", "agreement.csv", "results.json", "rows.jsonl")
    page, markdown, latex, agreement, figures, rows = (output_dir / name for name in names)
    text = json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1)
    figures.write_text(text + "\n", encoding="utf-8")
    with rows.open("w", encoding="utf-8") as file:
        for row in result.rows():
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    with agreement.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows(_agreement_rows(results))
    made = list(all_tables(results))
    markdown.write_text(_to_markdown(results, made), encoding="utf-8")
    latex.write_text("\n\n".join([r"% \usepackage{booktabs}", *map(_to_latex, made)]) + "\n", encoding="utf-8")
    write_page(results, read_result_rows(rows), page)
    return [page, markdown, latex, agreement, figures, rows]


def read_result_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of rows.jsonl, one at a time."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _agreement_rows(results: Mapping[str, Any]) -> Iterator[list[Any]]:
    yield [
        *("scorer", "target", "scope", "n", "cases"),
        *(f"{name}_{part}" if part != "value" else name for name in CORRELATIONS for part in Estimate._fields),
        "note",
    ]
    for row in results["agreement"]:
        figures = [row[name][part] for name in CORRELATIONS for part in Estimate._fields]
        yield [row["scorer"], row["target"], row["scope"], row["n"], row["cases"], *figures, row["note"]]


def _to_markdown(results: Mapping[str, Any], made: list[TextTable]) -> str:
    parts = [f"# {escape_markdown(results['title'])}", FOOTNOTE]
    if results["synthetic"]:
        parts.append("**SYNTHETIC: errors were made and counted by rules; nobody rated these pairs.**")
    for table in made:
        parts += [f"## {escape_markdown(table.title)}", markdown_table(table.columns, table.rows)]
    told = [f"- {escape_markdown(note)}" for note in result_notes(results)]
    settings = results["settings"]
    told.append(f"- {settings['bootstrap']} draws of cases, seed {settings['seed']}")
    told += [f"- `{path}`: sha256 {digest}" for path, digest in results["data"]["files"].items()]
    return "\n\n".join([*parts, "## Notes", "\n".join(told)]) + "\n"


def _to_latex(table: TextTable) -> str:
    return f"% {' '.join(table.title.split())}\n{latex_table(table.columns, table.rows)}"
