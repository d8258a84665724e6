"""Test of the script that prints typical totals and qualities."""

import runpy
from pathlib import Path

import pytest

from radreward.data.records import write_groups
from radreward.types import Candidate, ReportGroup

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "typical_scores.py"


def test_typical_scores_are_listed_by_the_number_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    candidates = [
        Candidate("Left effusion. Atelectasis.", {"omission": 0.0}),
        Candidate("Left effusion.", {"omission": 1.0}),
        Candidate("No acute disease.", {"omission": 2.0}),
    ]
    path = tmp_path / "groups.jsonl"
    write_groups(path, [ReportGroup("a", "Left effusion, atelectasis.", tuple(candidates))])
    codes = []
    for scorer in ("rouge-l", "no-such"):
        monkeypatch.setattr("sys.argv", [str(SCRIPT), "--data", str(path), "--scorers", "chexpert-f1", scorer])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        codes.append(end.value.code)
    assert codes == [0, 2]
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.out.splitlines()]
    assert rows[0] == ["", "pairs", "chexpert-f1 (total)", "chexpert-f1 (quality)", "rouge-l (total)"]
    assert [row[0] for row in rows[2:]] == ["the reference itself", "no error", "1 error", "2 errors"]
    assert [row[3].split()[0] for row in rows[2:]] == ["1.00", "1.00", "0.75", "0.25"]
