"""Agreement with known errors, against scipy and by hand."""

import itertools
import math

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy.stats import kendalltau, spearmanr

from radreward.criteria import Criteria
from radreward.models import Calibration
from radreward.modules import ScoredCandidates, render_metric_table
from radreward.modules.agreement_metrics import cross_fitted_counts, reward_agreement

CRITERIA = Criteria(
    "two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long.", "weight": 0.5}]
)


@pytest.fixture
def judged() -> ScoredCandidates:
    generator = torch.Generator().manual_seed(3)
    errors = torch.randint(0, 4, (24, 2), generator=generator).float()
    rewards = -errors + torch.randn(24, 2, generator=generator)
    return ScoredCandidates(rewards, errors, torch.arange(24) // 3)


def test_every_measure_is_as_scipy_and_hand_have_it(judged: ScoredCandidates) -> None:
    counts = judged.errors + torch.tensor([0.5, -0.25])
    found = reward_agreement(CRITERIA, judged, counts)
    quality = CRITERIA.quality(judged.errors)
    columns = {"tone": [0], "length": [1], "total": [0, 1]}
    for tag, column in columns.items():
        reward, known = judged.rewards[:, column].sum(1).double(), quality[:, column].sum(1).double()
        assert found[tag]["tau_b"] == pytest.approx(kendalltau(reward, known).statistic, abs=1e-5)
        perfect = kendalltau(known + torch.linspace(0, 1e-6, 24, dtype=torch.float64), known).statistic
        assert found[tag]["tau_b_limit"] == pytest.approx(perfect, abs=1e-6)
        assert found[tag]["spearman"] == pytest.approx(spearmanr(reward, known).statistic, abs=1e-5)
        pairs = [
            (reward[i] - reward[j]) * (known[i] - known[j]) > 0
            for i, j in itertools.combinations(range(24), 2)
            if i // 3 == j // 3 and known[i] != known[j]
        ]
        assert found[tag]["pair_accuracy"] == pytest.approx(np.mean(pairs), abs=1e-6)
    whole = kendalltau(counts[:, 0].round(), judged.errors[:, 0]).statistic
    assert found["tone"]["count_tau_b"] == pytest.approx(whole, abs=1e-5)
    assert found["tone"]["count_mae"] == pytest.approx(0.5)
    assert found["length"]["count_mae"] == pytest.approx(0.25)
    assert found["total"]["count_mae"] == pytest.approx(0.25)  # 0.5 - 0.25


def test_what_is_not_defined_is_none_and_shown_as_a_dash(judged: ScoredCandidates) -> None:
    constant = judged._replace(errors=judged.errors * torch.tensor([1.0, 0.0]))
    found = reward_agreement(CRITERIA, constant, None)
    assert found["length"]["tau_b"] is None
    assert found["tone"]["tau_b"] is not None
    assert "count_mae" not in found["total"]
    console = Console(record=True, width=100)
    console.print(render_metric_table(found, "All"))
    lines = console.export_text().splitlines()
    assert next(line for line in lines if "length" in line).count("–") == 3
    assert f"{found['tone']['tau_b']:.2f}" in next(line for line in lines if "tone" in line)
    assert [line for line in lines if "total" in line][-1] == [
        line for line in lines if any(c.isdigit() for c in line)
    ][-1]


def test_counts_come_from_the_calibration_of_the_other_half(judged: ScoredCandidates) -> None:
    counts = cross_fitted_counts(judged)
    assert counts is not None
    even = judged.group % 2 == 0
    torch.testing.assert_close(
        counts[even], Calibration.fit(judged.rewards[~even], judged.errors[~even]).predict_counts(judged.rewards[even])
    )
    changed = judged._replace(errors=torch.where(even[:, None], judged.errors + 1, judged.errors))
    again = cross_fitted_counts(changed)
    assert again is not None
    torch.testing.assert_close(again[even], counts[even])  # its own errors play no part
    assert not torch.allclose(again[~even], counts[~even])


def test_one_reference_has_no_other_half(judged: ScoredCandidates) -> None:
    assert cross_fitted_counts(judged._replace(group=torch.zeros(24, dtype=torch.int64))) is None


def test_figures_are_finite_or_none(judged: ScoredCandidates) -> None:
    found = reward_agreement(CRITERIA, judged._replace(rewards=torch.zeros(24, 2)), None)
    values = [value for row in found.values() for value in row.values()]
    assert None in values
    assert all(value is None or math.isfinite(value) for value in values)
