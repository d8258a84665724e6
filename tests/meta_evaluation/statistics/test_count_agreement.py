import numpy as np
import pytest

from radreward.meta_evaluation.statistics.count_agreement import calibration_bins, count_agreement


def test_count_agreement_ignores_missing_counts_and_rounds_halves_up() -> None:
    predicted, target = np.array([0.4, 1.2, 2.5, np.nan, 1.0]), np.array([0.0, 1.5, 3.0, 1.0, np.nan])
    agreement = count_agreement(predicted, target)
    assert agreement.n == 3
    assert [agreement.mae, agreement.std] == pytest.approx([0.4, np.array([0.4, 0.3, 0.5]).std(ddof=1)])
    assert agreement.accuracy == pytest.approx(2 / 3)  # 0 and 0, 1 and 2, 3 and 3
    assert count_agreement(predicted[3:], target[3:]).n == 0


def test_calibration_bins_hold_every_pair_once() -> None:
    rng = np.random.default_rng(0)
    predicted, target = rng.integers(0, 5, 200) / 2, rng.integers(0, 4, 200).astype(float)
    bins = calibration_bins(predicted, target)
    sizes = [size for *_, size in bins]
    assert sum(sizes) == 200
    assert sum(mean * size for mean, _, size in bins) == pytest.approx(predicted.sum())
    assert sum(mean * size for _, mean, size in bins) == pytest.approx(target.sum())
    assert [entry[0] for entry in bins] == sorted(entry[0] for entry in bins)
    assert calibration_bins(np.zeros(3), np.ones(3)) == [[0.0, 1.0, 3]]
