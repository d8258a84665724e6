"""The page: a template, a style, scripts and what was found, in one file that needs nothing else."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from radreward.errors import InputError
from radreward.meta_evaluation.page.json_script import json_for_script
from radreward.meta_evaluation.page.selection import PageColumns, select_page_rows

PAGE_FORMAT = 1
SCRIPTS = (
    *("dom", "format", "tooltip", "heatmap", "table", "interval", "chart"),
    *("ranking", "significance", "raters", "scatter", "criteria", "systems", "preferences", "probes"),
    *("text_diff", "evidence", "disagreements", "scorers", "main"),
)
"""In this order: each uses those before it."""


def write_page(results: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write what a benchmark found as one HTML file without links to anything outside of it.

    Figures are rounded to five digits. Of the rows the file holds some points and the worst disagreements, and the page
    tells how many of how many. Nothing of the data is ever read as HTML: it lies in the file as JSON, the script
    writes it as text, and the page's policy allows no script but its own, no connection and no image.

    Args:
        results: As in `results.json`.
        rows: As in `rows.jsonl`; read once.
        path: The file to write.

    Raises:
        InputError: If the results have another format, or the file cannot be written.
        ValueError: If there is a number that JSON does not have: NaN or infinite.
    """
    if results.get("format") != PAGE_FORMAT:
        raise InputError(f"{path}: expected results of format {PAGE_FORMAT} but got {results.get('format')!r}.")
    names = PageColumns(
        {entry["name"]: entry["higher_is_better"] for entry in results["scorers"] if entry["status"] == "ok"},
        {entry["name"]: entry["higher_is_better"] for entry in results["targets"]},
    )
    data = {"results": _round_floats(results), **select_page_rows(rows, names)}
    sources = files("radreward.meta_evaluation.page")
    style = sources.joinpath("page.css").read_text(encoding="utf-8")
    parts = [sources.joinpath("js", f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    text = Template(sources.joinpath("template.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(results["title"]),
        policy=f"default-src 'none'; style-src '{_csp_hash(style)}'; script-src '{_csp_hash(script)}'; base-uri 'none'; "
        "form-action 'none'",
        style=style,
        data=json_for_script(data),
        script=script,
    )
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from error


def _csp_hash(source: str) -> str:
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: _round_floats(entry) for key, entry in value.items()}
    return [_round_floats(entry) for entry in value] if isinstance(value, list | tuple) else value
