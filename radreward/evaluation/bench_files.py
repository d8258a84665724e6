"""The files of a bench."""

from __future__ import annotations

import json
from pathlib import Path

from radreward.evaluation.bench import Bench


def write_bench(bench: Bench, folder: Path) -> list[Path]:
    """Write everything; the paths of what was written."""
    results = folder / "results.json"
    results.write_text(
        json.dumps(bench.as_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8"
    )
    return [results]
