"""RaTEScore against reference values, a naive loop, and invariants for arbitrary entities."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from radreward.systems.ratescore import (
    AffinityMatrix,
    Matches,
    PackedEntities,
    TypePairSums,
    entity_contributions,
    match_entities,
    penalty_mask,
    precision_recall,
    ratescore,
    score_loss_by_type,
)
from radreward.systems.ratescore.functional import PenaltyRule
from radreward.types import ENTITY_TYPES

Side = list[tuple[int, int]]
"""Entities of a report: row of the embeddings and type."""

PRESENT, ABSENT = ("Abnormality", "Disease"), ("Non-Abnormality", "Non-Disease")
OPPOSED = {*product(PRESENT, ABSENT), *product(ABSENT, PRESENT)}

X, Y, BETWEEN, OPPOSITE = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0], [-1.0, 0.0, 0.0]
ABN, ANA, DIS, NON_ABN = range(4)
KNOWN: dict[str, tuple[list[tuple[list[float], int]], list[tuple[list[float], int]], list[float], list[float]]] = {
    "identical": ([(X, ANA), (Y, ABN)], [(X, ANA), (Y, ABN)], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "negation_flip": (
        [(X, ANA), (Y, ABN)],
        [(X, ANA), (Y, NON_ABN)],
        [0.9158886936136392, 0.9529200449002942, 0.9340374721663618],
        [0.6476949136091396, 0.8838745014839648, 0.7475743681459931],
    ),
    "missing_entity": (
        [(X, ANA), (Y, ABN)],
        [(X, ANA)],
        [0.31396224016513247, 1.0, 0.4778862444717973],
        [0.5258129603271992, 1.0, 0.6892233504353541],
    ),
    "duplicate_in_pred": (
        [(X, ANA), (Y, DIS)],
        [(X, ANA), (X, ANA), (BETWEEN, DIS)],
        [0.8504765065931577, 0.8806087681111671, 0.865280387653243],
        [0.9604245227860563, 0.9780395202257447, 0.9691519869713631],
    ),
    "cross_type": ([(X, DIS)], [(BETWEEN, ANA)], [0.6, 0.6, 0.6], [0.6, 0.6, 0.6]),
    "disease_vs_nonabnormality": (
        [(X, DIS)],
        [(X, NON_ABN)],
        [0.8716553966489615, 0.8716553966489615, 0.8716553966489615],
        [0.3611577852354489, 0.3611577852354489, 0.3611577852354489],
    ),
    "negative_cosine": ([(X, DIS)], [(OPPOSITE, DIS)], [-1.0, -1.0, -1.0], [-1.0, -1.0, -1.0]),
}
"""Entities of reference and candidate; both directions and score of the reference implementation, long and short."""


@pytest.mark.parametrize("name", KNOWN)
def test_scores_equal_the_reference_implementation(name: str) -> None:
    first, second, *expected = KNOWN[name]
    embeddings = torch.tensor([vector for vector, _ in first + second], dtype=torch.float64)
    reference = [(row, kind) for row, (_, kind) in enumerate(first)]
    candidate = [(row, kind) for row, (_, kind) in enumerate(second, len(first))]
    matches = matches_of(embeddings, [reference], [candidate])
    for preset, values in zip(("long", "short"), expected, strict=True):
        weights = AffinityMatrix.from_preset(preset, clamp_cosines=False)
        directions = precision_recall(weights.type_pair_sums(matches), weights.weight, weights.penalty)
        assert [*directions[0].tolist(), weights(matches).item()] == pytest.approx(values, abs=1e-9)


def test_negative_cosines_are_clamped_by_default() -> None:
    matches = matches_of(torch.tensor([X, OPPOSITE]), [[(0, DIS)]], [[(1, DIS)]])
    assert AffinityMatrix.from_preset("long")(matches).tolist() == [0.0]


def sets(reports: list[Side]) -> PackedEntities:
    entities = [entity for report in reports for entity in report]
    name, kind = (torch.tensor([entity[at] for entity in entities], dtype=torch.int64) for at in (0, 1))
    return PackedEntities(name, kind, torch.tensor([len(report) for report in reports]))


def matches_of(embeddings: Tensor, references: list[Side], candidates: list[Side], budget: int = 2**22) -> Matches:
    return match_entities(embeddings, sets(references), sets(candidates), budget)


def naive_direction(
    embeddings: np.ndarray, queries: Side, others: Side, weights: AffinityMatrix
) -> tuple[float, list[float]]:
    """Return the score of one direction and its unnormalized terms w(1 - f·cos), entity by entity."""
    top = bottom = 0.0
    terms = []
    for name, kind in queries:
        x = embeddings[name]
        best: tuple[float, bool, int] | None = None
        for other_name, other_kind in others:
            y = embeddings[other_name]
            cosine = float(x @ y / math.sqrt(float(x @ x)) / math.sqrt(float(y @ y)))
            match = (cosine, other_kind == kind, -other_kind)
            best = match if best is None or _better(match, best) else best
        assert best is not None
        cosine = max(0.0, best[0]) if weights.clamp_cosines else best[0]
        other = -best[2]
        names = (ENTITY_TYPES[kind], ENTITY_TYPES[other])
        hit = names in OPPOSED if weights.penalty_rule == "opposed" else kind != other
        w = weights.weight[kind, other].item()
        term = (weights.penalty.item() if hit else 1.0) * cosine
        top, bottom = top + w * term, bottom + w
        terms.append(w * (1 - term))
    return (top / bottom if bottom else 0.0), terms


def _better(match: tuple[float, bool, int], best: tuple[float, bool, int]) -> bool:
    return match[0] > best[0] + 1e-12 or (abs(match[0] - best[0]) <= 1e-12 and match[1:] > best[1:])


def naive_score(embeddings: np.ndarray, reference: Side, candidate: Side, weights: AffinityMatrix) -> float:
    if not reference or not candidate:
        return math.nan
    first, _ = naive_direction(embeddings, reference, candidate, weights)
    second, _ = naive_direction(embeddings, candidate, reference, weights)
    return 2 * first * second / (first + second) if first + second else 0.0


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tensor, list[Side], list[Side]]:
    """Embeddings in general position, and pairs of reports that share names and may be empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.integers(1, 6))
    report = st.lists(st.tuples(st.integers(0, names - 1), st.integers(0, 4)), max_size=6)
    both = draw(st.lists(st.tuples(report, report), min_size=1, max_size=5))
    embeddings = torch.from_numpy(rng.normal(size=(names, 4)))
    return embeddings, [pair[0] for pair in both], [pair[1] for pair in both]


