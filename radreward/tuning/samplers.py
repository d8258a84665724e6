"""Samplers that depend only on seed and trial number, so suggestions are identical across workers and restarts."""

from __future__ import annotations

import warnings

import numpy as np
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from radreward.tuning.study_config import StudyConfig


def create_sampler(config: StudyConfig, trial_number: int) -> BaseSampler:
    """Return the sampler of one trial, seeded by the study and the number of the trial.

    A single generator per study would repeat its suggestions in a second worker and after a restart.
    A grid needs no sampler: its combinations are enqueued, see `radreward.tuning.study.claim_trial`.
    """
    seed = int(np.random.SeedSequence([config.seed, trial_number]).generate_state(1)[0])
    if config.sampler != "tpe":
        return RandomSampler(seed=seed)
    # Few random trials in a short study, but at least one more than there are dimensions.
    n_startup_trials = min(10, max(len(config.space.parameters) + 1, config.trials // 4))
    with warnings.catch_warnings():
        # `group` is experimental; without it, conditional parameters disable `multivariate`.
        warnings.simplefilter("ignore", ExperimentalWarning)
        return TPESampler(
            n_startup_trials=n_startup_trials,
            seed=seed,
            multivariate=True,
            constant_liar=True,
            group=config.space.is_conditional,
        )
