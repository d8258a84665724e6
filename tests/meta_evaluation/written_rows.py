"""Files of rows for tests of readers."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write rows as CSV, with lists and mappings as JSON, or as JSONL, and return the path."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            for row in rows:
                cells = {key: json.dumps(cell) if isinstance(cell, dict | list) else cell for key, cell in row.items()}
                writer.writerow(cells)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
