"""What a study found: a table, the best settings, all trials as CSV, importances and plots."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from optuna.importance import get_param_importances
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from rich.table import Table

from radreward.errors import InputError
from radreward.modules.run_folder import write_json
from radreward.tuning.heartbeat import FOLDER_ATTR, HEARTBEAT_ATTR, worker_id
from radreward.tuning.plots import write_study_plots
from radreward.tuning.search_space import ParameterValue
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import STATE_NAMES, TrialRunner


class StudyResults(NamedTuple):
    """Where they were written."""

    best: Path
    trials: Path
    importances: Path
    page: Path
    plots: Path


def best_model_location(study: Study) -> str:
    """Where the model of the best trial lies: with the worker that trained it, maybe on another machine."""
    best = study.best_trial
    folder, host = Path(best.user_attrs[FOLDER_ATTR]), best.user_attrs[HEARTBEAT_ATTR]["host"]
    if host != worker_id()["host"]:
        return f"{folder / 'model'} of {host}"
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder) + "/model"


def write_study_results(study: Study, config: StudyConfig, runner: TrialRunner, folder: Path) -> StudyResults:
    """Write what a study found to its folder.

    Raises:
        InputError: If no trial was finished; with the reason of the first.
    """
    trials = study.get_trials(deepcopy=False)
    complete = [frozen for frozen in trials if frozen.state == TrialState.COMPLETE]
    found = StudyResults(
        folder / "best.yaml",
        folder / "trials.csv",
        folder / "importances.json",
        folder / "plots.html",
        folder / "plots",
    )
    write_trials_csv(found.trials, study, config)
    if not complete:
        reasons = [_failure_reason(frozen) for frozen in trials if frozen.state == TrialState.FAIL]
        if reasons:
            raise InputError(
                f"study {study.study_name}: none of {len(trials)} trials was finished; the first: {reasons[0]}"
            )
        raise InputError(f"study {study.study_name}: no trial is finished yet; other workers run {len(trials)}.")
    best = study.best_trial
    arguments = config.overrides_for(best.params)
    head = (
        f"# The best of {len(complete)} finished trials of the study {study.study_name}: trial {best.number}, "
        f"{config.metric} {best.value:.6g}.\n# radreward fit --config {found.best}\n"
    )
    found.best.write_text(
        head + runner.dump_config(config.base, [*arguments, f"run={folder / 'best'}"]), encoding="utf-8"
    )
    known = parameter_importances(study)
    write_json(found.importances, known)
    write_study_plots(study, config.metric, list(known), found.page, found.plots)
    return found


def parameter_importances(study: Study) -> Mapping[str, float]:
    """Shares of the parameters in what makes good trials good (PED-ANOVA), greatest first.

    Conditional parameters count where they are searched. Empty where there is nothing to compare.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({frozen.value for frozen in complete}) < 2:
        return {}
    found = get_param_importances(study)
    return {name: round(float(found[name]), 6) for name in sorted(found, key=lambda name: -found[name])}


def sorted_trials(study: Study, config: StudyConfig) -> list[FrozenTrial]:
    """All trials, best first; those without a value last."""
    sign = -1 if config.direction == "maximize" else 1
    order = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING]
    return sorted(
        study.get_trials(deepcopy=False),
        key=lambda frozen: (order.index(frozen.state), sign * frozen.value if frozen.value is not None else 0.0),
    )


def trial_table(study: Study, config: StudyConfig) -> Table:
    """Trials, best first."""
    made = Table(title=f"Study {study.study_name}: {config.metric} of {len(study.get_trials(deepcopy=False))} trials")
    names = [parameter.name for parameter in config.space.parameters]
    for head in ("trial", config.metric, "state", *map(_short_name, names)):
        made.add_column(head, justify="right" if head in ("trial", config.metric) else "left")
    made.add_column("reason", overflow="fold")
    for frozen in sorted_trials(study, config):
        made.add_row(
            str(frozen.number),
            "" if frozen.value is None else f"{frozen.value:.4f}",
            STATE_NAMES[frozen.state],
            *(_format_cell(frozen.params.get(name)) for name in names),
            _failure_reason(frozen),
        )
    return made


def write_trials_csv(path: Path, study: Study, config: StudyConfig) -> None:
    """All trials, in their order, with the columns of the table and the seconds each took."""
    names = [parameter.name for parameter in config.space.parameters]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["trial", config.metric, "state", *names, "seconds", "reason"])
        for frozen in study.get_trials(deepcopy=False):
            seconds = "" if frozen.duration is None else f"{frozen.duration.total_seconds():.2f}"
            value = "" if frozen.value is None else frozen.value
            chosen = (frozen.params.get(name, "") for name in names)
            rows.writerow([frozen.number, value, STATE_NAMES[frozen.state], *chosen, seconds, _failure_reason(frozen)])


def _failure_reason(frozen: FrozenTrial) -> str:
    return str(frozen.user_attrs.get("reason", ""))


def _short_name(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _format_cell(value: ParameterValue) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
