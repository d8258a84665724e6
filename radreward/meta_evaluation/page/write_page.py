"""Writer of the benchmark page: template, style, scripts and results in one self-contained file."""

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
from radreward.io.atomic import write_text_file
from radreward.meta_evaluation.page.json_script import json_for_script
from radreward.meta_evaluation.page.selection import PageColumns, select_page_rows

PAGE_FORMAT = 2
SCRIPTS = (
    *("dom", "format", "tooltip", "heatmap", "table", "interval", "chart"),
    *("ranking", "significance", "raters", "scatter", "criteria", "systems", "preferences", "probes"),
    *("text_diff", "evidence", "disagreements", "scorers", "main"),
)
"""Scripts in the order of the page: each uses those before it."""


def write_page(results: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write benchmark results as one HTML file without external links.

    Numbers are rounded to five digits. The file holds a sample of the points and the largest disagreements, and states
    the totals. Data are never parsed as HTML: they are stored as JSON, the script inserts them as text, and the
    content security policy forbids other scripts, connections and images.

    Args:
        results: As in `results.json`.
        rows: As in `rows.jsonl`; read once.
        path: The file to write.

    Raises:
        InputError: If the results have another format, or the file cannot be written.
        ValueError: If a number is NaN or infinite.
    """
    if results.get("format") != PAGE_FORMAT:
        raise InputError(f"{path}: expected results of format {PAGE_FORMAT} but got {results.get('format')!r}.")
    columns = PageColumns(
        {entry["name"]: entry["higher_is_better"] for entry in results["scorers"] if entry["status"] == "ok"},
        {entry["name"]: entry["higher_is_better"] for entry in results["targets"]},
    )
    data = {"results": _round_floats(results), **select_page_rows(rows, columns)}
    sources = files("radreward.meta_evaluation.page")
    style = sources.joinpath("page.css").read_text(encoding="utf-8")
    scripts = [sources.joinpath("js", f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(scripts) + "})();\n"
    policy = (
        f"default-src 'none'; style-src '{_csp_hash(style)}'; script-src '{_csp_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    text = Template(sources.joinpath("template.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(results["title"]), policy=policy, style=style, data=json_for_script(data), script=script
    )
    write_text_file(path, text)


def _csp_hash(source: str) -> str:
    """Return the hash of an inline script or style for the content security policy."""
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: _round_floats(entry) for key, entry in value.items()}
    return [_round_floats(entry) for entry in value] if isinstance(value, list | tuple) else value
