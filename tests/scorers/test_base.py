"""Inputs of every scorer: any sequence, read by position; missing texts have a status."""

from collections.abc import Callable, Sequence
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.lexical import ROUGE
from radreward.types import Scores

TEXTS = ["clear lungs", "small left effusion", "no edema"]
REPORTS = st.lists(st.sampled_from([*TEXTS, "", "NA", None]), max_size=8)
SEQUENCES: dict[str, Callable[[Sequence[str | None]], Any]] = {
    "tuple": tuple,
    "numpy": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, dtype=object),
    "pandas, text type": lambda texts: pd.Series(texts, index=range(len(texts), 0, -1), dtype="string"),
    "pandas, reversed labels": lambda texts: pd.Series(texts, index=range(len(texts))[::-1], dtype=object),
    "pandas, one label": lambda texts: pd.Series(texts, index=[0] * len(texts), dtype=object),
    "pandas, Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "polars": lambda texts: pl.Series(texts, dtype=pl.String),
    "Arrow array": lambda texts: pa.array(texts, pa.string()),
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]], pa.string()),
    "datasets": lambda texts: datasets.Dataset(pa.table({"text": pa.array(texts, pa.string())}))["text"],
    "generator": iter,
}


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return ROUGE("1")


@pytest.mark.parametrize("kind", SEQUENCES)
@settings(max_examples=20)
@given(data=st.data())
def test_any_sequence_is_read_by_position(scorer: Scorer, kind: str, data: st.DataObject) -> None:
    references: list[Any] = data.draw(REPORTS)
    candidates: list[Any] = data.draw(st.permutations(references))
    expected = scorer.score(references, candidates)
    make = SEQUENCES[kind]
    for pair in ((make(references), make(candidates)), (make(references), candidates)):
        scores = scorer.score(*pair)
        assert scores.status == expected.status
        np.testing.assert_array_equal(scores.total, expected.total)


@given(references=REPORTS, data=st.data())
def test_windows_keep_rows_and_have_the_candidates_of_a_reference_side_by_side(
    references: list[Any], data: st.DataObject
) -> None:
    candidates: list[Any] = data.draw(st.permutations(references))
    expected = ROUGE("1").score(references, candidates)
    windows: list[list[str]] = []

    class InWindows(ROUGE):
        pairs_per_window = 2

        def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
            windows.append(list(references))
            return super()._score_valid(references, candidates)

    scores = InWindows("1").score(references, candidates)
    assert scores.status == expected.status
    np.testing.assert_array_equal(scores.total, expected.total)
    assert all(len(window) == 2 for window in windows[:-1])
    seen = [text for window in windows for text in window]
    assert seen == sorted(seen, key=seen.index)


def test_context_of_another_type_is_refused(scorer: Scorer) -> None:
    wrong: list[Any] = [None, {"age": 70}]
    with pytest.raises(InputError, match="contexts, index 1: Expected a `PatientContext` or None but got dict"):
        scorer.score(TEXTS[:2], TEXTS[:2], wrong)


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, "nan", "NaN", "NA", "n/a", " null ", "None"]
)
def test_missing_text_has_a_status_at_its_row(scorer: Scorer, missing: Any) -> None:
    scores = scorer.score(TEXTS, [TEXTS[0], missing, TEXTS[2]])
    assert scores.status == ("ok", "missing candidate", "ok")
    assert scores.total.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ("clear lungs", "str"),
        (b"clear lungs", "bytes"),
        ({"a": "clear lungs"}, "dict"),
        ({"clear lungs"}, "set"),
        (pd.DataFrame({"reference": TEXTS}), "DataFrame"),
        (pl.DataFrame({"reference": TEXTS}), "DataFrame"),
        (pa.table({"reference": TEXTS}), "Table"),
        (np.array("clear lungs"), "ndarray"),
        (np.array([TEXTS]), "ndarray"),
        (None, "NoneType"),
        (3, "int"),
    ],
)
def test_value_that_is_no_sequence_of_texts_is_refused(scorer: Scorer, texts: Any, kind: str) -> None:
    with pytest.raises(InputError, match=f"references: Expected a sequence of texts but got a {kind}"):
        scorer.score(texts, TEXTS)
    with pytest.raises(InputError, match=f"candidates: Expected a sequence of texts but got a {kind}"):
        scorer.score(TEXTS, texts)


def test_frame_filtered_and_shuffled_scores_its_rows() -> None:
    frame = pd.DataFrame({"reference": TEXTS, "candidate": TEXTS[::-1]}).sample(frac=1, random_state=3)
    frame = frame[frame["reference"] != TEXTS[0]]
    scores = ROUGE("1").score(frame["reference"], frame["candidate"])
    pairs = zip(frame["reference"], frame["candidate"], strict=True)
    expected = [ROUGE("1").score([reference], [candidate]).total.item() for reference, candidate in pairs]
    assert scores.total.tolist() == expected


def _chexpert(candidate: Any = "Clear lungs.") -> Scores:
    candidates = ["Small left effusion.", candidate]
    return load("chexpert-f1").score(["Small left effusion.", "Clear lungs."], candidates)


def test_scores_become_a_data_frame_with_named_columns() -> None:
    candidates: list[Any] = ["Left effusion.", None]
    scores = load("ratescore").score(["Small left effusion."] * 2, candidates)
    frame = scores.to_pandas(index=["x", "y"])
    assert list(frame.index) == ["x", "y"]
    assert list(frame.columns)[0] == "total"
    assert list(frame.columns)[-2:] == ["status", "evidence"]
    assert scores.sub_scores is not None
    np.testing.assert_array_equal(frame[list(scores.sub_names or ())].to_numpy(np.float32), scores.sub_scores)
    np.testing.assert_array_equal(frame["total"].to_numpy(np.float32), scores.total)
    counted = load("er2score").score(["Clear lungs."], ["Clear lungs."])
    assert counted.count_names is not None
    assert {f"count_{tag}" for tag in counted.count_names} < set(counted.to_pandas().columns)


def test_repr_is_one_short_line_that_names_the_first_missing_row() -> None:
    assert repr(_chexpert()) == "Scores(2 pairs, mean total 1)"
    missing = "Scores(2 pairs, mean total 1, 1 without a score, the first at index 1: missing candidate)"
    assert repr(_chexpert(None)) == missing
    assert repr(load("chexpert-f1").score([], [])) == "Scores(0 pairs)"


def test_html_marks_the_differences_of_a_pair_and_escapes_text() -> None:
    scores = Scores(torch.tensor([0.5]), None, None, ("<b>",), ({"missing": ["<i>a"], "extra": ["b&c"]},))
    html = scores._repr_html_()
    assert "<del>&lt;i&gt;a</del> <ins>b&amp;c</ins>" in html
    assert "<b>" not in html
    other = Scores(torch.tensor([0.5]), None, None, ("ok",), (["<script>"],))._repr_html_()
    assert "<pre>[&#x27;&lt;script&gt;&#x27;]</pre>" in other


def test_html_lists_what_entity_f1_does_not_read() -> None:
    odd = "Spidery lines in the left <lower> lobe."
    shown = load("entity-f1").score(["Left effusion."], [f"Left effusion. {odd}"])._repr_html_()
    assert "<p>Not read: Spidery lines in the left &lt;lower&gt; lobe.</p>" in shown
