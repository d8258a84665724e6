"""Ratings of several raters joined into rated pairs, and what is wrong with a file in one line."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.cli import main
from radreward.meta_evaluation.converters.rating_key import RatingCase, cases_digest
from radreward.meta_evaluation.converters.ratings import CaseRating, join_raters
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from tests.serving.rating.conftest import CASES, TAGS, ExportFile


def convert(output: Path, layout: str, *sources: Path) -> int:
    return main(["convert", "--input", *map(str, sources), "--from", layout, "--output", str(output)])


def test_notes_are_kept_with_or_without_a_rating(export: ExportFile, key_file: Path, tmp_path: Path) -> None:
    paths = [export("a.json", "Anne", (4, [])), export("b.json", "Bela", (2, []))]
    for path, noted in zip(paths, (0, 1), strict=True):
        content = json.loads(path.read_text())
        content["cases"][noted]["note"] = f"see film {noted}"
        path.write_text(json.dumps(content))
    assert convert(tmp_path / "rated.jsonl", "rate", *paths, key_file) == 0
    first, second, third = read_rated_pairs(tmp_path / "rated.jsonl").rows
    assert (first.ratings, first.notes) == ({"Anne": 4, "Bela": 2}, {"Anne": "see film 0"})
    assert (second.ratings, second.errors, second.notes) == ({}, {}, {"Bela": "see film 1"})
    assert third.notes == {}


def test_files_of_two_raters_become_rated_pairs(export: ExportFile, key_file: Path, tmp_path: Path) -> None:
    first = export("a.json", "Anne", (2, [("omission", True), ("omission", False)]), (4, []), (None, []))
    second = export("b.json", "Béla", (1, [("false_prediction", True)]), (None, [("omission", False)]))
    assert convert(tmp_path / "rated.jsonl", "rate", first, key_file, second) == 0
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
    st.none() | st.just("see film"),
)


@given(st.dictionaries(st.sampled_from(["x", "y"]), st.dictionaries(st.sampled_from(["1", "2"]), ratings)))
def test_counts_are_those_of_a_loop(raters: dict[str, dict[str, CaseRating]]) -> None:
    cases = [RatingCase(name, "Reference.", "Candidate.") for name in ("1", "2")]
    for row in join_raters(cases, ["a", "b"], raters):
        given = {rater: raters[rater][row.id] for rater in raters if row.id in raters[rater]}
        assert set(row.errors) == {rater for rater, entry in given.items() if entry.errors or entry.rating is not None}
        assert row.notes == {rater: "see film" for rater, entry in given.items() if entry.note is not None}
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
        ({"digest": "0"}, "Expected ratings of the cases of "),
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
    changes: dict[str, Any],
    message: str,
    export: ExportFile,
    key_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = export("a.json", "Anne", **changes)
    assert convert(tmp_path / "rated.jsonl", "rate", path, key_file) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"radreward: {path}")
    assert message in line
    assert not (tmp_path / "rated.jsonl").exists()


def test_raters_with_different_cases_or_one_name_are_refused(
    export: ExportFile, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = export("a.json", "Anne", (3, [])), export("b.json", "Anne", (3, []))

    def refusal(*sources: Path, layout: str = "rate") -> str:
        assert convert(tmp_path / "rated.jsonl", layout, *sources) == 2
        return capsys.readouterr().err

    assert "b.json: Expected one file per rater but got a second one of 'Anne'." in refusal(first, again, key_file)
    other = json.loads(again.read_text())
    other["cases"].pop()
    again.write_text(json.dumps(other))
    assert "got changed ones" in refusal(first, again, key_file)
    texts = [(case["reference"], case["candidate"]) for case in other["cases"]]
    again.write_text(json.dumps(other | {"rater": "Béla", "digest": cases_digest(texts, TAGS)}))
    message = f"b.json: Expected ratings of the cases of {key_file} but got ratings of other ones."
    assert message in refusal(first, again, key_file)
    (tmp_path / "c.json").write_text("{")
    assert "c.json" in refusal(first, tmp_path / "c.json", key_file)
    assert "Expected one file or folder of the layout rexval but got 2." in refusal(first, again, layout="rexval")


def test_missing_or_unusable_key_is_one_line(
    export: ExportFile, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rater = export("a.json", "Anne", (3, []))
    key = json.loads(key_file.read_text())
    second, damaged, short = tmp_path / "second.key.json", tmp_path / "damaged.key.json", tmp_path / "short.key.json"
    second.write_text(json.dumps(key))
    damaged.write_text(json.dumps(key | {"cases": [{"group": "g"}]}))
    short.write_text(json.dumps(key | {"cases": key["cases"][:1]}))
    for sources, message in (
        ([rater], "a.json: Expected one key among these files, which `radreward rate` wrote as NAME.key.json beside "),
        ([rater, key_file, second], "but got 2. Add it to --input."),
        ([rater, damaged], "damaged.key.json, case 1: field 'id': Expected a column"),
        ([rater, short], "a.json: Expected the cases of the page but got changed ones."),
        ([key_file], "rate.key.json: Expected files of raters with this key but got none."),
    ):
        assert convert(tmp_path / "rated.jsonl", "rate", *sources) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert message in line


def test_convert_prints_agreement_of_raters(
    export: ExportFile, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = export("a.json", "Anne", (5, []), (3, [("omission", True)]), (1, [("omission", True)] * 2))
    second = export("b.json", "Béla", (4, []), (3, [("omission", True)]), (1, []))
    assert convert(tmp_path / "rated.jsonl", "rate", first, second, key_file) == 0
    lines = capsys.readouterr().out.splitlines()
    [rating] = [line.split() for line in lines if "Rating" in line]
    assert rating == ["Anne", "–", "Béla", "Rating", "3", "0.571", "1.000", "+0.33"]  # κ = (2/3 − 2/9) / (1 − 2/9)
    assert any("Errors" in line and "+0.67" in line for line in lines)
    assert convert(tmp_path / "rated.jsonl", "rate", first, key_file) == 0
    assert "One rater: agreement is unknown." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["rate.html", "tasks.json"])
def test_file_for_raters_has_no_id_group_or_system(name: str, tmp_path: Path) -> None:
    secrets = {"id": "SECRET-id", "group": "SECRET-group", "system": "SECRET-system"}
    (tmp_path / "cases.jsonl").write_text(json.dumps({**CASES[0], **secrets}))
    output = tmp_path / name
    assert main(["rate", "--input", str(tmp_path / "cases.jsonl"), "--output", str(output)]) == 0
    assert "SECRET" not in output.read_text()
    assert json.loads(output.with_suffix(".key.json").read_text())["cases"] == [secrets]


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
    assert "row 2: field 'id': Expected a new id but '1' is in row 1." in capsys.readouterr().err


def annotation(
    author: Any, rating: int | None, *errors: tuple[str, bool], note: Any = None, **fields: Any
) -> dict[str, Any]:
    """Return an annotation as Label Studio exports it."""
    result: list[dict[str, Any]] = []
    if rating is not None:
        result.append({"id": "r", "type": "rating", "from_name": "rating", "value": {"rating": rating}})
    if note is not None:
        result.append({"id": "n", "type": "textarea", "from_name": "note", "value": {"text": note}})
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
    assert '<TextArea name="note" toName="candidate"' in config
    tasks = json.loads(output.read_text())
    key = output.with_suffix(".key.json")
    tasks[0]["annotations"] = [
        annotation(1, 2, ("omission", True), ("incorrect_location", False), note=["See film.", " ", "Unsure."]),
        annotation({"id": 2, "email": "b@example.org"}, 3, note=" "),
        annotation(3, 5, note="Skipped.", was_cancelled=True),
    ]
    tasks[1]["annotations"] = [annotation(1, None, note="Unreadable.")]
    tasks[2]["annotations"] = []
    output.write_text(json.dumps(tasks))
    assert convert(tmp_path / "rated.jsonl", "label-studio", output, key) == 0
    row, other, _ = read_rated_pairs(tmp_path / "rated.jsonl").rows
    assert (other.group, other.system) == ("g", "A")
    assert (row.notes, other.notes) == ({"annotator 1": "See film.\nUnsure."}, {"annotator 1": "Unreadable."})
    assert (other.ratings, other.errors) == ({}, {})
    assert row.ratings == {"annotator 1": 2, "annotator b@example.org": 3}
    assert sum(row.errors["annotator 1"].values()) == 2
    assert sum(row.significant_errors["annotator 1"].values()) == 1
    assert set(row.errors["annotator b@example.org"].values()) == {0}


def task(*annotations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the first case as Label Studio exports it."""
    texts = {name: CASES[0][name] for name in ("reference", "candidate")}
    return {"data": {"case": 1, **texts, "criteria": TAGS, **fields}, "annotations": list(annotations)}


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("", "Expected a list of tasks but got none. Export the project as JSON."),
        ([{"data": {**CASES[0]}}], "task 1: Expected a task of `radreward rate` with annotations but got none;"),
        ([task(annotation(1, 9))], "from 1 to 5 but got 9."),
        ([task(annotation(1, 3, ("x", True)))], "task 1: field 'errors': Expected `criterion` ("),
        ([task(annotation(1, 3), annotation(1, 4))], "task 1: Expected one annotation of annotator 1 but got two that"),
        ([task(annotation(1, 3, note=4))], "task 1: field 'text': Expected a list of texts but got 4."),
        ([task(annotation(1, 3, note="x"), annotation(1, 3))], "task 1: Expected one annotation of annotator 1 but"),
        ([task(digest="0")], "task 1: field 'digest': Expected a task of "),
        ([task(case=4)], "task 1: field 'case': Expected a number from 1 to 3 but got 4."),
        ([task(case=1.5)], "task 1: field 'case': Expected an integer but got 1.5."),
    ],
)
def test_unusable_label_studio_export_is_one_line(
    tasks: Any, message: str, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = json.loads(key_file.read_text())["digest"]
    tasks = [{**entry, "data": {"digest": digest, **entry["data"]}} for entry in tasks]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert convert(tmp_path / "rated.jsonl", "label-studio", tmp_path / "export.json", key_file) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