def random_weights(seed: int, rule: PenaltyRule = "opposed", clamp: bool = True) -> AffinityMatrix:
    rng = np.random.default_rng(seed)
    weight = torch.from_numpy(rng.uniform(size=(5, 5)) * (rng.uniform(size=(5, 5)) > 0.3))
    weight[0, 0] = 0.5
    return AffinityMatrix(weight, float(rng.uniform()), rule, clamp)


@pytest.mark.parametrize("rule", ["opposed", "mismatch"])
@pytest.mark.parametrize("clamp", [True, False])
@settings(max_examples=40)
@given(data=pairs(), seed=st.integers(0, 1000), budget=st.sampled_from([1, 200, 2**22]))
def test_scores_equal_a_naive_loop(
    rule: PenaltyRule, clamp: bool, data: tuple[Tensor, list[Side], list[Side]], seed: int, budget: int
) -> None:
    embeddings, references, candidates = data
    weights = random_weights(seed, rule, clamp)
    scores = weights(matches_of(embeddings, references, candidates, budget)).tolist()
    expected = [naive_score(embeddings.numpy(), *pair, weights) for pair in zip(references, candidates, strict=True)]
    assert scores == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(data=pairs(), seed=st.integers(0, 1000), shuffle=st.randoms(use_true_random=False))
def test_order_of_entities_does_not_matter(
    data: tuple[Tensor, list[Side], list[Side]], seed: int, shuffle: Any
) -> None:
    embeddings, references, candidates = data
    weights = random_weights(seed)
    before = weights(matches_of(embeddings, references, candidates)).tolist()
    for report in (*references, *candidates):
        shuffle.shuffle(report)
    after = weights(matches_of(embeddings, references, candidates)).tolist()
    assert after == pytest.approx(before, abs=1e-12, nan_ok=True)


