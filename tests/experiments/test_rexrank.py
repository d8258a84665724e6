"""ReXrank's metrics from made-up files in the leaderboard's format."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments import rexrank
from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.radcliq import RadCliQBLEU2

STUDIES: dict[str, dict[str, Any]] = {
    "1": {
        "section_findings": "Small left effusion.",
        "section_impression": "Effusion.",
        "model_prediction": "Effusion.",
    },
    "2": {"section_findings": math.nan, "section_impression": "No edema.", "model_prediction": "No edema."},
    "3": {"findings": "Clear lungs.", "impression": None, "model_prediction": "Clear.", "context": "<context>"},
}


class WithoutModel(RadCliQBLEU2):
    """A scorer that loads its model when a report is scored, like RadGraph."""

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        raise InputError("no model")


def write(path: Path, studies: dict[str, Any]) -> Path:
    path.write_text(json.dumps(studies))
    return path


def test_read_predictions_joins_sections_and_leaves_out_missing_ones(tmp_path: Path) -> None:
    rows = rexrank.read_predictions(write(tmp_path / "prediction.json", STUDIES))
    assert [row["reference"] for row in rows] == [
        *("Findings: Small left effusion. Impression: Effusion.", "Impression: No edema.", "Findings: Clear lungs.")
    ]
    assert [row["id"] for row in rows] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("studies", "message"),
    [
        ({}, "Expected at least one study"),
        ({"1": []}, "study '1': Expected an object but got list"),
        ({"1": {"findings": "A.", "model_prediction": None}}, "study '1': Expected a text as model_prediction"),
        ({"1": {"model_prediction": "A."}}, "study '1': Expected findings or an impression but got neither"),
        ({"1": {"findings": 3, "model_prediction": "A."}}, "study '1': Expected a text as findings but got 3"),
    ],
)
def test_file_of_another_format_raises(tmp_path: Path, studies: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rexrank.read_predictions(write(tmp_path / "prediction.json", studies))


def test_command_writes_the_leaderboard_row_and_names_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path / "prediction.json", STUDIES)
    monkeypatch.setattr(rexrank, "load", lambda name, allow_download: WithoutModel())
    columns = ["BLEU-2", "SembScore", "RadGraph", "1/RadCliQ-v1", "GREEN"]
    options = ["--input", str(source), "--output", str(tmp_path / "out"), "--metrics", *columns]
    monkeypatch.setattr("sys.argv", ["rexrank", *options])
    rexrank.main()
    result = json.loads((tmp_path / "out" / "leaderboard.json").read_text(encoding="utf-8"))
    rows = rexrank.read_predictions(source)
    expected = RadCliQBLEU2().score([row["reference"] for row in rows], [row["candidate"] for row in rows]).total
    assert result["metrics"] == {"BLEU-2": pytest.approx(float(expected.mean()), abs=1e-6)}
    assert set(result["left_out"]) == {*columns} - {"BLEU-2"}
    assert (result["studies"], result["without_sections"], result["without_score"]) == (3, 0, {})
    printed = capsys.readouterr().out
    assert "SembScore was left out: its model was not given" in printed
    assert "RadGraph was left out: no model" in printed
    assert (tmp_path / "out" / "scores.csv").read_text().startswith("id,BLEU-2\n1,")


def test_findings_alone_leave_out_and_count_studies_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    studies = {**STUDIES, "4": {"findings": "No edema.", "model_prediction": " "}}
    source = write(tmp_path / "prediction.json", studies)
    options = ["--input", str(source), "--output", str(tmp_path / "out"), "--metrics", "BLEU-2"]
    monkeypatch.setattr("sys.argv", ["rexrank", *options, "--sections", "findings"])
    rexrank.main()
    result = json.loads((tmp_path / "out" / "leaderboard.json").read_text(encoding="utf-8"))
    assert (result["studies"], result["without_sections"], result["without_score"]) == (3, 1, {"BLEU-2": 1})
    assert "1 studies without findings were left out" in capsys.readouterr().out
    expected = RadCliQBLEU2().score(
        ["Findings: Small left effusion.", "Findings: Clear lungs."], ["Effusion.", "Clear."]
    )
    assert result["metrics"]["BLEU-2"] == pytest.approx(float(expected.total.mean()), abs=1e-6)


def test_reciprocal_columns_are_the_reciprocal_of_the_mean() -> None:
    rows = [{"id": "1", "reference": "No edema.", "candidate": "No edema."}] * 2
    scorer = load("bleu-2")
    assert rexrank.leaderboard_value("1/x", scorer, rows)[1] == pytest.approx(
        1 / float(scorer.score(["a b"], ["a b"]).total)
    )
