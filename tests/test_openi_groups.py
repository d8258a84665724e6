"""Test of the script that writes groups of real reports, run as a command."""

import subprocess
import sys
from pathlib import Path

from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "openi_groups.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_openi_groups_writes_train_and_test(tmp_path: Path) -> None:
    rows = [f"{n},{'Opacity/lung/left' if n % 2 else 'normal'},Film {n}.,\n" for n in range(100)]
    (tmp_path / "reports.csv").write_text("uid,MeSH,findings,impression\n" + "".join(rows))
    arguments = ("--csv", str(tmp_path / "reports.csv"), "--output", str(tmp_path / "out"), "--groups", "20")
    result = run(*arguments)
    assert (result.returncode, result.stdout.split()) == (
        0,
        [str(tmp_path / "out" / "train.parquet"), str(tmp_path / "out" / "test.parquet")],
    )
    assert len(list(read_groups(tmp_path / "out" / "train.parquet", RadCliQCriteria()))) == 16
    failed = run(*arguments, "--criteria", "mrscore")
    assert failed.returncode == 2
    assert failed.stderr.startswith("Expected criteria that codes can count")
    assert failed.stderr.count("\n") == 1
