"""`radreward tune`: run a study, or join one."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from radreward.cli.errors import quiet, readable
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.cli.training import Training
    from radreward.tuning import Runner


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
    with quiet(), readable():
        import matplotlib as mpl

        from radreward.tuning import best_model, read_settings, run_study, table, write_results

        mpl.use("agg")  # nothing is shown, all is written
        settings = read_settings(options.config, options.base, options.trials, options.settings)
        folder = options.run or Path("runs") / settings.study
        study = run_study(settings, fit_runner(), folder, options.storage, options.overwrite)
        console = Console()
        console.print(table(study, settings))
        found = write_results(study, settings, fit_runner(), folder)
    for name, path in (
        ("best settings", found.best),
        ("best model", best_model(study)),
        ("all trials", found.trials),
        ("importances", found.importances),
        ("plots", f"{found.page}, {found.plots}"),
        ("logs", f"tensorboard --logdir {folder}"),
    ):
        console.print(f"{name:<14} {path}", soft_wrap=True, highlight=False)
    return 0


def fit_runner() -> Runner:
    """Trials that do what `radreward fit` does."""
    from radreward.tuning import Runner

    return Runner(_build, _describe)


def _build(base: Path, settings: Sequence[str]) -> Training:
    from radreward.cli.training import build

    with readable(building=True):
        return build(base, *settings)


def _describe(base: Path, settings: Sequence[str]) -> str:
    """All settings as YAML, from parsing alone: a backbone of billions of weights is not made to check its name."""
    from radreward.cli.training import build

    printed = io.StringIO()
    with readable(building=True):
        try:
            with redirect_stdout(printed):
                build(base, *settings, "print_config")
        except SystemExit:  # what printing ends with
            return printed.getvalue()
    raise AssertionError("--print_config ends what it is given to")
