"""Test of the script that writes groups of real reports, whose command line is tested with the README."""

from pathlib import Path
from typing import Any

import pytest

from experiments.openi.groups import main
from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups


def test_openi_groups_writes_train_and_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{n},{'Opacity/lung/left' if n % 2 else 'normal'},Film {n}.,\n" for n in range(100)]
    (tmp_path / "reports.csv").write_text("uid,MeSH,findings,impression\n" + "".join(rows))
    files: dict[str, Any] = {"csv": str(tmp_path / "reports.csv"), "output": str(tmp_path / "out")}
    assert main(**files, groups=20) == 0
    written = [str(tmp_path / "out" / "train.parquet"), str(tmp_path / "out" / "test.parquet")]
    assert capsys.readouterr().out.split() == written
    assert len(list(read_groups(tmp_path / "out" / "train.parquet", RadCliQCriteria()))) == 16
    assert main(**files, groups=20, criteria="mrscore") == 2
    error = capsys.readouterr().err
    assert error.startswith("Expected criteria that codes can count")
    assert error.count("\n") == 1
