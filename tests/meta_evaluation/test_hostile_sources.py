"""Every layout of `convert` with one value changed: one line that names the file, or pairs that can be read again."""

import csv
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.criteria import MRScoreCriteria
from radreward.errors import InputError
from radreward.meta_evaluation.converters import CONVERTERS, JOINING_CONVERTERS, convert
from radreward.meta_evaluation.converters.rating_key import KEY_FORMAT, cases_digest
from radreward.meta_evaluation.converters.ratings import RATINGS_FORMAT
from radreward.meta_evaluation.converters.rexval import COUNTS_FILE, REPORTS_FILE, SYSTEMS
from radreward.meta_evaluation.preferences import read_preferences
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from radreward.prompts.parsing import MAX_COUNT
from radreward.systems.sentence_eval.judgement_io import read_judged_pairs
from tests.meta_evaluation.test_radeval_expert import radeval_row

Steps = tuple[str | int, ...]
TEXTS = {"reference": "Small effusion.", "candidate": "No effusion."}
DIGEST = cases_digest([(TEXTS["reference"], TEXTS["candidate"])], ["omission"])
KEY = {"rate.key.json": {"format": KEY_FORMAT, "digest": DIGEST, "cases": [{"id": "1", "group": "g", "system": "A"}]}}
SENTENCES = {
    "rows.jsonl": [
        {
            **{"Case": "1", "ID": name, "Type": "Original", "Sentence": text, "Match ID": match},
            **{"Sentence Score": 0.5, "Overall Score": 4},
        }
        for name, text, match in (("a", "Small effusion.", "A"), ("A", "No effusion.", "a"))
    ]
}
SOURCES: dict[str, dict[str, Any]] = {
    "rexval": {
        REPORTS_FILE: [{"study_id": 7, "gt_report": "Reference.", **dict.fromkeys(SYSTEMS, "Candidate.")}],
        COUNTS_FILE: [
            {
                **{"study_number": 0, "candidate_type": "bleu", "error_category": 2, "rater_index": 1},
                **{"clinically_significant": significant, "num_errors": 3},
            }
            for significant in (True, False)
        ],
    },
    "rate-eval-sentences": {"rows.jsonl": [{"gt_report": "A.", "similar_report": "B.", "Score": 2, "possible": 3}]},
    "rate-eval-paragraphs": {"rows.jsonl": [{"gt_report": "A.", "similar_report": "B.", "Score": 4.5}]},
    "rate-eval-triads": {"rows.jsonl": [{"original": "A.", "rewrite": "B.", "opposite": "C."}]},
    "rad100": {"rows.jsonl": [{"id": "1", **TEXTS, **dict.fromkeys(MRScoreCriteria().tags, 1)}]},
    "radpref": {
        "preference_data.json": [
            {"id": "a", "ground_truth_report": "R.", "C1_report": "A.", "C2_report": "B.", "PatientAge": "061Y"}
        ],
        "radiologist_annotations/user_1.json": {
            "annotations": {
                "a": {
                    "C1": {
                        "finding_errors": {
                            "0": {"error_type": "false", "clinical_significance": "urgent"},
                            "1": {"error_type": "attribute", "attributes": {"severity": "negligible"}},
                        },
                        "missing_findings": {"0": {"clinical_significance": "benign"}},
                        "rating": 2,
                    }
                }
            }
        },
    },
    "radjudge": {
        "tests.py": [
            {
                "tests": [
                    {
                        **{"id": "t", "ground_truth": "R.", "expected_ranking": ["C1 > C2"]},
                        "candidates": {"C1": {"text": "A.", "context": {"age": 80}}, "C2": "B."},
                    }
                ]
            }
        ]
    },
    "radeval-expert": {"rows.csv": [radeval_row(1)]},
    "sentence-eval": SENTENCES,
    "sentences": SENTENCES,
    "green-preferences": {
        "rows.jsonl": [{"id": 1, "reference": "R.", "candidate1": "A.", "candidate2": "B.", "preference": 1}]
        + [{"id": 1, "reference": "R.", "candidate1": "A.", "candidate2": "B.", "preference": 2, "confidence": 7}]
    },
    "groups": {
        "rows.jsonl": [
            {
                **{"id": "g", "reference": "Small effusion."},
                "candidates": [
                    {"text": "No effusion.", "errors": {"significant_omission": 1, "insignificant_omission": 2}}
                ],
            }
        ]
    },
    "rate": {
        "export.json": {
            **{"format": RATINGS_FORMAT, "digest": DIGEST, "rater": "Anne", "criteria": ["omission"]},
            "cases": [{**TEXTS, "rating": 3, "errors": [{"criterion": "omission", "significant": True}]}],
        },
        **KEY,
    },
    "label-studio": {
        **KEY,
        "export.json": [
            {
                "data": {"case": 1, **TEXTS, "digest": DIGEST, "criteria": ["omission"]},
                "annotations": [
                    {
                        **{"completed_by": {"id": 1, "email": "a@example.org"}, "was_cancelled": False},
                        "result": [
                            {"id": "r", "type": "rating", "value": {"rating": 3}},
                            {"id": "n", "type": "textarea", "value": {"text": ["See film."]}},
                            {"id": "e", "type": "labels", "value": {"labels": ["omission"]}},
                            {"id": "e", "type": "choices", "value": {"choices": ["insignificant"]}},
                        ],
                    }
                ],
            }
        ],
    },
}
VALUES = st.one_of(
    st.sampled_from([None, True, "", "1", "nan", 10**400, 1e30, float("nan"), float("inf"), -1, 2, 1001, [], {}]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    ),
)


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write the files of a layout, and return the source to convert."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
                writer = csv.DictWriter(file, list(dict.fromkeys(key for row in content for key in row)))
                writer.writeheader()
                writer.writerows(content)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in content))
        else:
            path.write_text(f"RANKING_TESTS = {content!r}" if path.suffix == ".py" else json.dumps(content), "utf-8")
    return folder if len(files) > 1 else path


