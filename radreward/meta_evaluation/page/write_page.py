"""Write the benchmark page: all results in one self-contained file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.atomic import write_text_file
from radreward.io.pages.html_page import build_page
from radreward.meta_evaluation.page.selection import PageColumns, select_page_rows
from radreward.meta_evaluation.result_rows import RESULTS_FORMAT

SCRIPTS = (
    "results", "tooltip", "heatmap", "table", "interval", "chart",
    "ranking", "significance", "raters", "scatter", "criteria", "systems", "preferences", "probes",
    "evidence", "disagreements", "scorers", "main",
)  # fmt: skip
"""Scripts in loading order: each may use those before it and the shared ones."""


def write_page(results: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write benchmark results as one HTML file without external links.

    Numbers are rounded to five digits. The page shows a sample of the points and only the largest disagreements, and
    states how many there are in all. Data are never parsed as HTML: they are stored as JSON, scripts insert them as
    text, and the content security policy forbids other scripts, connections and images.

    Args:
        results: As in `results.json`.
        rows: As in `rows.jsonl`, read once.
        path: The file to write.

    Raises:
        InputError: If the results have another format, or the file cannot be written.
        ValueError: If a number is NaN or infinite.
    """
    if results.get("format") != RESULTS_FORMAT:
        raise InputError(f"{path}: Expected results of format {RESULTS_FORMAT} but got {results.get('format')!r}.")
    columns = PageColumns(
        {entry["name"]: entry["higher_is_better"] for entry in results["scorers"] if entry["status"] == "ok"},
        {entry["name"]: entry["higher_is_better"] for entry in results["targets"]},
    )
    data = {"results": _round_floats(results), **select_page_rows(rows, columns)}
    page = build_page(results["title"], data, files("radreward.meta_evaluation.page"), SCRIPTS)
    write_text_file(path, page.text)


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: _round_floats(entry) for key, entry in value.items()}
    return [_round_floats(entry) for entry in value] if isinstance(value, list | tuple) else value
