"""Assertions that are read, and their mistakes."""

from pathlib import Path

import pytest

from experiments.reading import assertions
from experiments.reading.assertions import MISTAKES, LabelledText, main, measures, parse_row
from radreward.io.validated_rows import RowError


def test_mistakes_are_counted_by_kind_and_unread_ones_are_no_wrong_text() -> None:
    texts = [
        LabelledText("No edema. Left effusion.", {"edema": "present", "effusion": "absent"}),
        LabelledText("Odd lines.", {"scar": "present"}),
        LabelledText("Evaluate for pneumonia. Possible mass.", {"pneumonia": "unstated", "mass": "uncertain"}),
        LabelledText("Pneumonia. Mass.", {"pneumonia": "unstated", "mass": "uncertain"}),
    ]
    assert measures(texts) == ["4", "7", *"11111", "2"]


@pytest.mark.parametrize(
    "row", [{"text": "Scar."}, {"text": "Scar.", "assertions": {"odd": "present"}}, {"assertions": {"scar": "odd"}}]
)
def test_invalid_rows_are_refused(row: dict[str, object]) -> None:
    with pytest.raises(RowError, match="Expected"):
        parse_row(row)


def test_table_has_a_row_per_file_and_a_damaged_file_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main() == 0
    title, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert all(kind in title for kind in MISTAKES)
    assert [row.split("|")[1].strip() for row in rows] == ["first", "second"]
    (tmp_path / "assertions_first.jsonl").write_text('{"text": "Scar."}\n')
    monkeypatch.setattr(assertions, "FOLDER", tmp_path)
    assert main() == 2
    assert "assertions_first.jsonl" in capsys.readouterr().err
