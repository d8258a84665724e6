"""Agreement of the rules with sentences of which somebody else says what they state."""

import json
from pathlib import Path

import pytest

from experiments.reading import measure
from experiments.reading.measure import FILES, FOLDER, Stated, count_agreement, main, merged, parse_row, read_facts
from radreward.io.validated_rows import read_validated_rows

EFFUSION = {"finding": "effusion", "certainty": "present", "side": "left", "severity": "mild", "change": None}


def test_counts_are_of_findings_and_of_their_details() -> None:
    meant = merged(
        [("effusion", Stated("present", "left", "mild")), ("edema", Stated("absent")), ("ett", Stated("present"))]
    )
    [read] = read_facts(["Small right pleural effusion and a rib fracture."], with_names=False)
    counts = count_agreement(meant, read)
    assert [counts[name] for name in ("read", "missed", "added")] == [1, 1, 1]
    assert [counts[f"equal {name}"] for name in ("certainty", "side", "severity", "change")] == [1, 0, 1, 1]


def test_a_device_has_no_side() -> None:
    picc = {"picc": Stated("present", "right")}
    assert "side" not in count_agreement(picc, {"picc": Stated("present")})


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_valid_and_no_sentence_is_repeated(name: str) -> None:
    rows = [row for _, row in read_validated_rows(FOLDER / f"{name}.jsonl", parse_row)]
    assert len({text for text, _ in rows}) == len(rows) >= 200
    assert all(facts for _, facts in rows)


def test_table_has_two_rows_per_file_and_names_add_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in FILES:  # half of the sentences show what the table has
        lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"{name}.jsonl").write_text("".join(lines[::2]), encoding="utf-8")
    monkeypatch.setattr(measure, "FOLDER", tmp_path)
    assert main() == 0
    header, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert header.count("|") == 11
    assert [row.split()[1] for row in rows] == [name for name in FILES for _ in range(2)]
    recalls = [[float(cell) for cell in row.split("|")[4:6]] for row in rows]
    assert all(0.5 < recall < precision < 1 for recall, precision in recalls)
    assert all(rules[0] <= both[0] for rules, both in zip(recalls[::2], recalls[1::2], strict=True))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("effusion", "Expected a list of objects as facts"),
        ([EFFUSION | {"finding": "lamp"}], "Expected a known finding and certainty"),
        ([EFFUSION | {"certainty": "maybe"}], "Expected a known finding and certainty"),
    ],
)
def test_invalid_row_is_one_line(
    facts: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "FOLDER", tmp_path)
    (tmp_path / "first.jsonl").write_text(json.dumps({"text": "Small left effusion.", "facts": facts}) + "\n")
    assert main() == 2
    assert f"first.jsonl, row 1: {message}" in capsys.readouterr().err
