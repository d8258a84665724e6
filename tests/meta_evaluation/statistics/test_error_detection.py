"""Area under the ROC curve, against sklearn, and its interval against resampling of cases."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from radreward.meta_evaluation.statistics.error_detection import error_detection
from radreward.statistics.cluster_bootstrap import resample_clusters


def test_error_detection_equals_sklearn_without_missing_rows() -> None:
    rng = np.random.default_rng(0)
    x, errors = rng.integers(0, 6, 60).astype(float), rng.choice([0.0, 1 / 3, 0.5, 2.0], 60)
    x[3], errors[7] = np.nan, np.nan
    cluster, counts = np.arange(60) // 3, resample_clusters(20, 200, 0)
    detection = error_detection(x, errors, cluster, counts)
    defined = ~np.isnan(x + errors)
    has_error = errors >= 0.5
    assert (detection.n, detection.n_with_error) == (58, int(has_error[defined].sum()))
    assert detection.auc.value == pytest.approx(roc_auc_score(~has_error[defined], x[defined]), abs=1e-12)
    samples = []
    for resample in counts:
        rows = np.repeat(np.arange(60), resample[cluster])
        rows = rows[defined[rows]]
        samples.append(roc_auc_score(~has_error[rows], x[rows]))
    expected = np.percentile(samples, [2.5, 97.5])
    assert [detection.auc.low, detection.auc.high] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(detection.auc.p)
    assert detection.note is None


@pytest.mark.parametrize(
    ("scores", "errors", "note"),
    [
        ([1.0, 2.0], [0.0, 0.0], "no candidate has an error"),
        ([1.0, 2.0], [1.0, 2.0], "every candidate has an error"),
        ([1.0, 1.0], [0.0, 2.0], "all scores are 1"),
        ([np.nan, 1.0], [0.0, np.nan], "no pair has both a score and a count"),
    ],
)
def test_undefined_area_has_a_reason(scores: list[float], errors: list[float], note: str) -> None:
    detection = error_detection(np.array(scores), np.array(errors), np.arange(2), resample_clusters(2, 9, 0))
    assert np.isnan(detection.auc.value)
    assert np.isnan(detection.auc.low)
    assert detection.note == note


def test_area_of_one_case_has_no_interval() -> None:
    counts = resample_clusters(1, 9, 0)
    detection = error_detection(np.array([2.0, 1.0]), np.array([0.0, 1.0]), np.zeros(2, dtype=np.int64), counts)
    assert (detection.auc.value, detection.note) == (1.0, "only one case: no interval")
    assert np.isnan(detection.auc.low)
