"""Output files of a benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from radreward.io.atomic import atomic_file, write_text_file
from radreward.io.tables import write_csv
from radreward.io.text_tables import escape_markdown, latex_table, markdown_code, markdown_table
from radreward.meta_evaluation.benchmark import BenchmarkResult
from radreward.meta_evaluation.benchmark_tables import TextTable, all_tables, footnote, result_notes
from radreward.meta_evaluation.page.write_page import write_page


def write_benchmark(result: BenchmarkResult, output_dir: Path) -> list[Path]:
    """Write all output files of a benchmark and return their paths.

    Raises:
        InputError: If a file cannot be written.
    """
    results = result.to_dict()
    names = ("page.html", "table.md", "table.tex", "agreement.csv", "results.json", "rows.jsonl")
    paths = [output_dir / name for name in names]
    page, markdown, latex, agreement, summary, rows = paths
    write_text_file(summary, json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1) + "\n")
    with atomic_file(rows) as new, new.open("w", encoding="utf-8") as file:
        for row in result.rows():
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    # One column per field of an estimate: tau_b, tau_b_low, tau_b_high, …
    frame = pd.json_normalize(results["agreement"], sep="_").rename(columns=lambda name: name.removesuffix("_value"))
    write_csv(agreement, frame)
    tables = list(all_tables(results))
    write_text_file(markdown, _to_markdown(results, tables))
    write_text_file(latex, "\n\n".join([r"% \usepackage{booktabs}", *map(_to_latex, tables)]) + "\n")
    write_page(results, _read_result_rows(rows), page)
    return paths


def _read_result_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of `rows.jsonl`, one in memory at a time."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _to_markdown(results: Mapping[str, Any], tables: list[TextTable]) -> str:
    parts = [f"# {escape_markdown(results['title'])}", footnote(tables)]
    if results["synthetic"]:
        parts.append("**SYNTHETIC: a program generated and counted the errors; no radiologist rated these pairs.**")
    for table in tables:
        parts += [f"## {escape_markdown(table.title)}", markdown_table(table.frame)]
    notes = [f"- {escape_markdown(note)}" for note in result_notes(results)]
    settings = results["settings"]
    notes.append(
        f"- {settings['n_resamples']} bootstrap resamples, at most {settings['n_permutations']} permutations, "
        f"seed {settings['seed']}"
    )
    notes += [f"- {markdown_code(path)}: sha256 {digest}" for path, digest in results["data"]["files"].items()]
    return "\n\n".join([*parts, "## Notes", "\n".join(notes)]) + "\n"


def _to_latex(table: TextTable) -> str:
    return f"% {' '.join(table.title.split())}\n{latex_table(table.frame)}"
