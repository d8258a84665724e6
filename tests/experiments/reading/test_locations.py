"""Places of findings that are read, and their measurement."""

from pathlib import Path

import pytest

from experiments.reading import locations
from experiments.reading.locations import FILES, FOLDER, LocatedFinding, count_locations, main, parse_row
from radreward.io.validated_rows import RowError, read_validated_rows


def test_unread_findings_are_left_out_and_a_missing_location_is_none() -> None:
    meant = [LocatedFinding("effusion", None), LocatedFinding("scar", "left"), LocatedFinding("mass", "right")]
    assert count_locations([("Effusion. Scar on the right.", meant)]) == (2, 1)


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_valid_and_no_sentence_is_repeated(name: str) -> None:
    rows = [row for _, row in read_validated_rows(FOLDER / f"locations_{name}.jsonl", parse_row)]
    assert len({text for text, _ in rows}) == len(rows) >= 260
    assert all(facts for _, facts in rows)


@pytest.mark.parametrize(
    "fact", [{"finding": "lamp", "location": "left"}, {"finding": "scar", "location": "attic"}, "scar"]
)
def test_invalid_rows_are_refused(fact: object) -> None:
    with pytest.raises(RowError, match="Expected"):
        parse_row({"text": "Scar.", "facts": [fact]})


def test_table_has_a_row_per_file_and_a_damaged_file_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main() == 0
    *_, first, second = capsys.readouterr().out.strip().splitlines()
    assert [row.split("|")[1].strip() for row in (first, second)] == ["first", "second"]
    assert all(0.75 < float(row.strip(" |").split("|")[-1]) <= 1 for row in (first, second))
    (tmp_path / "locations_first.jsonl").write_text('{"text": "Scar."}\n')
    monkeypatch.setattr(locations, "FOLDER", tmp_path)
    assert main() == 2
    assert "locations_first.jsonl" in capsys.readouterr().err
