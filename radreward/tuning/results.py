"""Results of a study: table of trials, best settings, CSV, parameter importances and plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from optuna.importance import get_param_importances
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from rich.table import Table

from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.atomic import atomic_file, write_text_file
from radreward.io.tables import csv_cell
from radreward.tuning.heartbeat import FOLDER_ATTR, WORKER_ATTR, worker_id
from radreward.tuning.plots import write_study_plots
from radreward.tuning.search_space import MAX_SHOWN_PARAMETERS
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import STATE_NAMES, TrialRunner


class StudyResults(NamedTuple):
    """Paths of the result files."""

    best: Path
    trials: Path
    importances: Path
    page: Path
    plots: Path


def best_model_location(study: Study) -> str:
    """Return the model folder of the best trial; names the host if it is on another machine."""
    best = study.best_trial
    folder, host = Path(best.user_attrs[FOLDER_ATTR]), best.user_attrs[WORKER_ATTR]["host"]
    if host != worker_id()["host"]:
        return f"{folder / 'model'} of {host}"
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder) + "/model"


def write_study_results(study: Study, config: StudyConfig, runner: TrialRunner, folder: Path) -> StudyResults:
    """Write all result files of a study to its folder.

    Raises:
        InputError: If no trial is complete; gives the reason of the first failure.
    """
    trials = study.get_trials(deepcopy=False)
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    results = StudyResults(
        best=folder / "best.yaml",
        trials=folder / "trials.csv",
        importances=folder / "importances.json",
        page=folder / "plots.html",
        plots=folder / "plots",
    )
    rows = [_trial_row(trial, config) for trial in trials]
    with atomic_file(results.trials) as new:
        pd.DataFrame(rows, dtype=object).map(csv_cell).to_csv(new, index=False)
    if not complete:
        reasons = [_failure_reason(trial) for trial in trials if trial.state == TrialState.FAIL]
        if reasons:
            raise InputError(
                f"study {study.study_name}: none of {len(trials)} trials is complete; the first failed: {reasons[0]}"
            )
        raise InputError(f"study {study.study_name}: no trial is complete yet; other workers run {len(trials)}.")
    best = study.best_trial
    header = (
        f"# Best of {len(complete)} complete trials of the study {study.study_name}: trial {best.number}, "
        f"{config.metric} {best.value:.6g}.\n# radreward fit --config {results.best}\n"
    )
    settings = runner.dump_config(config.base, [*config.overrides_for(best.params), f"run_dir={folder / 'best'}"])
    write_text_file(results.best, header + settings)
    importances = parameter_importances(study)
    write_json(results.importances, importances)
    write_study_plots(study, config.metric, list(importances), results.page, results.plots)
    return results


def parameter_importances(study: Study) -> Mapping[str, float]:
    """Return the shares of the parameters in what separates good trials from others (PED-ANOVA), largest first.

    Conditional parameters count where they are active. Empty if all complete trials have the same value.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({trial.value for trial in complete}) < 2:
        return {}
    importances = get_param_importances(study)
    return {
        name: round(float(importances[name]), 6) for name in sorted(importances, key=lambda name: -importances[name])
    }


def sorted_trials(study: Study, config: StudyConfig) -> list[FrozenTrial]:
    """Return all trials, best first; trials without a value are last."""
    sign = -1 if config.direction == "maximize" else 1
    order = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING]
    return sorted(
        study.get_trials(deepcopy=False),
        key=lambda trial: (order.index(trial.state), sign * trial.value if trial.value is not None else 0.0),
    )


def trial_table(study: Study, config: StudyConfig) -> Table:
    """Return a table of all trials, best first; of many parameters, only the first ones."""
    rows = [_trial_row(trial, config) for trial in sorted_trials(study, config)]
    table = Table(title=f"Study {study.study_name}: {config.metric} of {len(rows)} trials")
    shown = config.space.parameters[:MAX_SHOWN_PARAMETERS]
    names = ["trial", config.metric, "state", *(parameter.name for parameter in shown)]
    for name in names:
        table.add_column(name.rsplit(".", 1)[-1], justify="right" if name in ("trial", config.metric) else "left")
    table.add_column("reason", overflow="fold")
    for row in rows:
        table.add_row(*(_format_cell(row[name]) for name in [*names, "reason"]))
    return table


def _trial_row(trial: FrozenTrial, config: StudyConfig) -> dict[str, Any]:
    return {
        "trial": trial.number,
        config.metric: trial.value,
        "state": STATE_NAMES[trial.state],
        **{parameter.name: trial.params.get(parameter.name) for parameter in config.space.parameters},
        "seconds": None if trial.duration is None else round(trial.duration.total_seconds(), 2),
        "reason": _failure_reason(trial),
    }


def _failure_reason(trial: FrozenTrial) -> str:
    return str(trial.user_attrs.get("reason", ""))


def _format_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
