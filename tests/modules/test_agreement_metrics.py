"""Agreement of rewards with error counts, against scipy and a naive loop."""

import itertools
import math

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import roc_auc_score

from radreward.criteria import Criteria
from radreward.models import Calibration
from radreward.modules.agreement_metrics import (
    cross_fitted_counts,
    errors_agreement,
    errors_by_row,
    has_errors,
    predicted_count_agreement,
    render_metric_table,
    reward_agreement,
    total_agreement,
    undefined_auc_notes,
)
from radreward.modules.predictions import PredictedCounts, ScoredCandidates

CRITERIA = Criteria(
    "two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long.", "weight": 0.5}]
)


@pytest.fixture
def candidates() -> ScoredCandidates:
    generator = torch.Generator().manual_seed(3)
    errors = torch.randint(0, 4, (24, 2), generator=generator).float()
    rewards = -errors + torch.randn(24, 2, generator=generator)
    return ScoredCandidates(rewards, errors, torch.arange(24) // 3)


def test_reward_agreement_equals_scipy_and_naive_loop(candidates: ScoredCandidates) -> None:
    counts = candidates.errors + torch.tensor([0.5, -0.25])
    metrics = reward_agreement(CRITERIA, candidates, counts)
    quality = CRITERIA.target_rewards(candidates.errors)
    columns = {"tone": [0], "length": [1], "total": [0, 1]}
    for tag, column in columns.items():
        reward, target = candidates.rewards[:, column].sum(1).double(), quality[:, column].sum(1).double()
        assert metrics[tag]["tau_b"] == pytest.approx(kendalltau(reward, target).statistic, abs=1e-5)
        perfect = kendalltau(target + torch.linspace(0, 1e-6, 24, dtype=torch.float64), target).statistic
        assert metrics[tag]["max_tau_b"] == pytest.approx(perfect, abs=1e-6)
        has_error = target < 0
        assert metrics[tag]["auc"] == pytest.approx(roc_auc_score(~has_error, reward), abs=1e-6)
        assert metrics[tag]["spearman"] == pytest.approx(spearmanr(reward, target).statistic, abs=1e-5)
        pairs = [
            (reward[i] - reward[j]) * (target[i] - target[j]) > 0
            for i, j in itertools.combinations(range(24), 2)
            if i // 3 == j // 3 and target[i] != target[j]
        ]
        assert metrics[tag]["pair_accuracy"] == pytest.approx(np.mean(pairs), abs=1e-6)
    count_tau_b = kendalltau(counts[:, 0].round(), candidates.errors[:, 0]).statistic
    assert metrics["tone"]["count_tau_b"] == pytest.approx(count_tau_b, abs=1e-5)
    assert metrics["tone"]["count_mae"] == pytest.approx(0.5)
    assert metrics["length"]["count_mae"] == pytest.approx(0.25)
    assert metrics["total"]["count_mae"] == pytest.approx(0.25)  # 0.5 - 0.25
    exact = [round(c.item()) == e.item() for c, e in zip(counts[:, 0], candidates.errors[:, 0], strict=True)]
    assert metrics["tone"]["accuracy"] == pytest.approx(np.mean(exact), abs=1e-6)
    assert metrics["length"]["accuracy"] == 1.0


def test_undefined_metric_is_none_and_rendered_as_dash(candidates: ScoredCandidates) -> None:
    constant = candidates._replace(errors=candidates.errors * torch.tensor([1.0, 0.0]))
    metrics = reward_agreement(CRITERIA, constant, None)
    assert metrics["length"]["tau_b"] is None
    assert metrics["tone"]["tau_b"] is not None
    assert "count_mae" not in metrics["total"]
    console = Console(record=True, width=100)
    console.print(render_metric_table(metrics, "All"))
    lines = console.export_text().splitlines()
    assert next(line for line in lines if "length" in line).count("–") == 4
    assert f"{metrics['tone']['tau_b']:.2f}" in next(line for line in lines if "tone" in line)
    assert [line for line in lines if "total" in line][-1] == [
        line for line in lines if any(c.isdigit() for c in line)
    ][-1]


def test_cross_fitted_counts_use_calibration_of_other_half(candidates: ScoredCandidates) -> None:
    counts = cross_fitted_counts(candidates)
    assert counts is not None
    even = candidates.group % 2 == 0
    torch.testing.assert_close(
        counts[even],
        Calibration.fit(candidates.rewards[~even], candidates.errors[~even]).predict_counts(candidates.rewards[even]),
    )
    changed = candidates._replace(errors=torch.where(even[:, None], candidates.errors + 1, candidates.errors))
    again = cross_fitted_counts(changed)
    assert again is not None
    torch.testing.assert_close(again[even], counts[even])  # unaffected by its own errors
    assert not torch.allclose(again[~even], counts[~even])


def test_cross_fitted_counts_of_one_reference_is_none(candidates: ScoredCandidates) -> None:
    assert cross_fitted_counts(candidates._replace(group=torch.zeros(24, dtype=torch.int64))) is None


def test_errors_agreement_orders_without_ties_and_states_the_rounded_number_too(candidates: ScoredCandidates) -> None:
    target = candidates.errors.sum(1)
    predicted = (target + 0.3 * candidates.rewards[:, 0]).clamp_min(0)
    row = errors_agreement(
        torch.cat([predicted, torch.tensor([math.nan])]), torch.cat([target, target[:1]]), torch.zeros(25)
    )
    assert row["tau_b"] == pytest.approx(kendalltau(predicted, target).statistic, abs=1e-5)
    assert row["count_tau_b"] == pytest.approx(kendalltau(predicted.round(), target).statistic, abs=1e-5)
    assert row["tau_b"] != row["count_tau_b"]
    assert row["count_mae"] == pytest.approx(float((predicted - target).abs().mean()), abs=1e-5)
    assert row["auc"] == pytest.approx(roc_auc_score(target > 0, predicted), abs=1e-5)


def test_reward_agreement_is_finite_or_none(candidates: ScoredCandidates) -> None:
    metrics = reward_agreement(CRITERIA, candidates._replace(rewards=torch.zeros(24, 2)), None)
    values = [value for row in metrics.values() for value in row.values()]
    assert None in values
    assert all(value is None or math.isfinite(value) for value in values)


def test_undefined_auc_has_a_reason(candidates: ScoredCandidates) -> None:
    errors = torch.stack([candidates.errors[:, 0] + 1, torch.zeros(24)], 1)
    wrong = dict(
        zip(("tone", "length", "total", "quality"), (*has_errors(CRITERIA, errors).T, errors[:, 0] > 1), strict=True)
    )
    agreement = reward_agreement(CRITERIA, candidates._replace(errors=errors), None)
    assert undefined_auc_notes(agreement, wrong) == [
        "tone: AUC is undefined, because every candidate has an error.",
        "length: AUC is undefined, because no candidate has an error.",
        "total: AUC is undefined, because every candidate has an error.",
    ]
    equal = total_agreement(CRITERIA, torch.zeros(24), candidates.errors, candidates.group)
    assert equal["total"]["auc"] is None
    assert undefined_auc_notes(equal, errors_by_row(CRITERIA, candidates.errors)) == [
        "total: AUC is undefined, because all scores are equal."
    ]


def test_auc_of_ratings_is_undefined() -> None:
    rated = Criteria("rated", [{"name": "clarity", "description": "Clear.", "kind": "rating"}])
    assert not has_errors(rated, torch.ones(3, 1)).any()


def test_auc_of_predicted_counts_equals_sklearn(candidates: ScoredCandidates) -> None:
    counts = candidates.errors + 2 * torch.rand(24, 2, generator=torch.Generator().manual_seed(1))
    counts[3, 0] = torch.nan
    names = tuple(map(str, candidates.group.tolist()))
    metrics = predicted_count_agreement(CRITERIA, PredictedCounts(counts, candidates.errors, names))
    for tag, column in {"tone": [0], "length": [1], "total": [0, 1]}.items():
        stated = (counts * torch.tensor([1.0, 0.5]))[:, column].sum(1)
        has_error = candidates.errors[:, column].sum(1) > 0
        parsed = ~stated.isnan()
        assert metrics[tag]["auc"] == pytest.approx(roc_auc_score(has_error[parsed], stated[parsed]), abs=1e-6)
