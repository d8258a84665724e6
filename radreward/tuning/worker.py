"""Workers: processes that run the trials of a study, one after the other."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from optuna.exceptions import TrialPruned
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from radreward.io.outputs import claimed_file, claimed_folder
from radreward.io.terminal import print_status
from radreward.tuning.retries import (
    FOLDER_ATTR,
    HOST_ATTR,
    REASON_ATTR,
    has_failed_before,
    is_retry,
    last_attempts,
    queue_interrupted_trials,
    queue_new_trial,
    trial_index,
)
from radreward.tuning.search_space import MAX_SHOWN_PARAMETERS, ParameterValue
from radreward.tuning.seed_means import rank_settings
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import StudyError, TrialResult, TrialRunner, check_trial_folder, run_trial


@contextmanager
def starting_lock(folder: Path) -> Iterator[None]:
    """Wait until no other worker in the folder of a study creates the study or starts a trial."""
    with claimed_file(folder / "study.db", wait=True):
        yield


class TrialFailed(Exception):
    """A trial failed for a stored reason. The study continues."""


class TrialLost(BaseException):
    """Another worker took a trial over.

    This is a `BaseException`, because Optuna would store an `Exception` as a failure.
    """


class StudyWorker:
    """One process that runs trials of a study, in its folder."""

    def __init__(self, study: Study, config: StudyConfig, runner: TrialRunner, folder: Path) -> None:
        self.study, self.config, self.runner, self.folder = study, config, runner, folder

    def run_next_trial(self) -> bool:
        """Run an interrupted trial, or else a new one. Return False if the study is complete."""
        with ExitStack() as running, ExitStack() as starting:
            starting.enter_context(starting_lock(self.folder))
            queue_interrupted_trials(self.study, self.folder)
            trials = last_attempts(self.study).values()
            if not any(trial.state == TrialState.WAITING for trial in trials):
                if len(trials) >= self.config.trials:
                    return False
                queue_new_trial(self.study, self.folder)

            def objective(trial: Trial) -> float:
                return self._run_trial(trial, starting, running)

            try:
                self.study.optimize(objective, n_trials=1, catch=TrialFailed, gc_after_trial=True)
            except TrialLost as lost:
                print_status(lost)
            else:
                print_status(f"study {self.config.study}: {_progress_summary(self.study, self.config)}")
        return True

    def _run_trial(self, trial: Trial, starting: ExitStack, running: ExitStack) -> float:
        """Run a trial in its folder and return its value.

        Closes `starting` when the next worker may start a trial. Claims the folder until `running` closes, after the
        result is stored: a trial that runs in an unclaimed folder counts as interrupted.

        Raises:
            TrialPruned: If the pruner stopped the trial.
            TrialFailed: If the trial failed.
            TrialLost: If another worker took it over.
            StudyError: If every other trial would fail with the same error.
        """
        values = self.config.space.suggest(trial)
        index = trial_index(self.study, self._stored(trial))
        folder = self.folder / "trials" / str(index)
        trial.set_user_attr(HOST_ATTR, platform.node())
        trial.set_user_attr(FOLDER_ATTR, str(folder.absolute()))
        check_trial_folder(folder)
        running.enter_context(claimed_folder(folder))
        starting.close()  # the next worker takes the values of this trial into account
        attempt = _attempt(self.study, self._stored(trial))
        print_status(f"trial {index} of {self.config.trials}{attempt}: {_describe(values)}")
        start = time.monotonic()
        try:
            result = run_trial(self.config, self.runner, trial, index, values, folder)
        except StudyError as error:
            trial.set_user_attr(REASON_ATTR, str(error))
            raise
        if self._stored(trial).state.is_finished():
            raise TrialLost(f"trial {index}: another worker took it over after missing heartbeats; its result counts")
        print_status(f"trial {index}: {self._outcome(result, time.monotonic() - start)}")
        if result.reason:
            trial.set_user_attr(REASON_ATTR, result.reason)
        if result.state == TrialState.PRUNED:
            raise TrialPruned
        if result.value is None:
            raise TrialFailed
        return result.value

    def _stored(self, trial: Trial) -> FrozenTrial:
        return self.study.get_trials(deepcopy=False)[trial.number]

    def _outcome(self, result: TrialResult, seconds: float) -> str:
        outcome = "failed" if result.value is None else f"{self.config.metric} {result.value:.4f}"
        outcome = f"{outcome} after {seconds:.1f} s"
        return f"{outcome}: {result.reason}" if result.reason else outcome


def _attempt(study: Study, trial: FrozenTrial) -> str:
    """Return a note on a later attempt of a trial, or an empty text for the first one."""
    if not is_retry(trial):
        return ""
    return " (again from the start)" if has_failed_before(study, trial) else " (resumed)"


def _describe(values: Mapping[str, ParameterValue]) -> str:
    shown = [f"{name} {_format_value(value)}" for name, value in list(values.items())[:MAX_SHOWN_PARAMETERS]]
    more = f" and {len(values) - len(shown)} more" if len(values) > len(shown) else ""
    return ", ".join(shown) + more


def _format_value(value: ParameterValue) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _progress_summary(study: Study, config: StudyConfig) -> str:
    """Return the best value so far, the number of trials left and the time they take."""
    finished = [trial for trial in last_attempts(study).values() if trial.state.is_finished()]
    remaining = config.trials - len(finished)
    seconds = [trial.duration.total_seconds() for trial in finished if trial.duration]
    minutes = remaining * sum(seconds) / max(1, len(seconds)) / 60
    best = "no complete trial yet"
    if any(trial.state == TrialState.COMPLETE for trial in finished):
        result = rank_settings(study)[0]
        seeds = f"{result.description}; " if result.is_mean else ""
        best = f"best {result.value:.4f} ({seeds}trial {trial_index(study, result.best_trial)})"
    return f"{best}; {remaining} left, about {minutes:.0f} min for one worker" if remaining else f"{best}; done"
