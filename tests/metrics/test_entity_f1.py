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
KNOWN = entities((0, 10, "Abnormality"), (15, 20, "Non-Abnormality"), (21, 26, "Anatomy"))


def scored(predicted: list[Entity], overlap: bool = False) -> dict[str, float]:
    scores = EntityF1Metric(overlap)
    scores.update([TEXT], [predicted], [KNOWN])
    return {name: float(value) for name, value in scores.compute().items()}


def test_by_hand() -> None:
    predicted = entities((5, 10, "Abnormality"), (15, 20, "Non-Abnormality"))
    exact, overlapping = scored(predicted), scored(predicted, overlap=True)
    assert (exact["precision"], exact["recall"], exact["f1"]) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert (overlapping["precision"], overlapping["recall"], overlapping["f1"]) == pytest.approx((1, 2 / 3, 4 / 5))
    assert exact["accuracy"] == pytest.approx(
        2 / 5
    )  # "and" and "clear"; "edema" begins too late, "mild", "lungs" missing
    assert exact["f1/Non-Abnormality"] == 1
    assert exact["f1/Anatomy"] == 0
    assert math.isnan(exact["precision/Disease"])
    assert math.isnan(exact["f1/Disease"])


def test_another_type_is_wrong() -> None:
    assert scored(entities((0, 10, "Disease")), overlap=True)["f1"] == 0


def test_sentences_add_up_in_any_order() -> None:
    one, two = EntityF1Metric(), EntityF1Metric()
    parts = [(TEXT, KNOWN[:1], KNOWN), ("x", [], []), (TEXT, KNOWN, KNOWN[1:])]
    for text, predicted, known in parts:
        one.update([text], [predicted], [known])
    two.update(*map(list, zip(*reversed(parts), strict=True)))
    assert all(torch.equal(one.compute()[name], value) or value.isnan() for name, value in two.compute().items())


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match=r"as many predictions and known entities as sentences \(1\) but got 0 and 1"):
        EntityF1Metric().update(["x"], [], [[]])


@st.composite
def _spans(draw: st.DrawFn) -> list[Entity]:
    """Entities of whole words of a text of ten words of two letters."""
    found, at = [], 0
    while at < 10:
        size = draw(st.integers(0, 3))
        if size:
            end = min(at + size, 10)
            found.append((3 * at, 3 * end - 1, draw(st.sampled_from(ENTITY_TYPES))))
            at = end
        else:
            at += 1
    return entities(*found)


@given(st.lists(st.tuples(_spans(), _spans()), min_size=1, max_size=4))
def test_equals_seqeval(pairs: list[tuple[list[Entity], list[Entity]]]) -> None:
    seqeval = pytest.importorskip("seqeval.metrics", reason="seqeval is the oracle; it comes with the extra dev")
    text = " ".join(["xx"] * 10)
    ours, theirs = ([word_tags(text, side) for side in column] for column in zip(*pairs, strict=True))
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
        assert values[name].nan_to_num().item() == pytest.approx(float(function(theirs, ours, **options)), abs=1e-12)


@given(_spans(), _spans())
def test_counts_mirror(one: list[Entity], other: list[Entity]) -> None:
    for overlap in (False, True):
        counts = entity_match_counts(one, other, overlap)
        assert torch.equal(counts, entity_match_counts(other, one, overlap)[[1, 0, 3, 2]])
        assert (counts[2] <= counts[0]).all()
    exact = entity_match_counts(one, other)
    assert torch.equal(exact[2], exact[3])
    assert (exact[2] <= entity_match_counts(one, other, overlap=True)[2]).all()
