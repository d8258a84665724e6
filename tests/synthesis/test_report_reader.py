"""Tests of the report reader: columns used, rows skipped, and errors that name the file, row and field."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.synthesis import synthesize_files
from radreward.synthesis.report_reader import ReportTexts, read_reports
from radreward.text.normalization import MAX_REPORT_CHARS


def _csv(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "my.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("id,words\n1,No edema.\n", ["a column report, reference, text, or findings and impression", "id, words"]),
        ("report\nNo edema.\n", ["at least two reports", "got 1"]),
        ("report\n\n", ["at least two reports", "got 0"]),
        (b"report\nNo edema.\n\xff\xfe scar.\n", ["row 2", "'report'", "UTF-8"]),
        ("report\nNo edema.\nScar.,more\n", ["row 2", "as many fields"]),
        (
            f"report\nNo edema.\n{'a ' * MAX_REPORT_CHARS}\n",
            ["row 2", "'report'", f"at most {MAX_REPORT_CHARS} characters"],
        ),
    ],
)
def test_read_reports_unusable_reports_raise(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    path = _csv(tmp_path, content)
    with pytest.raises(InputError) as error:
        synthesize_files(tmp_path / "out", RadCliQCriteria(), 2, reports=path)
    message = str(error.value)
    assert "\n" not in message
    assert all(part in message for part in [str(path), *parts]), message
    assert not (tmp_path / "out" / "groups.parquet").exists()


@pytest.mark.parametrize("value", [float("nan"), 3.0])
def test_read_reports_number_raises(tmp_path: Path, value: float) -> None:
    path = tmp_path / "my.parquet"
    pq.write_table(pa.table({"report": [1.0, value]}), path)
    with pytest.raises(InputError, match=r"my\.parquet, row 1, field 'report': Expected text but got 1\.0"):
        read_reports(path)
    lines = [json.dumps({"report": "No edema."}), json.dumps({"report": value})]
    path = tmp_path / "my.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=rf"my\.jsonl, row 2, field 'report': Expected text but got {value}"):
        read_reports(path)


def test_read_reports_invalid_utf8_raises(tmp_path: Path) -> None:
    path = tmp_path / "my.jsonl"
    path.write_text('{"report": "No edema."}\n{"report": "Scar \\ud800."}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"my\.jsonl, row 2, field 'report': Expected UTF-8 text"):
        read_reports(path)


def test_read_reports_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        read_reports(tmp_path / "none.csv")


def test_read_reports_skips_empty_rows_and_joins_sections(tmp_path: Path) -> None:
    path = _csv(tmp_path, 'findings,impression\n"No  edema.\nScar.",\n,\n,Scoliosis.\nNo mass.,Scar.\n')
    assert read_reports(path) == ReportTexts(["No edema. Scar.", "Scoliosis.", "No mass. Scar."], [2])


def test_read_reports_uses_given_column(tmp_path: Path) -> None:
    path = _csv(tmp_path, "report,other\nScar.,No edema.\nScar.,No mass.\n")
    assert read_reports(path, "other").texts == ["No edema.", "No mass."]
    with pytest.raises(InputError, match=r"Expected a column none but got report, other"):
        read_reports(path, "none")
