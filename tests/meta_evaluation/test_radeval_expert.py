"""RadEval's expert set on made-up rows in the published layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.io.validated_rows import RowError
from radreward.meta_evaluation.converters import convert
from radreward.meta_evaluation.converters.radeval_expert import CATEGORY_TAGS, _parse_annotation
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from tests.meta_evaluation.written_rows import write_rows

CATEGORIES = (
    *("False prediction of finding", "Omission of finding", "Incorrect location/position of finding"),
    *("Incorrect severity of finding", "Mention of comparison that is not present in the reference"),
    *("Omission of a change from a previous study", "Inarticulate report (grammar and readability issues)"),
)


def annotation(significant: Sequence[Any], insignificant: Sequence[Any]) -> str:
    levels = (("**Significant:**", significant), ("Insignificant:", insignificant))
    return "\n".join(
        line
        for heading, counts in levels
        for line in (
            heading,
            *(f"{n}. {name}: {c}" for n, (name, c) in enumerate(zip(CATEGORIES, counts, strict=True), 1)),
        )
    )


def radeval_row(number: int, path: str = "files/p10000001/s1/a.jpg") -> dict[str, Any]:
    """Return a row whose K-th candidate has K significant errors per category, and `number` insignificant ones."""
    return {
        **{"annotator": "reader", "type": "findings", "ground_truth": f"Reference {number}.", "images_path": path},
        **{f"prediction{k}": f"Candidate {k}." for k in (1, 2, 3)},
        **{f"annotation{k}": annotation([k] * 7, [number] * 7) for k in (1, 2, 3)},
    }


def test_convert_radeval_expert_keeps_counts_by_criterion_and_significance(tmp_path: Path) -> None:
    paths = ("files/p10000001/s1/a.jpg", "other/p10000001/s2/b.jpg", "train/patient7/study1/c.jpg", "x/d.png")
    source = write_rows(tmp_path / "a.csv", [radeval_row(number, path) for number, path in enumerate(paths)])
    assert main(["convert", "--from", "radeval-expert", f"--input={source}", f"--output={tmp_path / 'a.jsonl'}"]) == 0
    pairs = read_rated_pairs(tmp_path / "a.jsonl")
    assert pairs.criteria == CATEGORY_TAGS == (*RadCliQCriteria().tags, "inarticulate_report")
    assert (len(pairs), pairs.num_clusters, pairs.raters) == (12, 3, ("reader",))
    assert [row.group for row in pairs.rows][::3] == ["p10000001", "p10000001", "patient7", "x/d.png"]
    row = pairs.rows[4]
    assert (row.id, row.reference, row.candidate) == ("2/2", "Reference 1.", "Candidate 2.")
    assert row.significant_errors["reader"] == dict.fromkeys(CATEGORY_TAGS, 2)
    assert row.errors["reader"] == dict.fromkeys(CATEGORY_TAGS, 3)
    by_name = {target.name: target.values for target in pairs.targets}
    assert by_name["errors"].tolist() == [7 * (k + n) for n, k in product(range(4), (1, 2, 3))]


def test_category_without_an_integer_has_no_count_and_is_left_out(tmp_path: Path) -> None:
    row = radeval_row(0)
    row["annotation2"] = annotation([1, "", 1, 1, 1, 1, 1], [0, 0, "one", 0, 0, -1, 0])
    convert("radeval-expert", write_rows(tmp_path / "a.csv", [row]), tmp_path / "a.jsonl")
    pairs = read_rated_pairs(tmp_path / "a.jsonl")
    errors = list(pairs.rows[1].errors["reader"].values())
    assert np.isnan(errors).tolist() == [False, True, True, False, False, True, False]
    [errors_target, *_] = pairs.targets
    assert "1 of 3 pairs have no value and are left out" in errors_target.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotation3": ""}, "field 'annotation3': Expected a text that is not empty"),
        (
            {"annotation1": "Significant:\n1. A: 2"},
            "field 'annotation1': Expected a line 'Insignificant:' but got none",
        ),
        ({"annotation1": "Significant:\nSignificant:"}, "Expected one line 'Significant:' but got a second one"),
        (
            {"annotation2": "Significant:\n1. A: 2\n1. A: 3"},
            "field 'annotation2': Expected each category once per level",
        ),
        ({"prediction2": ""}, "field 'prediction2': Expected a text that is not empty"),
        ({"images_path": ""}, "field 'images_path': Expected a text that is not empty"),
        ({"annotation1": annotation([1001] + [0] * 6, [0] * 7)}, "Expected at most 1,000 errors of 'false_prediction'"),
    ],
)
def test_radeval_expert_invalid_row_is_named(tmp_path: Path, change: dict[str, str], message: str) -> None:
    source = write_rows(tmp_path / "a.csv", [radeval_row(0), radeval_row(1) | change])
    with pytest.raises(InputError, match=rf"a.csv, (row 2|pair '2/1'): .*{message}"):
        convert("radeval-expert", source, tmp_path / "a.jsonl")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 999999), min_size=14, max_size=14), st.sampled_from(["", "*", "## ", "\t"]))
def test_annotation_has_the_counts_that_were_written(counts: list[int], mark: str) -> None:
    text = annotation(counts[:7], counts[7:]).replace("Insignificant:", f"\n{mark}INSIGNIFICANT{mark}\nA comment: 3\n")
    parsed = _parse_annotation(text, "annotation1")
    assert [*parsed["significant"].values(), *parsed["insignificant"].values()] == counts


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*annotation([1] * 7, [0] * 7).splitlines(), "1) x: 2", "9. y: 1", ": 3"])))
def test_any_lines_give_counts_or_one_error(lines: list[str]) -> None:
    with suppress(RowError):
        parsed = _parse_annotation("\n".join(lines), "annotation1")
        assert all(value in (0, 1, 2) or math.isnan(value) for counts in parsed.values() for value in counts.values())
