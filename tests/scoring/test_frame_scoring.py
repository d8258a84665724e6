"""Data frames in, data frames out: rows keep their labels, whatever these are."""

from typing import Any

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import radreward
from radreward.errors import InputError
from radreward.scorers import load
from radreward.scoring.frame_scoring import score_frame

ROWS: dict[str, Any] = {
    "case": ["a", "b", "c", "d"],
    "ref": ["small left effusion", "clear lungs", "no edema", "rib fracture"],
    "hyp": ["left effusion", "clear lungs", None, "normal"],
}


def test_shuffled_and_filtered_frame_keeps_labels_and_pairs() -> None:
    frame = pd.DataFrame(ROWS, index=["w", "x", "y", "z"]).iloc[[3, 0, 2]]
    scored = score_frame(frame, "rouge-l", "ref", "hyp", progress=False)
    assert list(scored.index) == ["z", "w", "y"]
    assert list(scored.columns) == ["case", "ref", "hyp", "total", "status"]
    expected = [
        load("rouge-l").score([ref], [hyp]).total.item() for ref, hyp in zip(frame["ref"], frame["hyp"], strict=True)
    ]
    assert scored["total"].tolist() == pytest.approx(expected, nan_ok=True)
    assert scored["status"].tolist() == ["ok", "ok", "missing candidate"]
    assert list(frame.columns) == ["case", "ref", "hyp"]  # the input is unchanged


def test_repeated_labels_are_allowed() -> None:
    scored = score_frame(pd.DataFrame(ROWS, index=[1, 1, 1, 1]), "rouge-l", "ref", "hyp", progress=False)
    assert scored["total"].notna().tolist() == [True, True, False, True]


def test_several_models_have_prefixed_columns_equal_to_their_own() -> None:
    frame = pd.DataFrame(ROWS)
    names = ["rouge-l", "chexpert-f1"]
    scored = score_frame(frame, names, "ref", "hyp", progress=False)
    for name in names:
        single = score_frame(frame, name, "ref", "hyp", progress=False).drop(columns=frame.columns)
        pd.testing.assert_frame_equal(scored[[f"{name}_{column}" for column in single]], single.add_prefix(f"{name}_"))


def test_references_of_all_rows_are_used_by_a_scorer_that_needs_them() -> None:
    frame = pd.DataFrame({"reference": ROWS["ref"], "candidate": ROWS["ref"]})
    expected = load("cider").fit_references(ROWS["ref"]).score(ROWS["ref"], ROWS["ref"]).total
    assert score_frame(frame, "cider", progress=False)["total"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(ROWS), pa.table(ROWS), datasets.Dataset.from_dict(ROWS)],
    ids=lambda frame: type(frame).__name__,
)
def test_other_frames_are_converted(frame: object) -> None:
    expected = score_frame(pd.DataFrame(ROWS), "rouge-l", "ref", "hyp", progress=False)
    scored = score_frame(frame, "rouge-l", "ref", "hyp", progress=False)
    pd.testing.assert_frame_equal(scored, expected, check_dtype=False)


def test_empty_frame_has_the_columns() -> None:
    scored = score_frame(pd.DataFrame(ROWS).iloc[:0], load("rouge-l"), "ref", "hyp", progress=False)
    assert (len(scored), list(scored.columns[-2:])) == (0, ["total", "status"])


def test_unusable_frame_raises() -> None:
    frame = pd.DataFrame(ROWS)
    with pytest.raises(
        InputError, match=r"frame: Expected a column 'reference' but got case, ref, hyp\. Set `referenc"
    ):
        radreward.score_frame(frame)
    with pytest.raises(InputError, match="frame: Expected no column 'total'; the scorer writes it"):
        score_frame(frame.assign(total=1), "rouge-l", "ref", "hyp")
    with pytest.raises(InputError, match="Did you mean rouge-l"):
        score_frame(frame, "rouge-ll", "ref", "hyp")
