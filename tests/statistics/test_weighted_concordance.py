"""Concordance forms against the matrix of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.statistics import weighted_concordance as concordance
from radreward.statistics.weighted_concordance import ClusteredRows, ConcordanceForm, untied_pairs

N_CLUSTERS = 9


@pytest.fixture(params=[(2_000, 256, 4_000_000), (0, 6, 60)], ids=["dense", "grid"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set block sizes: the dense matrix, and small blocks with weights in chunks."""
    for name, value in zip(("_MAX_DENSE_ROWS", "_MIN_BLOCK_ROWS", "MAX_ARRAY_ELEMENTS"), request.param, strict=True):
        monkeypatch.setattr(concordance, name, value)


def rows(rng: np.random.Generator, max_rows: int = 60) -> ClusteredRows:
    """Return rows with many or no ties, in any order of clusters."""
    n = int(rng.integers(1, max_rows))
    x, y = (rng.integers(0, rng.integers(1, 80), n) / 7 for _ in range(2))
    return ClusteredRows(x, y, rng.integers(0, N_CLUSTERS, n))


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("start", range(0, 120, 40))
def test_form_matches_matrix_of_all_pairs(start: int) -> None:
    for seed in range(start, start + 40):
        rng = np.random.default_rng(seed)
        left, right = rows(rng), rows(rng)
        weights = rng.integers(0, 4, (N_CLUSTERS, 30)).astype(np.uint8)
        form = ConcordanceForm(left, right, N_CLUSTERS)
        signs = np.sign(left.x[:, None] - right.x) * np.sign(left.y[:, None] - right.y)
        by_cluster = np.zeros((N_CLUSTERS, N_CLUSTERS))
        np.add.at(by_cluster, (left.cluster[:, None], right.cluster), signs)
        np.testing.assert_array_equal(form.evaluate(weights), [w @ by_cluster @ w for w in weights.T.astype(float)])
        np.testing.assert_array_equal(form.row_sums, by_cluster.sum(1))
        np.testing.assert_array_equal(form.column_sums, by_cluster.sum(0))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_untied_pairs_match_loop(values: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster, weights = rng.integers(0, N_CLUSTERS, len(values)), rng.integers(0, 4, (N_CLUSTERS, 3))
    result = untied_pairs(np.array(values, dtype=float), cluster, weights)
    for number, w in enumerate(weights.T[:, cluster]):
        pairs = [w[i] * w[j] for i, a in enumerate(values) for j, b in enumerate(values) if a != b]
        assert result[number] == sum(pairs)


def test_form_does_not_store_matrix_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    n = 6_000
    side = ClusteredRows(rng.normal(size=n), rng.normal(size=n), np.arange(n))
    form = ConcordanceForm(side, side, n)
    stored = sum(block.matrix.size for block in form._blocks)
    assert stored < 4 * n**1.5
    assert form.evaluate(np.ones((n, 1)))[0] == pytest.approx(form.row_sums.sum())
