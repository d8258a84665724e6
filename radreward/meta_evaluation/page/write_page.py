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
from radreward.meta_evaluation.page.json_script import embedded
from radreward.meta_evaluation.page.selection import Names, choose

FORMAT = 1
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
    if results.get("format") != FORMAT:
        raise InputError(f"{path}: expected results of format {FORMAT} but got {results.get('format')!r}.")
    names = Names(
        {entry["name"]: entry["higher_is_better"] for entry in results["scorers"] if entry["status"] == "ok"},
        {entry["name"]: entry["higher_is_better"] for entry in results["targets"]},
    )
    data = {"results": _rounded(results), **choose(rows, names)}
    sources = files("radreward.meta_evaluation.page")
    style = sources.joinpath("page.css").read_text(encoding="utf-8")
    parts = [sources.joinpath("js", f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    text = Template(sources.joinpath("template.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(results["title"]),
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'",
        style=style,
        data=embedded(data),
        script=script,
    )
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from error


def _digest(source: str) -> str:
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value
