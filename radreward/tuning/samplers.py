"""Who chooses what a trial tries: the same choice whichever worker asks, and after whatever was killed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from radreward.tuning.study_config import StudyConfig


def create_sampler(config: StudyConfig) -> BaseSampler:
    """The sampler of a study."""
    if config.sampler == "grid":
        return OrderedGridSampler(config)
    if config.sampler == "random":
        return ReseededSampler(lambda seed: RandomSampler(seed=seed), config.seed)
    # Half of a short study at random would leave little to learn from; one trial more than there are directions is
    # the least that tells anything.
    startup = min(10, max(len(config.space.parameters) + 1, config.trials // 4))

    def make(seed: int) -> BaseSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # `group`: without it conditions undo `multivariate`
            return TPESampler(
                n_startup_trials=startup,
                seed=seed,
                multivariate=True,
                constant_liar=True,
                group=config.space.is_conditional,
            )

    return ReseededSampler(make, config.seed)


class ReseededSampler(BaseSampler):
    """A sampler made anew for every trial, its seed drawn from that of the study and the number of the trial.

    One generator for a whole study would give two workers the same trials, and a study that was continued those that it
    has had.

    Args:
        make: From a seed to a sampler.
        seed: Of the study.
    """

    def __init__(self, factory: Callable[[int], BaseSampler], seed: int) -> None:
        self.factory, self.seed = factory, seed
        self.sampler = factory(seed)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Make the sampler of the trial."""
        self.sampler = self.factory(int(np.random.SeedSequence([self.seed, trial.number]).generate_state(1)[0]))
        self.sampler.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """As the trial's sampler does."""
        return self.sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """As the trial's sampler does."""
        return self.sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """As the trial's sampler does."""
        return self.sampler.sample_independent(study, trial, param_name, param_distribution)


class OrderedGridSampler(BaseSampler):
    """Trial k tries the k-th combination.

    (Optuna's own takes them in any order, and two workers may take the same.)

    Args:
        settings: The study.
    """

    def __init__(self, config: StudyConfig) -> None:
        self.combinations = config.space.grid()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Nothing: each value stands by itself."""
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Nothing."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The value in the trial's combination."""
        return self.combinations[trial.number][param_name]
