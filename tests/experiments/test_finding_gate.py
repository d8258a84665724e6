"""Labels of the statements on which the gate of findings is measured, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.finding_gate.evaluate import coded_sentences, labelled_statements, main
from experiments.openi.studies import Study


def test_sentences_have_the_label_of_the_codes_of_their_study() -> None:
    studies = [
        Study("1", "Small pleural effusion. Heart is normal.", (("pleural effusion", "left"),)),
        Study("2", "Heart is normal. Clear lungs."),
    ]
    expected = {"Small pleural effusion.": True, "Heart is normal.": False, "Clear lungs.": False}
    assert coded_sentences(studies) == expected


def test_parts_have_no_statement_in_common() -> None:
    assert labelled_statements("development").keys().isdisjoint(labelled_statements("held out"))


def test_table_has_a_row_per_rule_and_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| labelled")]
    assert len(lines) == 20
    gate = [line.split(" | ") for line in lines if "| gate |" in line]
    assert all(float(row[5]) >= 0.65 and float(row[6].strip(" |")) <= 0.15 for row in gate)
    assert main(csv=tmp_path / "nowhere.csv") == 2
    assert "nowhere.csv" in capsys.readouterr().err