@given(data=pairs(), seed=st.integers(0, 1000))
def test_scores_are_in_range_and_symmetric(data: tuple[Tensor, list[Side], list[Side]], seed: int) -> None:
    embeddings, references, candidates = data
    weights = random_weights(seed)
    scores = weights(matches_of(embeddings, references, candidates))
    defined = torch.tensor([bool(x) and bool(y) for x, y in zip(references, candidates, strict=True)])
    assert torch.equal(~scores.isnan(), defined)
    assert ((scores[defined] >= 0) & (scores[defined] <= 1)).all()
    # W is indexed by the query in both directions, so the harmonic mean is symmetric.
    swapped = weights(matches_of(embeddings, candidates, references))
    assert swapped.tolist() == pytest.approx(scores.tolist(), abs=1e-12, nan_ok=True)


@given(data=pairs(), seed=st.integers(0, 1000))
def test_report_has_score_one_with_itself(data: tuple[Tensor, list[Side], list[Side]], seed: int) -> None:
    embeddings, references, _ = data
    weights = random_weights(seed)
    with torch.no_grad():
        weights.weight.add_(0.01)
    scores = weights(matches_of(embeddings, references, references))
    expected = [1.0 if report else math.nan for report in references]
    assert scores.tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("clamp", [True, False])
@given(data=pairs(), seed=st.integers(0, 1000))
def test_losses_sum_to_one_minus_score(clamp: bool, data: tuple[Tensor, list[Side], list[Side]], seed: int) -> None:
    embeddings, references, candidates = data
    weights = random_weights(seed, clamp=clamp)
    matches = matches_of(embeddings, references, candidates)
    explained = weights.entity_contributions(matches)
    by_type = score_loss_by_type(matches, explained)
    scores = weights(matches).detach()
    assert by_type.sum(1).tolist() == pytest.approx((1 - scores).tolist(), abs=1e-6, rel=1e-6, nan_ok=True)
    if clamp:
        assert (explained.score_loss >= -1e-12).all()


def test_contributions_name_matched_entities() -> None:
    embeddings = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], dtype=torch.float64)
    matches = matches_of(embeddings, [[(0, 2), (2, 1)]], [[(2, 1), (1, 4)]])
    weights = AffinityMatrix.from_preset("short")
    explained = weights.entity_contributions(matches)
    assert matches.direction.tolist() == [0, 0, 1, 1]
    assert matches.query_index.tolist() == [0, 1, 0, 1]
    assert matches.match_index.tolist() == [1, 0, 1, 1]
    assert matches.cosine.tolist() == pytest.approx([0.6, 1.0, 1.0, 0.8])
    table, p = weights.weight, weights.penalty.item()
    expected = [table[2, 4], table[1, 1], table[1, 1], table[4, 1]]
    assert explained.weight.tolist() == [value.item() for value in expected]
    assert explained.penalty.tolist() == [p, 1.0, 1.0, 1.0]
    assert explained.score_loss[[1, 2]].tolist() == pytest.approx([0, 0])


def test_loss_is_assigned_to_types() -> None:
    """One of two anatomies and the only disease are missing in the other report, with equal weights."""
    embeddings = torch.eye(4, dtype=torch.float64)
    matches = matches_of(embeddings, [[(0, 1), (1, 1), (2, 2)]], [[(0, 1)]])
    weights = AffinityMatrix(torch.ones(5, 5), 1.0)
    assert weights(matches).tolist() == pytest.approx([0.5])  # P = 1/3, R = 1
    # α = R / (P + R) = 3/4 of P's losses of 1/3 each.
    assert score_loss_by_type(matches, weights.entity_contributions(matches)).tolist() == [
        pytest.approx([0, 0.25, 0.25, 0, 0])
    ]


def test_zero_weights_give_zero() -> None:
    weight = torch.zeros(5, 5)
    weight[1, 1] = 1
    matches = matches_of(torch.eye(2, dtype=torch.float64), [[(0, 2), (1, 0)]], [[(0, 2)]])
    weights = AffinityMatrix(weight, 0.5)
    assert weights(matches).tolist() == [0.0]
    assert score_loss_by_type(matches, weights.entity_contributions(matches)).tolist() == [
        pytest.approx([0.25, 0, 0.75, 0, 0])
    ]


