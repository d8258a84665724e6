"""Results of a study: tables of settings and trials, best settings, CSV and parameter importances."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from optuna.importance import get_param_importances
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.atomic import write_text_file
from radreward.io.tables import write_csv
from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import text_frame
from radreward.tuning.retries import (
    FOLDER_ATTR,
    HOST_ATTR,
    REASON_ATTR,
    failed_trials,
    last_attempts,
    trial_index,
)
from radreward.tuning.run_groups import shortest_suffixes
from radreward.tuning.runs import SEED_KEY
from radreward.tuning.search_space import MAX_SHOWN_PARAMETERS
from radreward.tuning.seed_means import rank_settings
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import STATE_NAMES, TrialRunner

_NUM_BEST_TRIALS = 5
"""Trials whose parameters are printed in a table of their own."""


_MIN_TRIALS_OF_IMPORTANCES = 30
"""PED-ANOVA compares the best tenth of the trials with all. With 8 trials, it is arbitrary; with 30, a parameter that
alone decides about the value comes first in nine of ten studies."""
_REMEDY = "After you have removed the cause, the same command tries failed trials again."


class StudyResults(NamedTuple):
    """Result files.

    Attributes:
        best: Path of the best settings.
        trials: Path of the table of trials.
        importances: Path of the parameter importances, or the reason why there are none.
    """

    best: Path
    trials: Path
    importances: Path | str


def best_model_location(study: Study) -> str:
    """Return the model folder of the best trial of the best settings, with its host if this is another machine."""
    attributes = rank_settings(study)[0].best_trial.user_attrs
    model = Path(attributes[FOLDER_ATTR], "model")
    if attributes[HOST_ATTR] != platform.node():
        return f"{model} of {attributes[HOST_ATTR]}"
    return str(model.relative_to(Path.cwd()) if model.is_relative_to(Path.cwd()) else model)


def write_study_results(study: Study, config: StudyConfig, runner: TrialRunner, folder: Path) -> StudyResults:
    """Write all result files of a study to its folder.

    Raises:
        InputError: If no trial is complete. The message gives the reason of the first failure.
    """
    importances_path = folder / "importances.json"
    results = StudyResults(folder / "best.yaml", folder / "trials.csv", importances_path)
    rows = _trial_rows(study, config)
    write_csv(results.trials, pd.DataFrame(rows, dtype=object))
    num_complete = sum(row["state"] == STATE_NAMES[TrialState.COMPLETE] for row in rows)
    if not num_complete:
        raise _no_complete_trial(study, rows)
    best = rank_settings(study)[0]
    trial = best.best_trial
    which = f"trial {trial_index(study, trial)}, {config.metric} {trial.value:.6g}"
    if best.is_mean:
        which = f"{config.metric} {best.value:.6g}, {best.description}; the seed is of their best trial: {which}"
    header = (
        f"# Best of {num_complete} complete trials of the study {study.study_name}: {which}.\n"
        f"# radreward fit --config {results.best}\n"
    )
    settings = runner.dump_config(config.base, [*config.overrides_for(trial.params), f"run_dir={folder / 'best'}"])
    write_text_file(results.best, header + settings)
    importances = _parameter_importances(study, config, folder)
    if isinstance(importances, str):
        importances_path.unlink(missing_ok=True)
        return results._replace(importances=importances)
    write_json(importances_path, importances)
    return results


def failure_summary(study: Study) -> str | None:
    """Return a line with the number of failed trials and the remedy, or None if no trial failed."""
    failed, total = len(failed_trials(study)), len(last_attempts(study))
    return f"study {study.study_name}: {failed} of {total} trials failed. {_REMEDY}" if failed else None


def _no_complete_trial(study: Study, rows: list[dict[str, Any]]) -> InputError:
    reasons = [row["reason"] for row in rows if row["state"] == STATE_NAMES[TrialState.FAIL]]
    if reasons:
        return InputError(
            f"study {study.study_name}: none of {len(rows)} trials is complete; the first failed: "
            f"{reasons[0].rstrip('.')}. {_REMEDY}"
        )
    return InputError(f"study {study.study_name}: no trial is complete yet; other workers run {len(rows)}.")


def _parameter_importances(study: Study, config: StudyConfig, folder: Path) -> dict[str, float] | str:
    """Return the share of each parameter in the difference between good and other trials (PED-ANOVA), largest first.

    The seed has none. A conditional parameter counts in trials in which it is active. If the shares would be
    arbitrary, the result is the reason.
    """
    if config.sampler == "grid":
        return f"none of a grid; see radreward compare {folder} --group-by KEY"
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(complete) < _MIN_TRIALS_OF_IMPORTANCES:
        return f"none from {len(complete)} complete trials; {_MIN_TRIALS_OF_IMPORTANCES} are needed"
    if len({trial.value for trial in complete}) < 2:
        return "none, because all complete trials have the same value"
    importances = get_param_importances(study)
    importances.pop(SEED_KEY, None)
    total = sum(importances.values()) or 1.0
    return {name: round(importances[name] / total, 6) for name in sorted(importances, key=lambda n: -importances[n])}


def trial_tables(study: Study, config: StudyConfig) -> Iterator[TerminalTable]:
    """Yield a table of all trials, best first, with their parameters.

    If the seed is searched, a table of all settings with their mean over seeds is first.

    More than `MAX_SHOWN_PARAMETERS` parameters have a table of their own, with the parameters of the best trials.
    """
    rows = sorted(_trial_rows(study, config), key=lambda row: _rank(row, config))
    names = [parameter.name for parameter in config.space.parameters]
    titles = shortest_suffixes(names)
    if SEED_KEY in names and (ranked := rank_settings(study)):
        searched = [name for name in names if name != SEED_KEY][:MAX_SHOWN_PARAMETERS]
        cells = [
            [
                *(_format_cell(entry.best_trial.params.get(name)) for name in searched),
                *map(_format_cell, (entry.value, entry.std, len(entry.values), trial_index(study, entry.best_trial))),
            ]
            for entry in ranked
        ]
        columns = [*(titles[name] for name in searched), f"mean {config.metric}", "SD", "seeds", "best trial"]
        yield TerminalTable(
            f"Study {study.study_name}: settings by their mean {config.metric} over seeds", text_frame(columns, cells)
        )
    many = len(names) > MAX_SHOWN_PARAMETERS
    columns = ["trial", config.metric, "state", *([] if many else names)]
    if any(row["reason"] for row in rows):
        columns.append("reason")
    frame = text_frame(
        [titles.get(name, name) for name in columns], [[_format_cell(row[name]) for name in columns] for row in rows]
    )
    yield TerminalTable(f"Study {study.study_name}: {config.metric} of {len(rows)} trials", frame)
    if many:
        best = [row for row in rows if row["state"] == STATE_NAMES[TrialState.COMPLETE]][:_NUM_BEST_TRIALS]
        cells = [[titles[name], *(_format_cell(row[name]) for row in best)] for name in names]
        frame = text_frame(["parameter", *(f"trial {row['trial']}" for row in best)], cells)
        yield TerminalTable(f"Parameters of the best {len(best)} trials", frame)


def _rank(row: dict[str, Any], config: StudyConfig) -> tuple[int, float]:
    """Return a sort key: complete trials are first, and better ones before others."""
    sign = -1 if config.direction == "maximize" else 1
    value = row[config.metric]
    return list(STATE_NAMES.values()).index(row["state"]), 0.0 if value is None else sign * value


def _trial_rows(study: Study, config: StudyConfig) -> list[dict[str, Any]]:
    """Return one row per trial, of its last attempt."""
    return [_trial_row(index, trial, config) for index, trial in enumerate(last_attempts(study).values())]


def _trial_row(index: int, trial: FrozenTrial, config: StudyConfig) -> dict[str, Any]:
    return {
        "trial": index,
        config.metric: trial.value,
        "state": STATE_NAMES[trial.state],
        **{parameter.name: trial.params.get(parameter.name) for parameter in config.space.parameters},
        "seconds": None if trial.duration is None else round(trial.duration.total_seconds(), 2),
        "reason": str(trial.user_attrs.get(REASON_ATTR, "")),
    }


def _format_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
