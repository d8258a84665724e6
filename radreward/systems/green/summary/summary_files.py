"""Files of a summary."""

from __future__ import annotations

import json
from pathlib import Path

from radreward.io.atomic import write_text_file
from radreward.systems.green.summary.html import summary_html
from radreward.systems.green.summary.markdown import summary_markdown
from radreward.systems.green.summary.summary import ErrorSummary

_FILE_NAMES = ("summary.html", "summary.md", "summary.json")


def write_summary(summary: ErrorSummary, folder: str | Path) -> list[Path]:
    """Write summary.html, summary.md and summary.json, and return their paths.

    Raises:
        InputError: If a file cannot be written.
    """
    data = json.dumps(summary.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    paths = [Path(folder) / name for name in _FILE_NAMES]
    for path, text in zip(paths, (summary_html(summary), summary_markdown(summary), data), strict=True):
        write_text_file(path, text)
    return paths
