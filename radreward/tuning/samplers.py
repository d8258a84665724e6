"""Samplers seeded by study and trial index, so that a restarted study with one worker suggests the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from radreward.tuning.optuna_warnings import allow_experimental
from radreward.tuning.retries import trial_index
from radreward.tuning.study_config import StudyConfig


class SamplerPerTrial(BaseSampler):
    """The sampler of a study, created anew for every trial.

    A single generator per study would repeat its suggestions in a second worker and after a restart.
    """

    def __init__(self, config: StudyConfig) -> None:
        self.config = config
        self._sampler: BaseSampler = RandomSampler()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Create the sampler of the trial."""
        self._sampler = create_sampler(self.config, trial_index(study, trial))
        self._sampler.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that are sampled together."""
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of the parameters that are sampled together."""
        return self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value of one parameter."""
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


def create_sampler(config: StudyConfig, index: int) -> BaseSampler:
    """Return the sampler of one trial, seeded by the study and the index of the trial."""
    seed = int(np.random.SeedSequence([config.seed, index]).generate_state(1)[0])
    if config.sampler == "grid":  # not `GridSampler`: it has no conditional parameters, and its order is random
        combinations = config.space.grid()
        with allow_experimental():
            return PartialFixedSampler(combinations[index % len(combinations)], RandomSampler(seed=seed))
    if config.sampler == "random":
        return RandomSampler(seed=seed)
    # Few random trials in a short study, but at least one more than there are dimensions.
    n_startup_trials = min(10, max(len(config.space.parameters) + 1, config.trials // 4))
    with allow_experimental():  # `group`; without it, conditional parameters disable `multivariate`
        return TPESampler(
            n_startup_trials=n_startup_trials,
            seed=seed,
            multivariate=True,
            constant_liar=True,
            group=config.space.is_conditional,
        )
