"""Fits recover planted weights, are reproducible, and exclude the references of their evaluation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from scipy import stats
from torch import Tensor

from radreward.errors import InputError
from radreward.systems.ratescore import AffinityMatrix, PackedEntities, match_entities
from radreward.systems.ratescore.fitting.fit_evaluation import bootstrap_affinity, cross_validate_affinity
from radreward.systems.ratescore.fitting.optimizers import AffinityOptimizer, FitResult, GradientOptimizer, TPEOptimizer
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches, sample_ordered_pairs, tau_b_or_worst


def planted(pairs: int = 900, noise: float = 0.0, seed: int = 0) -> tuple[RatedMatches, AffinityMatrix]:
    """Return pairs of reports with random entities, three per reference, and the weights that give their quality."""
    random = torch.Generator().manual_seed(seed)
    counts = torch.randint(1, 10, (2 * pairs,), generator=random)
    entities = int(counts.sum())
    name, kind = (torch.randint(0, high, (entities,), generator=random) for high in (100, 5))
    sets = PackedEntities(name, kind, counts)
    embeddings = torch.randn(100, 8, generator=random) + 0.7
    sums = match_entities(
        embeddings, sets.select(torch.arange(pairs)), sets.select(torch.arange(pairs, 2 * pairs))
    ).type_pair_sums()
    weights = AffinityMatrix(torch.rand(5, 5, generator=random), 0.2)
    quality = weights.score(sums).detach() + noise * torch.randn(pairs, generator=random)
    return RatedMatches(sums, (quality * 50).round(), torch.arange(pairs) // 3), weights


def tau_of(weights: AffinityMatrix, rated: RatedMatches) -> float:
    return tau_b_or_worst(weights.score(rated.sums).detach(), rated.targets)


START = AffinityMatrix.from_preset("long")


def test_gradient_recovers_planted_weights() -> None:
    rated, weights = planted()
    train, test = rated.split(0.2, 0)
    fitted = GradientOptimizer(regularization=0.0, temperature=0.25).fit(START, train)
    best = tau_of(weights, test)
    assert tau_of(START, test) < best - 0.3
    assert tau_of(fitted.affinity, test) > best - 0.02
    assert (fitted.affinity.weight - weights.weight / weights.weight.max()).abs().mean() < 0.05
    assert fitted.affinity.penalty.item() == pytest.approx(0.2, abs=0.05)
    assert fitted.affinity.weight.max() == 1


def test_tpe_improves_on_the_initial_weights() -> None:
    rated, _ = planted(300)
    fitted = TPEOptimizer(n_trials=60, n_startup_trials=20).fit(START, rated)
    assert fitted.steps[0].train == pytest.approx(tau_of(START, rated))  # the first trial
    assert fitted.steps[-1].train == pytest.approx(tau_of(fitted.affinity, rated))
    assert fitted.steps[-1].train > fitted.steps[0].train + 0.05
    assert fitted.evaluations == 60
    assert 0 < fitted.search_seconds < fitted.seconds


@pytest.mark.parametrize(
    "method", [GradientOptimizer(max_pairs=500, max_steps=10), TPEOptimizer(n_trials=15, n_startup_trials=5)]
)
def test_same_seed_gives_the_same_weights(method: AffinityOptimizer) -> None:
    rated, _ = planted(150)
    first, second = (method.fit(START, *rated.split(0.3, 1)) for _ in range(2))
    assert first.affinity.to_dict() == second.affinity.to_dict()
    assert [step.train for step in first.steps] == [step.train for step in second.steps]


@pytest.mark.parametrize(
    "factory",
    [
        lambda seed: GradientOptimizer(max_pairs=200, max_steps=5, seed=seed),
        lambda seed: TPEOptimizer(12, n_startup_trials=5, seed=seed),
    ],
)
def test_another_seed_gives_other_weights(factory: Callable[[int], AffinityOptimizer]) -> None:
    rated, _ = planted(150)
    first, second = (factory(seed).fit(START, rated).affinity for seed in (0, 1))
    assert first.to_dict() != second.to_dict()


def test_regularization_keeps_weights_near_the_initial() -> None:
    rated, _ = planted(300)

    def distance(regularisation: float) -> float:
        weights = GradientOptimizer(regularization=regularisation).fit(START, rated).affinity
        return torch.dist(weights.weight, START.weight / START.weight.max()).item()

    assert distance(100.0) < 0.02 < distance(0.01) < distance(0.0)


def test_validation_stops_early() -> None:
    rated, _ = planted(90, noise=0.3, seed=2)  # few and noisy, so that a fit overfits
    train, validation = rated.split(0.3, 0)
    free = GradientOptimizer(regularization=0.0).fit(START, train)
    fitted = GradientOptimizer(regularization=0.0, patience=3).fit(START, train, validation)
    checked = [step.validation for step in fitted.steps if step.validation is not None]
    assert len(checked) == len(fitted.steps)
    assert checked == sorted(checked)
    assert tau_of(fitted.affinity, validation) == pytest.approx(checked[-1])
    assert tau_of(fitted.affinity, validation) > tau_of(free.affinity, validation)
    assert tau_of(fitted.affinity, train) < tau_of(free.affinity, train)
    assert fitted.evaluations < free.evaluations


def test_splits_keep_references_together() -> None:
    rated, _ = planted(300)
    first, second = rated.split(0.2, 5)
    assert not set(first.group.tolist()) & set(second.group.tolist())
    assert len(first.targets) + len(second.targets) == 300
    assert len(torch.unique(second.group)) == 20


class Recorder(AffinityOptimizer):
    """Optimizer that records its references and returns the initial weights."""

    def __init__(self) -> None:
        self.seen: list[set[int]] = []

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        rest = [] if validation is None else validation.group.tolist()
        self.seen.append({*train.group.tolist(), *rest})
        return FitResult(affinity=initial, steps=(), evaluations=0, seconds=0.0, search_seconds=0.0)


def test_held_out_folds_are_not_fitted() -> None:
    rated, weights = planted(150)
    recorder = Recorder()
    result = cross_validate_affinity(recorder, weights, rated, n_folds=5)
    held = [set(range(50)) - seen for seen in recorder.seen]
    assert sorted(itertools.chain(*held)) == list(range(50))
    assert result.initial == result.fitted
    assert all(value > 0.9 for value in result.initial)


def test_cross_validation_shows_the_improvement() -> None:
    rated, _ = planted(300)
    result = cross_validate_affinity(GradientOptimizer(max_pairs=5000), START, rated, n_folds=3)
    assert min(result.fitted) > max(result.initial) + 0.2


def test_intervals_contain_planted_weights_and_widen_with_noise() -> None:
    optimizer = GradientOptimizer(0.25, 0.0, max_steps=20, max_pairs=3000)
    narrow, wide = (
        bootstrap_affinity(optimizer, START, planted(300, noise)[0], n_resamples=8) for noise in (0.01, 0.2)
    )

    def width(result: object) -> Tensor:
        return (result.high.weight - result.low.weight).mean()  # type: ignore[attr-defined,no-any-return]

    assert (narrow.low.weight <= narrow.high.weight).all()
    assert narrow.low.penalty <= narrow.high.penalty
    assert 0 < width(narrow) < width(wide)
    _, weights = planted(300)
    scaled = weights.weight / weights.weight.max()
    inside = (scaled >= narrow.low.weight - 0.05) & (scaled <= narrow.high.weight + 0.05)
    assert inside.double().mean() > 0.7


def test_ordered_pairs_are_complete_or_sampled() -> None:
    quality = torch.tensor([1.0, 3.0, 3.0, 2.0])
    better, worse = sample_ordered_pairs(quality, 100, 0)
    assert set(zip(better.tolist(), worse.tolist(), strict=True)) == {(1, 0), (2, 0), (3, 0), (1, 3), (2, 3)}
    better, worse = sample_ordered_pairs(torch.arange(200) % 7, 1000, 0)
    assert 700 < len(better) < 1000
    assert ((better % 7) > (worse % 7)).all()


def test_tau_equals_scipy_and_is_worst_for_constants() -> None:
    x, y = torch.tensor([1.0, 2.0, 2.0, 4.0]), torch.tensor([1.0, 1.0, 3.0, 2.0])
    assert tau_b_or_worst(x, y) == stats.kendalltau([1, 2, 2, 4], [1, 1, 3, 2]).statistic
    assert tau_b_or_worst(torch.ones(4), y) == -1


def test_pairs_without_entities_are_dropped() -> None:
    rated, _ = planted(60)
    rated.sums.counts[:20], rated.sums.cosine_sums[:20] = 0, 0
    rated.targets[:20] = math.nan
    expected = GradientOptimizer(max_steps=5).fit(START, rated.select(torch.arange(20, 60))).affinity
    assert GradientOptimizer(max_steps=5).fit(START, rated).affinity.to_dict() == expected.to_dict()


def test_unusable_pairs_are_rejected() -> None:
    rated, _ = planted(30)
    with pytest.raises(InputError, match="30 pairs 30 have entities on both sides and 1 different values"):
        GradientOptimizer().fit(START, rated._replace(targets=torch.ones(30)))
    rated.sums.counts[:], rated.sums.cosine_sums[:] = 0, 0
    with pytest.raises(InputError, match="30 pairs 0 have entities"):
        TPEOptimizer(2).fit(START, rated)
    with pytest.raises(InputError, match="at least 5 references for 5 folds but got 2"):
        cross_validate_affinity(GradientOptimizer(), START, planted(6)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "`temperature` to be > 0"),
        ({"regularization": -1.0}, "`regularization` to be >= 0"),
        ({"max_steps": 0}, "`max_steps` to be >= 1"),
        ({"patience": 0}, "`patience` to be >= 1"),
        ({"max_pairs": 0}, "`max_pairs` to be >= 1"),
    ],
)
def test_settings_out_of_range_are_rejected(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientOptimizer(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`n_trials` to be >= 1"):
        TPEOptimizer(0)
