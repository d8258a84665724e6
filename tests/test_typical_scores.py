"""Test of the script that prints typical totals and qualities, run as a command."""

import subprocess
import sys
from pathlib import Path

from radreward.data.records import write_groups
from radreward.types import Candidate, ReportGroup

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "typical_scores.py"


def test_typical_scores_are_listed_by_the_number_of_errors(tmp_path: Path) -> None:
    candidates = [
        Candidate("Left effusion. Atelectasis.", {"omission": 0.0}),
        Candidate("Left effusion.", {"omission": 1.0}),
        Candidate("No acute disease.", {"omission": 2.0}),
    ]
    path = tmp_path / "groups.jsonl"
    write_groups(path, [ReportGroup("a", "Left effusion, atelectasis.", tuple(candidates))])
    command = [sys.executable, str(SCRIPT), "--data", str(path), "--scorers", "chexpert-f1", "rouge-l"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in result.stdout.splitlines()]
    assert rows[0] == ["", "pairs", "chexpert-f1, total", "chexpert-f1, quality", "rouge-l, total"]
    assert [row[0] for row in rows[2:]] == ["the reference itself", "no error", "1 error", "2 errors"]
    assert [row[3].split()[0] for row in rows[2:]] == ["1.00", "1.00", "0.75", "0.25"]
    failed = subprocess.run([*command[:-1], "no-such"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stderr.count("\n") == 1
