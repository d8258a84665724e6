"""Converters on small files in the published layouts; all texts are synthetic."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from radreward.cli import main
from radreward.cli.convert import Layout
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.meta_evaluation.converters import CONVERTERS, JOINING_CONVERTERS, convert
from radreward.meta_evaluation.converters.rexval import CATEGORY_TAGS, COUNTS_FILE, REPORTS_FILE, SYSTEMS
from radreward.meta_evaluation.preferences import preference_agreement, read_preferences
from radreward.meta_evaluation.rated_pairs import MEAN_RATER
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from radreward.systems.sentence_eval.judgement import SentenceScore
from radreward.systems.sentence_eval.judgement_io import read_judged_pairs
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from tests.meta_evaluation.written_rows import write_rows

Rows = list[dict[str, Any]]


def rexval(folder: Path, change: Callable[[Rows, Rows], Any] = lambda reports, counts: None) -> Path:
    """Write two studies with two raters; each number of errors identifies its row."""
    reports: Rows = [
        {"study_id": 10 + study, "gt_report": f"Reference {study}.", **{name: f"{name} {study}." for name in SYSTEMS}}
        for study in range(2)
    ]
    counts: Rows = [
        {
            "study_number": study,
            "candidate_type": system,
            "error_category": category,
            "rater_index": rater,
            "clinically_significant": significant,
            "num_errors": category + 10 * rater + 100 * study if significant else 1,
        }
        for study, system, category, rater, significant in product(
            range(2), SYSTEMS, range(1, 7), range(2), (True, False)
        )
    ]
    change(reports, counts)
    write_rows(folder / REPORTS_FILE, reports)
    write_rows(folder / COUNTS_FILE, counts)
    return folder


def test_convert_rexval_sums_by_rater_and_averages_over_raters(tmp_path: Path) -> None:
    assert convert("rexval", rexval(tmp_path), tmp_path / "a.jsonl") == "8 rated pairs of 2 cases"
    pairs = read_rated_pairs(tmp_path / "a.jsonl")
    assert RadCliQCriteria().tags == CATEGORY_TAGS
    assert pairs.raters == ("0", "1")
    assert pairs.systems == tuple(sorted(SYSTEMS))
    row = pairs.rows[5]
    assert (row.id, row.reference, row.candidate) == ("11/bertscore", "Reference 1.", "bertscore 1.")
    assert (row.group, row.system) == ("11", "bertscore")
    assert row.significant_errors["1"]["omission"] == 112
    assert row.errors["1"]["omission"] == 113
    by_name = {target.name: target.values for target in pairs.targets}
    assert by_name["errors"][5] == np.mean([21 + 6 + 600, 21 + 6 + 660])  # summed by rater, mean over raters
    assert by_name["errors_significant"][0] == np.mean([21, 81])


def test_rexval_missing_counts_are_nan(tmp_path: Path) -> None:
    pairs = list(CONVERTERS["rexval"](rexval(tmp_path, lambda reports, counts: counts.pop(0))))
    assert np.isnan(pairs[0].errors["0"]["false_prediction"])
    assert pairs[0].errors["0"]["omission"] == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidate_type": "meteor"}, "field 'candidate_type': Expected one of radgraph, bertscore, s_emb, bleu"),
        ({"study_number": 2}, "field 'study_number': Expected a row of .*, 0 to 1, but got 2"),
        ({"error_category": 7}, "field 'error_category': Expected a number from 1 to 6 but got '7'"),
        ({"error_category": 1.5}, "field 'error_category': Expected an integer from 1 to 6 but got '1.5'"),
        ({"clinically_significant": "maybe"}, "field 'clinically_significant': Expected true or false"),
        ({"num_errors": "many"}, "field 'num_errors': Expected a number from 0 to 1000 but got 'many'"),
        (
            {"rater_index": 1, "error_category": 2},
            "Expected one count per rater, category and significance but got a second one",
        ),
    ],
)
def test_convert_rexval_invalid_row_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = rexval(tmp_path, lambda reports, counts: counts[3].update({"clinically_significant": False} | change))
    with pytest.raises(InputError, match=rf"{COUNTS_FILE}, row \d+: {message}"):
        convert("rexval", folder, tmp_path / "a.jsonl")


def test_convert_rexval_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        convert("rexval", tmp_path, tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_rate_eval_sentences_paragraphs_and_triads(tmp_path: Path) -> None:
    rows = [{"gt_report": "a", "similar_report": text, "Score": 0.25} for text in "xy"]
    path = write_rows(tmp_path / "task.csv", rows)
    assert [row.ratings for row in CONVERTERS["rate-eval-sentences"](path)] == [{MEAN_RATER: 0.75}] * 2
    paragraphs = list(CONVERTERS["rate-eval-paragraphs"](path))
    assert [row.ratings for row in paragraphs] == [{MEAN_RATER: 0.25}] * 2
    assert [(row.id, row.group) for row in paragraphs] == [("1", "1"), ("2", "1")]
    triads = write_rows(tmp_path / "triads.csv", [{"original": "a", "rewrite": "b", "opposite": "c"}])
    assert convert("rate-eval-triads", triads, tmp_path / "b.jsonl") == "1 preferences of 1 cases"
    [entry] = read_preferences(tmp_path / "b.jsonl")
    assert (entry.id, entry.reference, entry.candidate_a, entry.candidate_b) == ("1", "a", "b", "c")
    assert entry.preferred == "a"


def test_rate_eval_sentences_with_possible_errors_are_normalized(tmp_path: Path) -> None:
    row = {"gt_report": "a b", "similar_report": "a", "Score": 1, "possible": 3}
    [pair] = CONVERTERS["rate-eval-sentences"](write_rows(tmp_path / "a.csv", [row]))
    assert pair.ratings[MEAN_RATER] == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="row 1: field 'possible': Expected a number from 1 to 1000 but got '0'"):
        list(CONVERTERS["rate-eval-sentences"](write_rows(tmp_path / "b.csv", [row | {"possible": 0}])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Score": 7}, "field 'Score': Expected a number from 0 to 5 but got '7'"),
        ({"Score": ""}, "field 'Score': Expected a number from 0 to 5 but got ''"),
        ({"similar_report": " "}, "field 'similar_report': Expected a text that is not empty"),
    ],
)
def test_rate_eval_invalid_row_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row: dict[str, Any] = {"gt_report": "a", "similar_report": "b", "Score": 1}
    with pytest.raises(InputError, match=f"row 1: {message}"):
        list(CONVERTERS["rate-eval-paragraphs"](write_rows(tmp_path / "a.csv", [row | change])))


def test_rate_eval_missing_columns_and_rows_are_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.csv", [{"gt_report": "a", "similar_report": "b"}])
    for task, column in (("sentences", "Score"), ("paragraphs", "Score"), ("triads", "original")):
        with pytest.raises(InputError, match=rf"a\.csv, row 1: field '{column}': [Ee]xpected a column of this name"):
            list(CONVERTERS[f"rate-eval-{task}"](path))
    (tmp_path / "b.csv").write_text("gt_report,similar_report,Score\n")
    with pytest.raises(InputError, match=r"b\.csv: Expected at least one row"):
        list(CONVERTERS["rate-eval-paragraphs"](tmp_path / "b.csv"))


ITEMS = {
    "impression_consistency": 1,
    "impression_organs": 0,
    "description_of_lesions": 0,
    "clinical_history": 0,
    "completeness": 1,
    "grammar": 1,
    "medical_terminology": 0,
}


def test_convert_rad100_total_is_the_rating(tmp_path: Path) -> None:
    rows = [{"reference": "a", "candidate": "b", **ITEMS}, {"reference": "a", "candidate": "c", **ITEMS, "grammar": 0}]
    convert("rad100", write_rows(tmp_path / "rad.csv", rows), tmp_path / "a.jsonl")
    pairs = read_rated_pairs(tmp_path / "a.jsonl")
    assert [row.ratings[MEAN_RATER] for row in pairs.rows] == [55, 60]
    assert [row.group for row in pairs.rows] == ["1", "1"]
    assert pairs.criteria == tuple(ITEMS)
    rows[1]["grammar"] = 2
    with pytest.raises(InputError, match="row 2: field 'grammar': Expected a number from 0 to 1 but got '2'"):
        convert("rad100", write_rows(tmp_path / "rad.csv", rows), tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="row 1: field 'impression_consistency': Expected a column of this name"):
        convert("rad100", write_rows(tmp_path / "b.csv", [{"reference": "a", "candidate": "b"}]), tmp_path / "a.jsonl")


def sentences() -> Rows:
    rows = [
        ("1", "Original", "a", "Lungs clear.", "A", 1, ""),
        ("1", "Original", "A", "Clear lungs.", "a", 1, ""),  # the published template labels both reports as original
        ("1", "Predicted", "B", "Heart big.", "", 0, 3.5),
        ("2", "Original", "a", "Effusion.", "", 0, 0),
        ("2", "Original", "b", "No edema.", "", 0, ""),
    ]
    names = ("Case", "Type", "ID", "Sentence", "Match ID", "Sentence Score", "Overall Score")
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_convert_sentence_eval_joins_sentences(tmp_path: Path) -> None:
    convert("sentence-eval", write_rows(tmp_path / "a.csv", sentences()), tmp_path / "a.jsonl")
    first, second = read_rated_pairs(tmp_path / "a.jsonl").rows
    assert (first.reference, first.candidate, first.ratings) == (
        "Lungs clear.",
        "Clear lungs. Heart big.",
        {MEAN_RATER: 3.5},
    )
    assert (second.reference, second.candidate, second.ratings) == ("Effusion. No edema.", "", {MEAN_RATER: 0})


def test_convert_sentences_keeps_scores_and_matches_of_every_rater(tmp_path: Path) -> None:
    rows = [row | {"Rater": rater} for rater in "xy" for row in sentences()]
    rows[-1]["Sentence Score"] = ""
    message = convert("sentences", [write_rows(tmp_path / "a.csv", rows)], tmp_path / "a.jsonl")
    assert message == "sentence scores of 2 cases by 2 raters"
    first, second, third, fourth = read_judged_pairs(tmp_path / "a.jsonl")
    assert [(pair.id, pair.rater) for pair in (first, second, third, fourth)] == [
        *product("12", "x"),
        *product("12", "y"),
    ]
    assert (first.reference, first.candidate) == (("Lungs clear.",), ("Clear lungs.", "Heart big."))
    assert first.judgement.reference_scores == (SentenceScore(1.0, (0,)),)
    assert first.judgement.candidate_scores == (SentenceScore(1.0, (0,)), SentenceScore(0.0, ()))
    assert (first.judgement.overall, first.judgement.status) == (3.5, "ok")
    assert fourth.judgement.reference_scores == (SentenceScore(0.0, ()), None)
    assert fourth.judgement.status == "partial: 1 sentences without a score"


@pytest.mark.parametrize(
    ("row", "change", "message"),
    [
        (0, {"Sentence Score": 0.7}, "row 1: field 'sentence score': Expected -1, 0, 0.5 or 1 but got 0.7"),
        (
            0,
            {"Match ID": "C,D"},
            "case '1', rater 'mean': Expected the id of a sentence of the other report but got the match 'C'",
        ),
        (2, {"ID": "A"}, "case '1', rater 'mean': Expected different ids"),
    ],
)
def test_convert_sentences_invalid_score_is_named(
    row: int, change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = sentences()
    rows[row].update(change)
    with pytest.raises(InputError, match=message):
        convert("sentences", [write_rows(tmp_path / "a.csv", rows)], tmp_path / "a.jsonl")


def test_sentence_eval_several_raters_are_kept(tmp_path: Path) -> None:
    rows = [row | {"Rater": rater} for rater in "xy" for row in sentences()]
    rows[-2]["Overall Score"] = 1
    first, second = CONVERTERS["sentence-eval"](write_rows(tmp_path / "a.csv", rows))
    assert (first.ratings, second.ratings) == ({"x": 3.5, "y": 3.5}, {"x": 0, "y": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Overall Score": ""}, "case '1', rater 'mean': Expected one overall score but got none"),
        ({"Overall Score": 6}, "row 3: field 'overall score': Expected a number from 0 to 5 but got '6'"),
        ({"ID": "3", "Type": "both"}, "row 3: field 'Type': Expected Original or Predicted but got 'both'"),
    ],
)
def test_convert_sentence_eval_invalid_case_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = sentences()
    rows[2].update(change)
    with pytest.raises(InputError, match=message):
        convert("sentence-eval", write_rows(tmp_path / "a.csv", rows), tmp_path / "a.jsonl")


def test_green_preferences_disagreeing_experts_prefer_neither(tmp_path: Path) -> None:
    row = {"id": "p", "reference": "r", "candidate1": "x", "candidate2": "y", "preference": 2, "confidence": 8}
    rows = [row, row | {"confidence": 6}, row | {"id": "q"}, row | {"id": "q", "preference": "candidate1"}]
    agreed, differ = CONVERTERS["green-preferences"](write_rows(tmp_path / "a.csv", rows))
    assert (agreed.id, agreed.reference, agreed.candidate_a, agreed.candidate_b) == ("p", "r", "x", "y")
    assert (agreed.preferred, agreed.group, agreed.confidence) == ("b", "r", 7)
    assert differ.preferred == "neither"  # the experts disagree
    with pytest.raises(InputError, match="row 1: field 'preference': Expected 1 or 2, or 0 for neither, but got '3'"):
        list(CONVERTERS["green-preferences"](write_rows(tmp_path / "b.csv", [row | {"preference": 3}])))
    with pytest.raises(InputError, match="row 2: field 'id': Expected the texts of 'p' as in its first row"):
        list(CONVERTERS["green-preferences"](write_rows(tmp_path / "c.csv", [row, row | {"candidate1": "z"}])))


def test_convert_command_groups_are_synthetic_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synthesize", "--groups=5", "--per-reference=4", f"--output={tmp_path / 'data'}"]) == 0
    output = tmp_path / "rated.parquet"
    assert main(["convert", "--from", "groups", f"--input={tmp_path / 'data'}", f"--output={output}"]) == 0
    assert "20 rated pairs of 5 cases" in capsys.readouterr().out
    pairs = read_rated_pairs(output)
    assert pairs.criteria == RadCliQCriteria().tags
    assert [target.name for target in pairs.targets][:2] == ["errors", "errors_significant"]
    assert all(row.synthetic for row in pairs.rows)
    assert any("SYNTHETIC" in note for note in pairs.notes)


def test_convert_command_lists_every_layout() -> None:
    assert set(get_args(Layout)) == {*CONVERTERS, *JOINING_CONVERTERS}


RADPREF_CASES: Rows = [
    {
        "id": case,
        "ground_truth_report": f"Reference {case}.",
        "ground_truth_findings": ["small effusion"],
        "C1_report": f"First {case}.",
        "C1_source": "model-1",
        "C2_report": f"Second {case}.",
        "C2_source": "model-2",
        "PatientAge": "061Y",
    }
    for case in ("a", "b")
]
RADPREF_JUDGEMENT: dict[str, Any] = {
    "finding_errors": {
        "0": {"error_type": "false", "clinical_significance": "Actionable, not urgent"},
        "1": {"error_type": "attribute", "attributes": {"location": "significant", "measurement": "negligible"}},
    },
    "missing_findings": {"0": {"clinical_significance": "benign"}, "2": {"clinical_significance": "urgent"}},
    "rating": 2,
}


def radpref(folder: Path, judgement: Any = RADPREF_JUDGEMENT) -> Path:
    """Write two cases; one rater judged the first candidate of the first case, another rated all."""
    (folder / "preference_data.json").write_text(json.dumps(RADPREF_CASES))
    (folder / "radiologist_annotations").mkdir()
    users = {
        "user_1": {"a": {"C1": judgement}},
        "user_2": {case: {name: {"rating": 5} for name in ("C1", "C2")} for case in ("a", "b")},
    }
    for user, annotations in users.items():
        (folder / "radiologist_annotations" / f"{user}.json").write_text(json.dumps({"annotations": annotations}))
    return folder


def test_convert_radpref_counts_errors_by_type_and_significance(tmp_path: Path) -> None:
    assert convert("radpref", radpref(tmp_path), tmp_path / "a.jsonl") == "4 rated pairs of 2 cases"
    first, second, *_ = read_rated_pairs(tmp_path / "a.jsonl").rows
    assert (first.id, first.reference, first.candidate, first.system) == ("a/C1", "Reference a.", "First a.", "model-1")
    assert dict(first.ratings) == {"user_1": 2, "user_2": 5}
    assert first.context == PatientContext(61, None)
    counts = {tag: count for tag, count in first.errors["user_1"].items() if count}
    assert counts == {"false_prediction": 1, "omission": 2, "incorrect_location": 1, "wrong_measurement": 1}
    significant = {tag: count for tag, count in first.significant_errors["user_1"].items() if count}
    assert significant == {"false_prediction": 1, "omission": 1, "incorrect_location": 1}
    assert sum(first.errors["user_2"].values()) == 0
    assert dict(second.ratings) == {"user_2": 5}


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        ({"rating": 6}, r"case 1: field 'rating': Expected a number from 1 to 5 but got 6"),
        ({"finding_errors": {"3": {"error_type": "typo"}}}, r"finding_errors\.3\.error_type': Expected 'false' or"),
        ({"missing_findings": {"0": {"clinical_significance": "big"}}}, r"missing_findings\.0': Expected a signif"),
        ({"finding_errors": [1]}, r"field 'user_1: C1\.finding_errors': Expected a mapping but got \[1\]"),
        ([], r"field 'user_1: C1': Expected a mapping but got \[\]"),
    ],
)
def test_radpref_invalid_entry_is_named(tmp_path: Path, judgement: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"preference_data\.json, .*{message}"):
        list(CONVERTERS["radpref"](radpref(tmp_path, judgement)))


def test_radpref_without_raters_raises(tmp_path: Path) -> None:
    (tmp_path / "preference_data.json").write_text(json.dumps(RADPREF_CASES))
    with pytest.raises(InputError, match="Expected one JSON file per rater"):
        list(CONVERTERS["radpref"](tmp_path))


def radjudge(folder: Path, ranking: Any = "C1 > C2 = C3") -> Path:
    tests = [
        {
            "id": "t1",
            "ground_truth": "Reference.",
            "candidates": {
                "C1": {"text": "One.", "context": {"age": 80, "indication": "Fall."}},
                "C2": {"text": "Two."},
                "C3": {"text": "Three."},
            },
            "expected_ranking": ranking,
        },
        {
            "id": "t2",
            "ground_truth": "Reference.",
            "candidates": {"C1": {"text": "One."}, "C2": {"text": "Two."}},
            "expected_ranking": ["C2 > C1"],
        },
    ]
    path = folder / "ranking_tests.py"
    path.write_text(f"import os\nRANKING_TESTS = {[{'category': 'made up', 'tests': tests}]!r}\nos.remove(__file__)\n")
    return path


def test_convert_radjudge_gives_relations_of_each_test(tmp_path: Path) -> None:
    source = radjudge(tmp_path)
    assert convert("radjudge", source, tmp_path / "a.jsonl") == "3 preferences of 2 cases"
    assert source.exists()  # the file was not executed
    first, second, third = preferences = read_preferences(tmp_path / "a.jsonl")
    assert (first.candidate_a, first.candidate_b, first.preferred, first.group) == ("One.", "Two.", "a", "t1")
    assert (second.candidate_a, second.candidate_b, second.preferred) == ("Two.", "Three.", "equal")
    assert (third.candidate_a, third.preferred, third.group) == ("Two.", "a", "t2")
    assert (first.context_a, first.context_b) == (PatientContext(80, "Fall."), NO_CONTEXT)
    scores = {"One.": 0.9, "Two.": 0.405, "Three.": 0.4}
    first_scores, second_scores = (
        np.array([scores[getattr(entry, name)] for entry in preferences]) for name in ("candidate_a", "candidate_b")
    )
    [agreement] = preference_agreement(preferences, first_scores, second_scores, n_resamples=0)
    assert (agreement.cases, agreement.cases_passed) == (2, 1)


@pytest.mark.parametrize("ranking", ["C1 > C9", "C1", None, 3, ["C1 > C2", ""]])
def test_radjudge_invalid_ranking_is_named(tmp_path: Path, ranking: Any) -> None:
    with pytest.raises(InputError, match=r"ranking_tests\.py, test 1: field 'expected_ranking': Expected relations"):
        list(CONVERTERS["radjudge"](radjudge(tmp_path, ranking)))


@pytest.mark.parametrize(
    "text",
    [
        *("RANKING_TESTS = open('x')", "X = []", "RANKING_TESTS = 3", "RANKING_TESTS = (", ""),
        *("RANKING_TESTS = [{[]: 1}]", "RANKING_TESTS = [3]", "RANKING_TESTS = [{'tests': None}]"),
    ],
)
def test_radjudge_file_without_literal_raises(tmp_path: Path, text: str) -> None:
    (tmp_path / "tests.py").write_text(text)
    with pytest.raises(InputError, match=r"tests\.py: Expected"):
        list(CONVERTERS["radjudge"](tmp_path / "tests.py"))