def test_report_without_entities_has_the_undefined_score() -> None:
    matches = matches_of(torch.eye(2), [[], [(0, 1)], [(0, 1)], []], [[(0, 1)], [], [(0, 1)], []])
    weights = AffinityMatrix.from_preset("long")
    assert weights.type_pair_sums(matches).defined.tolist() == [False, False, True, False]
    assert weights(matches).isnan().tolist() == [True, True, False, True]
    assert weights(matches, undefined_score=0.5).tolist() == [0.5, 0.5, pytest.approx(1), 0.5]
    losses = score_loss_by_type(matches, weights.entity_contributions(matches))
    assert losses.isnan().all(1).tolist() == [True, True, False, True]


def test_reports_without_entities_have_no_matches() -> None:
    matches = matches_of(torch.zeros(0, 3), [[], []], [[], []])
    assert AffinityMatrix.from_preset("long")(matches).isnan().tolist() == [True, True]


def test_ties_prefer_the_same_type() -> None:
    embeddings = torch.tensor([[0.3, 0.4], [1.0, 0.0]])
    matches = matches_of(embeddings, [[(0, 2)], [(0, 2)]], [[(0, 4), (1, 0), (0, 2)], [(0, 4), (0, 3)]])
    assert matches.match_type[matches.direction == 0].tolist() == [2, 3]


def test_penalty_mask_follows_the_rule() -> None:
    names = [(x, y) for x in ENTITY_TYPES for y in ENTITY_TYPES]
    assert {pair for pair, hit in zip(names, penalty_mask("opposed").flatten(), strict=True) if hit} == OPPOSED
    assert {pair for pair, hit in zip(names, penalty_mask("mismatch").flatten(), strict=True) if hit} == {
        (x, y) for x, y in names if x != y
    }


def test_gradients_equal_finite_differences() -> None:
    torch.manual_seed(0)
    embeddings = torch.randn(8, 3, dtype=torch.float64)
    side = [[(at % 8, (at * 3) % 5) for at in range(start, start + 6)] for start in range(6)]
    sums = matches_of(embeddings, side, side[1:] + side[:1]).type_pair_sums()
    weight = torch.rand(5, 5, dtype=torch.float64, requires_grad=True)
    penalty = torch.rand((), dtype=torch.float64, requires_grad=True)
    for rule in ("opposed", "mismatch"):
        assert torch.autograd.gradcheck(lambda w, p, rule=rule: ratescore(sums, w, p, rule), (weight, penalty))


def test_gradients_are_finite_for_zero_weights() -> None:
    count = torch.zeros(2, 2, 5, 5, dtype=torch.float64)
    count[0, :, 2, 2] = 1
    weight, penalty = torch.zeros(5, 5, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    ratescore(TypePairSums(count, count), weight, penalty, undefined_score=0.0).sum().backward()  # type: ignore[no-untyped-call]
    for value in (weight, penalty):
        assert value.grad is not None
        assert torch.isfinite(value.grad).all()


def test_scale_of_weights_does_not_change_scores() -> None:
    side: list[Side] = [[(0, 2), (1, 0), (2, 4)], [(1, 2), (2, 3)]]
    sums = matches_of(torch.rand(3, 3, dtype=torch.float64), side, side[::-1]).type_pair_sums()
    weight, penalty = torch.rand(5, 5, dtype=torch.float64), torch.tensor(0.3)
    assert torch.allclose(ratescore(sums, weight, penalty), ratescore(sums, weight * 7, penalty), atol=1e-12)


def test_invalid_embeddings_and_lengths_are_rejected() -> None:
    with pytest.raises(ValueError, match="as many candidates as references"):
        matches_of(torch.eye(2), [[]], [[], []])
    with pytest.raises(ValueError, match="finite"):
        matches_of(torch.tensor([[math.nan]]), [[(0, 0)]], [[(0, 0)]])


def test_entity_contributions_changes_no_input() -> None:
    matches = matches_of(torch.eye(2), [[(0, 2)]], [[(1, 2)]])
    weights = AffinityMatrix.from_preset("long")
    again = entity_contributions(matches, weights.weight, weights.penalty)
    assert all(torch.equal(x, y) for x, y in zip(again, weights.entity_contributions(matches), strict=True))
