import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import finding_quality
from radreward.criteria.quality import DEFAULT_PRIOR

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 3.5)
weights = st.floats(0, 100)


@pytest.mark.parametrize("prior", [0.0, DEFAULT_PRIOR, 1.0])
def test_finding_quality_of_tensors_equals_numbers(prior: float) -> None:
    pairs = list(itertools.product(WEIGHTS, WEIGHTS))
    matched, wrong = torch.tensor(pairs, dtype=torch.float64).unbind(1)
    expected = [finding_quality(*pair, prior) for pair in pairs]
    assert finding_quality(matched, wrong, prior).tolist() == pytest.approx(expected, abs=0)


@given(weights, weights, st.floats(0, 2))
def test_the_quality_is_a_share(matched: float, wrong: float, prior: float) -> None:
    assert 0 <= finding_quality(matched, wrong, prior) <= 1
    assert finding_quality(matched, 0.0, prior) == 1


@given(weights, weights, st.floats(0.01, 100))
def test_errors_lower_the_quality_and_matches_raise_it(matched: float, wrong: float, more: float) -> None:
    quality = finding_quality(matched, wrong)
    assert finding_quality(matched, wrong + more) < quality
    assert finding_quality(matched + more, wrong) >= quality


def test_an_unknown_weight_gives_no_quality() -> None:
    unknown = torch.tensor([torch.nan, 1.0])
    assert finding_quality(unknown, torch.ones(2)).isnan().tolist() == [True, False]
