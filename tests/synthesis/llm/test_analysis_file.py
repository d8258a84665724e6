"""Analyses of a language model as target answers: looked up by pair, with the counts of the data."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.sft import CountsOnlyWriter
from radreward.errors import InputError
from radreward.synthesis.llm.analysis_file import AnalysisFileWriter
from radreward.systems.green import GreenTemplate

CRITERIA = RadCliQCriteria()
COUNTS = tuple(float(tag == "omission") for tag in CRITERIA.tags)
ROW: dict[str, Any] = {
    "id": "1",
    "reference": "Small effusion. No edema.",
    "candidate": "No edema.",
    "stated": [{"tag": "omission", "reference": "Small effusion.", "candidate": None, "description": ""}],
    "explanation": "The effusion is missing.",
    "matched_findings": ["No edema"],
}


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_analysis_of_a_pair_is_that_of_the_file(tmp_path: Path) -> None:
    writer = AnalysisFileWriter(write(tmp_path / "written.jsonl", ROW))
    analysis = writer.write("Small  effusion. No edema.", "No edema.", COUNTS, CRITERIA, Random(0))
    assert (analysis.error_counts, analysis.explanation) == (COUNTS, "The effusion is missing.")
    assert analysis.matched_findings == ("No edema",)
    assert dict(zip(CRITERIA.tags, analysis.error_texts, strict=True))["omission"] == ("Small effusion.",)
    answer = GreenTemplate().render_answer(analysis, CRITERIA)
    assert "The effusion is missing." in answer
    assert GreenTemplate().parse(answer, CRITERIA).values == COUNTS


def test_pair_without_analysis_is_written_by_the_fallback_or_raises(tmp_path: Path) -> None:
    file = write(tmp_path / "written.jsonl", ROW)
    with pytest.raises(InputError, match=r"written.jsonl: Expected an analysis of every pair .* 'Other.'"):
        AnalysisFileWriter([file]).write("Clear.", "Other.", COUNTS, CRITERIA, Random(0))
    analysis = AnalysisFileWriter(file, CountsOnlyWriter()).write("Clear.", "Other.", COUNTS, CRITERIA, Random(0))
    assert analysis.error_counts == COUNTS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stated": "x"}, "field 'stated': Expected JSON"),
        ({"stated": [{"tag": "omission"}]}, "field 'stated': Expected objects with tag"),
        ({"matched_findings": [1]}, "field 'matched_findings': Expected a list of texts"),
        ({"explanation": ""}, "field 'explanation': Expected a text that is not empty"),
    ],
)
def test_invalid_row_raises(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"row 1: {message}"):
        AnalysisFileWriter(write(tmp_path / "written.jsonl", ROW | change))
