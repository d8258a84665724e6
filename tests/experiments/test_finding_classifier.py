"""Statements that the classifier is fitted to and measured on, and the tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from experiments.finding_classifier import recognition
from experiments.finding_classifier.descriptions import (
    WRITERS,
    described_findings,
    other_statements,
    plain_statements,
)
from experiments.finding_classifier.evaluate import coded_sentences, labelled_statements, main
from experiments.finding_classifier.statements import (
    ANY,
    PROSE_KINDS,
    generate_statements,
    known_names,
    statements_version,
)
from experiments.openi.studies import Study
from radreward.models.finding_classifier import OTHER
from radreward.text.findings import FINDINGS


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
    classifier = [line.split(" | ") for line in lines if "| classifier |" in line]
    assert all(float(row[5]) >= 0.88 and float(row[6].strip(" |")) <= 0.13 for row in classifier)
    assert main(csv=tmp_path / "nowhere.csv") == 2
    assert "nowhere.csv" in capsys.readouterr().err


def test_every_finding_is_described_by_all_writers_and_no_text_occurs_twice() -> None:
    described = [described_findings(writer) for writer in WRITERS]
    for texts in described:
        counts = Counter(texts.values())
        assert counts.keys() == FINDINGS.keys()
        assert min(counts.values()) >= 12
    statements = [plain_statements(writer) for writer in WRITERS]
    parts = (*described, *statements, other_statements())
    distinct = {text.lower().rstrip(".") for part in parts for text in part}
    assert len(distinct) == sum(map(len, parts))
    assert distinct.isdisjoint(name.rstrip(".") for name in known_names())


def test_table_of_recognition_has_shares_for_each_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert recognition.main(every=600, steps=2) == 0
    *_, header, _, first, second = capsys.readouterr().out.strip().splitlines()
    assert header.count("|") == len(recognition.COLUMNS) + 1
    for row in (first, second):
        probable, near, taken, other = (float(cell) for cell in row.split("|")[2:-1])
        assert taken <= probable <= 1
        assert taken + other <= 1
        assert probable <= near <= 1


def test_names_in_sentences_and_descriptions_have_the_finding_and_no_text_occurs_twice() -> None:
    statements = generate_statements(3)
    found = {entry.text: entry.finding for entry in statements}
    assert found["The right lung has come away from the rib cage at the top."] == "pneumothorax"
    assert found["effusion"] == "effusion"
    assert {entry.finding for entry in statements if entry.kind == "name in a sentence"} <= FINDINGS.keys()
    assert {entry.finding for entry in statements if entry.kind in PROSE_KINDS} == {""}
    filled = [entry for entry in statements if entry.kind == "finding"]
    assert all(entry.finding for entry in filled)
    assert {ANY} < {entry.finding for entry in filled} <= {ANY, *FINDINGS}
    assert {entry.kind for entry in statements if entry.finding == OTHER} == {"other finding"}
    assert len({entry.text.lower() for entry in statements}) == len(statements)
    assert statements_version(statements) != statements_version(statements[1:])