def places(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Yield the place of each value in a file."""
    if steps:
        yield steps
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        yield from places(entry, (*steps, key))


def changed(files: dict[str, Any], steps: Steps, value: Any) -> dict[str, Any]:
    """Return the files with another value at a place."""
    result = deepcopy(files)
    parent: Any = result
    for step in steps[:-1]:
        parent = parent[step]
    parent[steps[-1]] = value
    return result


def read_back(layout: str, output: Path) -> object:
    if layout == "sentences":
        return read_judged_pairs(output)
    is_preferences = layout in ("rate-eval-triads", "radjudge", "green-preferences")
    return read_preferences(output) if is_preferences else read_rated_pairs(output)


def converted(layout: str, files: dict[str, Any]) -> str:
    """Convert and read again; return the error, which must be one line that names a file."""
    with TemporaryDirectory() as folder:
        output = Path(folder, "output.jsonl")
        try:
            source = write(Path(folder), files)
            convert(layout, sorted(source.iterdir()) if layout in JOINING_CONVERTERS else source, output)
        except InputError as error:
            message = str(error)
        else:
            read_back(layout, output)
            return ""
        assert folder in message
        assert len(message.splitlines()) == 1, message
        return message


def test_sources_cover_all_layouts() -> None:
    assert set(SOURCES) == {*CONVERTERS, *JOINING_CONVERTERS}
    assert not any(converted(layout, files) for layout, files in SOURCES.items())


@pytest.mark.parametrize("layout", sorted(SOURCES))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_changed_value_is_one_line_or_readable(layout: str, data: st.DataObject) -> None:
    files = SOURCES[layout]
    places_in_files = [steps for steps in places(files) if len(steps) > 2]
    steps = data.draw(st.sampled_from(places_in_files))
    converted(layout, changed(files, steps, data.draw(VALUES)))


ROW = ("rows.jsonl", 0)
JUDGEMENT = ("radiologist_annotations/user_1.json", "annotations", "a", "C1")
LIMITS: dict[tuple[str, Steps], tuple[float, float]] = {
    ("rexval", (COUNTS_FILE, 0, "num_errors")): (0, MAX_COUNT - 3),  # of 3 insignificant errors
    ("rate-eval-sentences", (*ROW, "Score")): (0, 3),
    ("rate-eval-sentences", (*ROW, "possible")): (2, MAX_COUNT),
    ("rate-eval-paragraphs", (*ROW, "Score")): (0, 5),
    ("rad100", (*ROW, MRScoreCriteria().tags[0])): (0, 1),
    ("radpref", (*JUDGEMENT, "rating")): (1, 5),
    ("sentence-eval", (*ROW, "Overall Score")): (4, 4),  # as in the other row
    ("sentences", (*ROW, "Sentence Score")): (-1, 1),
    ("sentences", (*ROW, "Overall Score")): (0, 5),
    ("green-preferences", ("rows.jsonl", 1, "confidence")): (1, 10),
    ("groups", (*ROW, "candidates", 0, "errors", "insignificant_omission")): (0, MAX_COUNT - 1),
    ("rate", ("export.json", "cases", 0, "rating")): (1, 5),
    ("label-studio", ("export.json", 0, "annotations", 0, "result", 0, "value", "rating")): (1, 5),
}
"""Layout and place of each number → the smallest and the largest that is accepted."""


@pytest.mark.parametrize(("layout", "steps"), LIMITS)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_number_beyond_its_limits_is_refused(layout: str, steps: Steps, data: st.DataObject) -> None:
    low, high = LIMITS[layout, steps]
    assert [converted(layout, changed(SOURCES[layout], steps, value)) for value in (low, high)] == ["", ""]
    numbers = st.integers() | st.floats(allow_nan=False) | st.sampled_from([1e30, 10**400, float("inf"), -float("inf")])
    beyond = data.draw(numbers.filter(lambda number: not low <= number <= high))
    assert "xpected" in converted(layout, changed(SOURCES[layout], steps, beyond))


@pytest.mark.parametrize(
    ("layout", "steps", "entries"),
    [
        (
            "radpref",
            (*JUDGEMENT, "missing_findings"),
            lambda count: {str(number): {"clinical_significance": "benign"} for number in range(count)},
        ),
        (
            "rate",
            ("export.json", "cases", 0, "errors"),
            lambda count: [{"criterion": "omission", "significant": True}] * count,
        ),
        (
            "label-studio",
            ("export.json", 0, "annotations", 0, "result"),
            lambda count: [
                {"id": str(number), "type": "labels", "value": {"labels": ["omission"]}} for number in range(count)
            ],
        ),
    ],
)
def test_more_entries_than_errors_allowed_are_refused(layout: str, steps: Steps, entries: Callable[[int], Any]) -> None:
    assert not converted(layout, changed(SOURCES[layout], steps, entries(MAX_COUNT)))
    error = converted(layout, changed(SOURCES[layout], steps, entries(MAX_COUNT + 1)))
    assert "Expected at most 1,000 errors of 'omission' by rater" in error
    assert error.endswith("but got 1,001.")
