import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.statistics import weighted_concordance as concordance
from radreward.statistics.weighted_concordance import ClusteredRows, ConcordanceForm, untied_pairs

CASES = 9


@pytest.fixture(params=[(2_000, 256, 4_000_000), (0, 6, 60)], ids=["whole", "grid"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs at once, and blocks of few rows with draws in parts."""
    for name, value in zip(("_WHOLE", "_SIDE", "CELLS"), request.param, strict=True):
        monkeypatch.setattr(concordance, name, value)


def rows(rng: np.random.Generator, most: int = 60) -> ClusteredRows:
    """Some with many ties, some with none, in any order of cases."""
    n = int(rng.integers(1, most))
    x, y = (rng.integers(0, rng.integers(1, 80), n) / 7 for _ in range(2))
    return ClusteredRows(x, y, rng.integers(0, CASES, n))


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("begin", range(0, 120, 40))
def test_forms_are_those_of_the_matrix_of_all_pairs(begin: int) -> None:
    for seed in range(begin, begin + 40):
        rng = np.random.default_rng(seed)
        left, right = rows(rng), rows(rng)
        weights = rng.integers(0, 4, (CASES, 30)).astype(np.uint8)
        form = ConcordanceForm(left, right, CASES)
        every = np.sign(left.x[:, None] - right.x) * np.sign(left.y[:, None] - right.y)
        by_case = np.zeros((CASES, CASES))
        np.add.at(by_case, (left.cluster[:, None], right.cluster), every)
        np.testing.assert_array_equal(form.evaluate(weights), [w @ by_case @ w for w in weights.T.astype(float)])
        np.testing.assert_array_equal(form.row_sums, by_case.sum(1))
        np.testing.assert_array_equal(form.column_sums, by_case.sum(0))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_pairs_that_differ_are_those_that_are_counted(values: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, weights = rng.integers(0, CASES, len(values)), rng.integers(0, 4, (CASES, 3))
    found = untied_pairs(np.array(values, dtype=float), case, weights)
    for number, w in enumerate(weights.T[:, case]):
        pairs = [w[i] * w[j] for i, a in enumerate(values) for j, b in enumerate(values) if a != b]
        assert found[number] == sum(pairs)


def test_no_matrix_of_all_pairs_is_held() -> None:
    rng = np.random.default_rng(0)
    n = 6_000
    side = ClusteredRows(rng.normal(size=n), rng.normal(size=n), np.arange(n))
    form = ConcordanceForm(side, side, n)
    held = sum(piece.matrix.size for piece in form._blocks)
    assert held < 4 * n**1.5
    assert form.evaluate(np.ones((n, 1)))[0] == pytest.approx(form.row_sums.sum())
