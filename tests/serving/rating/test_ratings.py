"""Ratings of several raters joined into rated pairs, and what is wrong with a file in one line."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.cli import main
from radreward.meta_evaluation.converters.ratings import (
    CaseRating,
    RatingCase,
    cases_digest,
    join_raters,
    parse_case,
)
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from tests.serving.rating.conftest import CASES, TAGS, ExportFile


def convert(output: Path, layout: str, *sources: Path) -> int:
    return main(["convert", "--input", *map(str, sources), "--from", layout, "--output", str(output)])


def test_files_of_two_raters_become_rated_pairs(export: ExportFile, tmp_path: Path) -> None:
    first = export("a.json", "Anne", (2, [("omission", True), ("omission", False)]), (4, []), (None, []))
    second = export("b.json", "Béla", (1, [("false_prediction", True)]), (None, [("omission", False)]))
    assert convert(tmp_path / "rated.jsonl", "rate", first, second) == 0
    pairs = read_rated_pairs(tmp_path / "rated.jsonl")
    assert [row.candidate for row in pairs.rows] == [case["candidate"] for case in CASES]
    assert [(row.group, row.system) for row in pairs.rows] == [("1", None), ("g", "A"), ("3", None)]
    by_name = {target.name: dict(zip(target.raters, target.by_rater.tolist(), strict=True)) for target in pairs.targets}
    assert by_name["rating"]["Anne"][:2] == [2, 4]
    assert by_name["rating"]["Béla"][0] == 1
    assert math.isnan(by_name["rating"]["Béla"][1])  # errors, but no rating
    assert by_name["errors"]["Anne"][:2] == [2, 0]
    assert by_name["errors"]["Béla"][:2] == [1, 1]
    assert by_name["errors_significant"]["Anne"][:2] == [1, 0]
    assert by_name["errors_significant"]["Béla"][:2] == [1, 0]
    assert by_name["criterion:omission"]["Anne"][:2] == [2, 0]
    assert all(math.isnan(values[2]) for target in by_name.values() for values in target.values())  # nobody rated it


ratings = st.builds(
    CaseRating,
    st.none() | st.integers(1, 5).map(float),
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.booleans())).map(tuple),
)


@given(st.dictionaries(st.sampled_from(["x", "y"]), st.dictionaries(st.sampled_from(["1", "2"]), ratings)))
def test_counts_are_those_of_a_loop(raters: dict[str, dict[str, CaseRating]]) -> None:
    cases = [RatingCase(name, "Reference.", "Candidate.") for name in ("1", "2")]
    for row in join_raters(cases, ["a", "b"], raters):
        assert set(row.errors) == {rater for rater in raters if row.id in raters[rater]}
        for rater, counts in row.errors.items():
            errors = raters[rater][row.id].errors
            for tag in ("a", "b"):
                assert counts[tag] == len([entry for entry in errors if entry[0] == tag])
                assert row.significant_errors[rater][tag] == len([entry for entry in errors if entry == (tag, True)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "Expected a file that the page of `radreward rate` exported but got another format."),
        ({"cases": 3}, "Expected a list of criteria and a list of cases but got others."),
        ({"criteria": ["omission"]}, "Expected the cases of the page but got changed ones."),
        ({"digest": "0"}, "Expected the cases of the page but got changed ones."),
        ({"rater": " "}, "field 'rater': Expected a text that is not empty."),
        ({"cases": [{**CASES[0], "rating": 6, "errors": []}]}, "case 1: field 'rating': Expected a number from 1 to 5"),
        ({"cases": [{**CASES[0], "rating": 3}]}, "case 1: field 'errors': Expected a list of errors but got None."),
        (
            {"cases": [{**CASES[0], "rating": 3, "errors": [{"criterion": "x", "significant": True}]}]},
            "case 1: field 'errors': Expected `criterion` (false_prediction,",
        ),
        ({"cases": [{"id": "1"}]}, "case 1: field 'reference': Expected a column"),
    ],
)
def test_unusable_file_is_one_line(
    changes: dict[str, Any], message: str, export: ExportFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export("a.json", "Anne", **changes)
    assert convert(tmp_path / "rated.jsonl", "rate", path) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"radreward: {path}")
    assert message in line
    assert not (tmp_path / "rated.jsonl").exists()


def test_raters_with_different_cases_or_one_name_are_refused(
    export: ExportFile, cases_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = export("a.json", "Anne", (3, [])), export("b.json", "Anne", (3, []))
    assert convert(tmp_path / "rated.jsonl", "rate", first, again) == 2
    assert "b.json: Expected one file per rater but got a second one of 'Anne'." in capsys.readouterr().err
    other = json.loads(again.read_text())
    other["cases"].pop()
    again.write_text(json.dumps(other))
    assert convert(tmp_path / "rated.jsonl", "rate", first, again) == 2
    assert "got changed ones" in capsys.readouterr().err
    other |= {"rater": "Béla", "digest": cases_digest([parse_case(case) for case in other["cases"]], TAGS)}
    again.write_text(json.dumps(other))
    assert convert(tmp_path / "rated.jsonl", "rate", first, again) == 2
    assert f"b.json: Expected the cases and criteria of {first} but got different ones." in capsys.readouterr().err
    (tmp_path / "c.json").write_text("{")
    assert convert(tmp_path / "rated.jsonl", "rate", first, tmp_path / "c.json") == 2
    assert "c.json" in capsys.readouterr().err
    assert convert(tmp_path / "rated.jsonl", "rexval", first, again) == 2
    assert "Expected one file or folder of the layout rexval but got 2." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--criteria", "radcliq-significance"], "Expected types of errors but got 'significant_false_prediction'"),
        (["--criteria", "rating"], "Expected types of errors but got 'rating'"),
        (["--output=rate.txt"], "--output: Expected a name in .html, for a page, or .json, for Label Studio, but got "),
    ],
)
def test_unusable_option_of_rate_is_one_line(
    options: list[str], message: str, cases_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rate", "--input", str(cases_file), "--output", str(tmp_path / "rate.html"), *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_duplicate_ids_are_refused(cases_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases_file.write_text((json.dumps(CASES[0]) + "\n") * 2)
    assert main(["rate", "--input", str(cases_file), "--output", str(tmp_path / "rate.html")]) == 2
    assert "row 1: field 'id': Expected different ids but '1' is there twice." in capsys.readouterr().err


def annotation(author: Any, rating: int, *errors: tuple[str, bool], **fields: Any) -> dict[str, Any]:
    """Return an annotation as Label Studio exports it."""
    result: list[dict[str, Any]] = [{"id": "r", "type": "rating", "from_name": "rating", "value": {"rating": rating}}]
    for number, (tag, significant) in enumerate(errors):
        span = {"start": 0, "end": 5, "text": "Small"}
        region = {"id": f"e{number}", "to_name": "reference"}
        result.append({**region, "type": "labels", "value": {**span, "labels": [tag]}})
        if not significant:
            result.append({**region, "type": "choices", "value": {**span, "choices": ["insignificant"]}})
    return {"completed_by": author, "was_cancelled": False, "result": result, **fields}


def test_label_studio_tasks_come_back_as_rated_pairs(cases_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "tasks.json"
    assert main(["rate", "--input", str(cases_file), "--output", str(output)]) == 0
    config = output.with_suffix(".xml").read_text()
    assert all(f'<Label value="{tag}"/>' in config for tag in TAGS)
    tasks = json.loads(output.read_text())
    tasks[0]["annotations"] = [
        annotation(1, 2, ("omission", True), ("incorrect_location", False)),
        annotation({"id": 2, "email": "b@example.org"}, 3),
        annotation(3, 5, was_cancelled=True),
    ]
    for task in tasks[1:]:
        task["annotations"] = []
    output.write_text(json.dumps(tasks))
    assert convert(tmp_path / "rated.jsonl", "label-studio", output) == 0
    row = read_rated_pairs(tmp_path / "rated.jsonl").rows[0]
    assert row.ratings == {"annotator 1": 2, "annotator b@example.org": 3}
    assert sum(row.errors["annotator 1"].values()) == 2
    assert sum(row.significant_errors["annotator 1"].values()) == 1
    assert set(row.errors["annotator b@example.org"].values()) == {0}


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({}, "Expected a list of tasks but got none. Export the project as JSON."),
        ([{"data": {**CASES[0]}}], "task 1: Expected a task of `radreward rate` with annotations but got none;"),
        ([{"data": {**CASES[0], "criteria": TAGS}, "annotations": [annotation(1, 9)]}], "from 1 to 5 but got 9."),
        (
            [{"data": {**CASES[0], "criteria": TAGS}, "annotations": [annotation(1, 3, ("x", True))]}],
            "task 1: field 'errors': Expected `criterion` (",
        ),
        (
            [{"data": {**CASES[0], "criteria": TAGS}, "annotations": [annotation(1, 3), annotation(1, 4)]}],
            "task 1: Expected one annotation of annotator 1 but got two that differ; cancel one.",
        ),
    ],
)
def test_unusable_label_studio_export_is_one_line(
    tasks: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert convert(tmp_path / "rated.jsonl", "label-studio", tmp_path / "export.json") == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
