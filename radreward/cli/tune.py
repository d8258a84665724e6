"""`radreward tune`: run an Optuna study, or join a running one."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.errors import user_errors
from radreward.errors import InputError
from radreward.io.console import make_console, print_paths
from radreward.io.terminal import print_status

if TYPE_CHECKING:
    from radreward.cli.training import TrainingRun
    from radreward.data.paired_datamodule import PairedReportDataModule
    from radreward.tuning import TrialRunner


def run(
    overrides: Sequence[str] = (),
    /,
    *,
    config: Path,
    base: Path | None = None,
    trials: int | None = None,
    run_dir: Path | None = None,
    storage: str | None = None,
    overwrite: bool = False,
) -> int:
    """Search the settings of fit with Optuna; several workers may share a study.

    Args:
        overrides: Settings of fit for every trial, as dotted.key=value.
        config: YAML file of the study.
        base: Configuration of fit, instead of the configuration in the study.
        trials: Total number of trials, instead of the number in the study. A grid runs its first combinations.
        run_dir: Folder of the study. Defaults to runs/NAME, with the name of the study.
        storage: URL of a database, or journal:PATH, for several workers. Defaults to study.db in the folder of the
            study.
        overwrite: Delete a study of the same name and its trials first.
    """
    if not config.is_file():
        raise InputError(f"{config}: Expected a study but there is no such file.")
    from radreward.tuning import best_model_location, load_study_config, run_study, trial_tables, write_study_results
    from radreward.tuning.results import failure_summary
    from radreward.tuning.seed_means import rank_settings
    from radreward.tuning.storage import storage_location

    settings = load_study_config(config, base, trials, list(overrides))
    folder = run_dir or Path("runs") / settings.study
    runner = fit_runner()
    study = run_study(settings, runner, folder, storage, overwrite)
    console = make_console()
    for table in trial_tables(study, settings):
        console.print(table, "")
    results = write_study_results(study, settings, runner, folder)
    best = rank_settings(study)[0]
    print_paths(
        (
            (f"best settings ({best.description})" if best.is_mean else "best settings", results.best),
            ("their best model" if best.is_mean else "best model", best_model_location(study)),
            ("all trials", results.trials),
            ("importances", results.importances),
            ("logs", f"tensorboard --logdir {folder}"),
            ("plots", f"optuna-dashboard {storage_location(storage, folder)} (pip install optuna-dashboard)"),
        )
    )
    if failures := failure_summary(study):
        print_status(failures)
    return 0


def fit_runner() -> TrialRunner:
    """Return a runner whose trials do what `radreward fit` does."""
    from radreward.tuning import TrialRunner

    return TrialRunner(_TrialBuilder().build, _dump_config)


class _TrialBuilder:
    """Builder of the runs of trials. Pairs of reports are read again only if their settings or files change."""

    def __init__(self) -> None:
        self._prepared: tuple[Any, PairedReportDataModule] | None = None

    def build(self, base: Path, settings: Sequence[str]) -> TrainingRun:
        """Build the run of a trial."""
        from radreward.cli.training import build
        from radreward.data.paired_datamodule import PairedReportDataModule

        with user_errors(constructing=True):
            training = build(base, *settings)
        if isinstance(training.data, PairedReportDataModule):
            source = training.settings["data"], training.data.file_fingerprints()
            if self._prepared and self._prepared[0] == source:
                training.data.share(self._prepared[1])
            else:
                training.data.setup("fit")
                self._prepared = source, copy(training.data)  # the copy gets no trainer, so it holds no model
        return training


def _dump_config(base: Path, settings: Sequence[str]) -> str:
    """Parse the configuration, without building a model, and return all settings as YAML."""
    from radreward.cli.training import build

    printed = io.StringIO()
    with user_errors(constructing=True):
        try:
            with redirect_stdout(printed):
                build(base, *settings, "print_config")
        except SystemExit:  # raised after printing
            return printed.getvalue()
    raise AssertionError("--print_config ends the process")
