"""`radreward tune`: run a study, or join one."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.cli.training import TrainingRun
    from radreward.tuning import TrialRunner


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--config", required=True, type=Path, help="file of the study")
    parser.add_argument("--base", type=Path, default=None, help="configuration of fit, in the place of the study's own")
    parser.add_argument("--trials", type=int, default=None, help="in total, in the place of the study's own number")
    parser.add_argument("--run", type=Path, default=None, help="folder; runs/<name of the study> where none is given")
    parser.add_argument(
        "--storage",
        default=None,
        help="URL of a database, or journal:PATH, for several workers; study.db in the folder where none is given",
    )
    parser.add_argument("--overwrite", action="store_true", help="delete a study of this name and its trials first")
    parser.add_argument("settings", nargs="*", metavar="dotted.key=value", help="settings of fit for every trial")


def run(options: Namespace) -> int:
    """Run trials until the study has all, then show them and where everything lies."""
    if not options.config.is_file():
        raise InputError(f"{options.config}: Expected a study but there is no such file.")
    with suppress_library_warnings(), user_errors():
        import matplotlib as mpl

        from radreward.tuning import best_model_location, load_study_config, run_study, trial_table, write_study_results

        mpl.use("agg")  # nothing is shown, all is written
        settings = load_study_config(options.config, options.base, options.trials, options.settings)
        folder = options.run or Path("runs") / settings.study
        study = run_study(settings, fit_runner(), folder, options.storage, options.overwrite)
        console = Console()
        console.print(trial_table(study, settings))
        found = write_study_results(study, settings, fit_runner(), folder)
    for name, path in (
        ("best settings", found.best),
        ("best model", best_model_location(study)),
        ("all trials", found.trials),
        ("importances", found.importances),
        ("plots", f"{found.page}, {found.plots}"),
        ("logs", f"tensorboard --logdir {folder}"),
    ):
        console.print(f"{name:<14} {path}", soft_wrap=True, highlight=False)
    return 0


def fit_runner() -> TrialRunner:
    """Trials that do what `radreward fit` does."""
    from radreward.tuning import TrialRunner

    return TrialRunner(_build, _describe)


def _build(base: Path, settings: Sequence[str]) -> TrainingRun:
    from radreward.cli.training import build

    with user_errors(constructing=True):
        return build(base, *settings)


def _describe(base: Path, settings: Sequence[str]) -> str:
    """All settings as YAML, from parsing alone: a backbone of billions of weights is not made to check its name."""
    from radreward.cli.training import build

    printed = io.StringIO()
    with user_errors(constructing=True):
        try:
            with redirect_stdout(printed):
                build(base, *settings, "print_config")
        except SystemExit:  # what printing ends with
            return printed.getvalue()
    raise AssertionError("--print_config ends what it is given to")
