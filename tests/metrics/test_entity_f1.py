"""Entity F1 against manual counts and seqeval."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.metrics.entity_f1 import EntityF1Metric, entity_match_counts, word_tags
from radreward.types import ENTITY_TYPES, Entity


def entities(*spans: tuple[int, int, str]) -> list[Entity]:
    return [Entity("x" * (end - start), kind, start, end) for start, end, kind in spans]


TEXT = "mild edema and clear lungs"
TARGET = entities((0, 10, "Abnormality"), (15, 20, "Non-Abnormality"), (21, 26, "Anatomy"))


def scored(predicted: list[Entity], overlap: bool = False) -> dict[str, float]:
    scores = EntityF1Metric(overlap)
    scores.update([TEXT], [predicted], [TARGET])
    return {name: float(value) for name, value in scores.compute().items()}


def test_entity_f1_matches_manual_count() -> None:
    predicted = entities((5, 10, "Abnormality"), (15, 20, "Non-Abnormality"))
    exact, overlapping = scored(predicted), scored(predicted, overlap=True)
    assert (exact["precision"], exact["recall"], exact["f1"]) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert (overlapping["precision"], overlapping["recall"], overlapping["f1"]) == pytest.approx((1, 2 / 3, 4 / 5))
    assert exact["accuracy"] == pytest.approx(
        2 / 5
    )  # "and" and "clear"; "edema" starts too late, "mild" and "lungs" are missing
    assert exact["f1/Non-Abnormality"] == 1
    assert exact["f1/Anatomy"] == 0
    assert math.isnan(exact["precision/Disease"])
    assert math.isnan(exact["f1/Disease"])


def test_entity_of_other_type_is_not_matched() -> None:
    assert scored(entities((0, 10, "Disease")), overlap=True)["f1"] == 0


def test_entity_f1_independent_of_sentence_order() -> None:
    forward, backward = EntityF1Metric(), EntityF1Metric()
    parts = [(TEXT, TARGET[:1], TARGET), ("x", [], []), (TEXT, TARGET, TARGET[1:])]
    for text, predicted, target in parts:
        forward.update([text], [predicted], [target])
    backward.update(*map(list, zip(*reversed(parts), strict=True)))
    assert all(
        torch.equal(forward.compute()[name], value) or value.isnan() for name, value in backward.compute().items()
    )


def test_different_lengths_raise_value_error() -> None:
    with pytest.raises(ValueError, match=r"as many predictions and targets as sentences \(1\) but got 0 and 1"):
        EntityF1Metric().update(["x"], [], [[]])


@st.composite
def _spans(draw: st.DrawFn) -> list[Entity]:
    """Draw entities of whole words in a text of ten two-letter words."""
    spans, start = [], 0
    while start < 10:
        size = draw(st.integers(0, 3))
        if size:
            end = min(start + size, 10)
            spans.append((3 * start, 3 * end - 1, draw(st.sampled_from(ENTITY_TYPES))))
            start = end
        else:
            start += 1
    return entities(*spans)


@given(st.lists(st.tuples(_spans(), _spans()), min_size=1, max_size=4))
def test_entity_f1_matches_seqeval(pairs: list[tuple[list[Entity], list[Entity]]]) -> None:
    seqeval = pytest.importorskip("seqeval.metrics", reason="needs seqeval, of the extra dev")
    text = " ".join(["xx"] * 10)
    predicted_tags, target_tags = ([word_tags(text, side) for side in column] for column in zip(*pairs, strict=True))
    scores = EntityF1Metric()
    scores.update([text] * len(pairs), [p for p, _ in pairs], [k for _, k in pairs])
    values = scores.compute()
    for name, function in (
        ("precision", seqeval.precision_score),
        ("recall", seqeval.recall_score),
        ("f1", seqeval.f1_score),
        ("accuracy", seqeval.accuracy_score),
    ):
        options = {} if name == "accuracy" else {"zero_division": 0}
        assert values[name].nan_to_num().item() == pytest.approx(
            float(function(target_tags, predicted_tags, **options)), abs=1e-12
        )


@given(_spans(), _spans())
def test_match_counts_symmetric(first: list[Entity], second: list[Entity]) -> None:
    for overlap in (False, True):
        counts = entity_match_counts(first, second, overlap)
        assert torch.equal(counts, entity_match_counts(second, first, overlap)[[1, 0, 3, 2]])
        assert (counts[2] <= counts[0]).all()
    exact = entity_match_counts(first, second)
    assert torch.equal(exact[2], exact[3])
    assert (exact[2] <= entity_match_counts(first, second, overlap=True)[2]).all()
