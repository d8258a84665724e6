"""Columns of scored files as metrics: the same agreement as the scores themselves, and messages about files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau

from radreward.cli import main
from radreward.errors import InputError
from radreward.meta_evaluation.rated_pairs import RatedPair, RatedPairs
from radreward.meta_evaluation.rated_pairs_io import write_rated_pairs
from radreward.meta_evaluation.score_column import ColumnName, ScoreColumn

RATINGS = [1.0, 3.0, 2.0, 5.0, 4.0, 2.5]


def rated_pairs() -> list[RatedPair]:
    return [
        RatedPair(
            id=str(i), reference=f"Clear {i}.", candidate=f"Scar {i}.", group=str(i), ratings={"x": rating, "y": 3}
        )
        for i, rating in enumerate(RATINGS)
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("text", "column", "higher"), [("a:b.jsonl:c", "c", True), ("a.csv:-c", "c", False)])
def test_column_name_is_after_the_last_colon(text: str, column: str, higher: bool) -> None:
    name = ColumnName.parse(text)
    assert (f"{name.path}", name.column, name.higher_is_better) == (text.rpartition(":")[0], column, higher)


@pytest.mark.parametrize("text", ["a.csv", ":c", "a.csv:", "a.csv:-"])
def test_column_name_of_another_form_raises(text: str) -> None:
    with pytest.raises(InputError, match="--scores: Expected FILE:COLUMN"):
        ColumnName.parse(text)


def test_benchmark_scores_agree_as_the_numbers_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = [0.5, 0.6, 0.1, 0.9, 0.8, 0.7]
    write_rated_pairs(tmp_path / "rated.jsonl", rated_pairs())
    rows = [{"id": i, "own": value, "fitted": i < 2} for i, value in enumerate(values)]
    scored = write(tmp_path / "scored.jsonl", rows)
    command = ["benchmark", f"--data={tmp_path / 'rated.jsonl'}", f"--output={tmp_path / 'out'}", "--bootstrap=20"]
    assert main([*command, "--scores", f"{scored}:own", f"{scored}:-own", "--scorers", "rouge-l", "--rater=x"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "scored: own: its model was fitted to the references of 2 pairs" in output
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    taus = {row["scorer"]: row["tau_b"]["value"] for row in results["agreement"] if row["target"] == "rating"}
    expected = kendalltau(values, RATINGS).statistic
    assert taus[f"{scored}:own"] == pytest.approx(expected)
    assert taus[f"{scored}:-own"] == pytest.approx(-expected)
    assert main([*command, "--scores", f"{scored}:own", "--rater=z"]) == 2
    assert "rated.jsonl: Expected judgements of rater 'z' but got those of x, y." in capsys.readouterr().err


def test_pairs_without_a_score_have_a_status(tmp_path: Path) -> None:
    scored = write(tmp_path / "scored.jsonl", [{"id": "0", "own": 2}, {"id": "1", "own": None}])
    scorer = ScoreColumn(ColumnName(scored, "own", True), RatedPairs(rated_pairs()))
    scores = scorer.score(["Clear 0.", "Clear 1.", "Other."], ["Scar 0.", "Scar 1.", "Scar."])
    assert scores.total[0] == 2
    assert all(math.isnan(value) for value in scores.total[1:].tolist())
    assert scores.status == ("ok", f"no score in {scored}", f"no score in {scored}")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "0", "other": 1}], "row 1: field 'own': Expected a column of this name but got id, other"),
        ([{"id": "0", "own": 1}, {"id": "0", "own": 1}], "row 2: field 'id': Expected a new id"),
        ([{"id": "9", "own": 1}], "Expected the ids of the rated pairs but got none of them"),
        ([{"id": "0", "own": "x"}], "row 1: field 'own': Expected a finite number"),
        ([{"id": "0", "own": 1}, {"id": "same", "own": 2}], "id 'same': Expected the score of an earlier pair"),
    ],
)
def test_unusable_file_of_scores_raises(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    first, *others = rated_pairs()
    twin = RatedPair(id="same", reference=first.reference, candidate=first.candidate, group="same")
    name = ColumnName(write(tmp_path / "scored.jsonl", rows), "own", True)
    with pytest.raises(InputError, match=message):
        ScoreColumn(name, RatedPairs([first, twin, *others]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Expected --scorers or --scores, or both, but got neither"),
        (["--scores", "a.csv:b", "a.csv:b"], "--scores: Expected different columns but 'a.csv:b' is listed twice"),
        (["--scores", "a.csv:b", "--preferences=p.jsonl"], "--scores: Expected --data without --preferences"),
    ],
)
def test_benchmark_wrong_scores_print_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["benchmark", "--data=x.jsonl", f"--output={tmp_path / 'out'}", *options]) == 2
    assert message in capsys.readouterr().err
