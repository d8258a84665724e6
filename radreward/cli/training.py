"""`radreward fit`: constructor signatures are the configuration, one function builds what it says."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jsonargparse import Namespace
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import ProgressBar as Progress
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import TensorBoardLogger
from rich import get_console

from radreward.cli.errors import validate_config_files
from radreward.criteria import Criteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import BaseDataModule, PairedReportDataModule
from radreward.errors import InputError
from radreward.modules import BaseModule, MetricTable, PlainTextProgress, ProgressBar, RunFolder, log_hparams
from radreward.scorers import resolve

DESCRIPTION = """Train a model: a reward model, unless `model` names another module.

Settings come from --config and from --dotted.key=value, the latter winning. Everything is kept in the folder --run.
"""

IGNORED_WARNINGS = (
    r"The '\w+' does not have many workers",  # batches are made while the model computes; `data.workers` is documented
    r"The number of training batches \(\d+\) is smaller than the logging interval",
    r"Checkpoint directory .* exists and is not empty",  # a continued run
    r"Found \d+ module\(s\) in eval mode at the start of training",  # the frozen backbone is meant to be
    r"You're resuming from a checkpoint that ended before the epoch ended",  # ResumableLoader keeps its place
    r"The dirpath has changed from",
    r"`ModelCheckpoint\(monitor='\w+'\)` could not find",  # a run that ended before its first validation
    r"GPU available but not used",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)
"""Warnings of libraries on which nobody who trains can act."""


DEFAULT_MODEL = {
    "class_path": "radreward.modules.RewardModule",
    "init_args": {
        "backbone": {"class_path": "radreward.models.Backbone"},
        "objective": {"class_path": "radreward.objectives.MarginRewardEnforcement"},
    },
}
DEFAULT_DATA = {
    "class_path": f"{PairedReportDataModule.__module__}.PairedReportDataModule",
    "init_args": {"collator": {"class_path": f"{RewardCollator.__module__}.RewardCollator"}},
}

INSTANTIATOR = "lightning.pytorch.cli.instantiate_module"


class TrainingRun(NamedTuple):
    """What a configuration describes, ready to run."""

    module: BaseModule
    data: BaseDataModule
    trainer: Trainer
    run: RunFolder
    checkpoint: Path | None
    """Where to continue from."""
    start: Path | None
    """The saved model whose weights to begin with, where nothing is continued."""
    overwrite: bool
    save_config: Callable[[Path], None]
    settings: dict[str, Any]
    """As in the configuration, with all defaults."""

    def fit(self) -> MetricTable:
        """Train, then save the best model in the run's folder; what it achieved on the validation part.

        Raises:
            InputError: If data, checkpoint or folder cannot be used.
            KeyboardInterrupt: If it was stopped; `last.ckpt` in the folder can be continued.
        """
        self.module.validate_setup(self.data)
        for name in ("max_steps", "max_epochs", "limit_train_batches"):
            if getattr(self.trainer, name) == 0:
                raise InputError(f"trainer.{name}: Expected at least one step of training but got 0.")
        data, resume = self.data.file_fingerprints(), self.checkpoint is not None
        if self.trainer.is_global_zero:  # the other processes of a run find the folder begun
            self.run.check_startable(data, resume, self.overwrite)
        if self.checkpoint is not None and self.checkpoint.is_file():  # of DeepSpeed's folders it sees itself what fits
            self.module.read_checkpoint(self.checkpoint)
        if self.start is not None:
            self.module.load_initial_weights(self.start)
        self.data.setup("fit")  # before anything is written: data that cannot be used leave no run behind
        with warnings.catch_warnings():
            for message in IGNORED_WARNINGS:
                warnings.filterwarnings("ignore", message)
            if self.trainer.is_global_zero:
                self.run.create(data, resume, self.overwrite)
                self.save_config(self.run.config)
                self._log_settings()
            try:
                self.trainer.fit(self.module, self.data, ckpt_path=self.checkpoint)
            except SystemExit as error:  # what Lightning makes of Ctrl-C
                raise KeyboardInterrupt from error
            self.trainer.save_checkpoint(self.run.last)
            result = self.module.export(self.trainer, self.data, self.run)
            final = {f"final/{name}": value for name, value in result["total"].items() if value is not None}
            for logger in self.trainer.loggers:
                logger.log_metrics(final, self.trainer.global_step)
                logger.save()
            return result

    def _log_settings(self) -> None:
        for logger in self.trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                log_hparams(logger, self.settings, self.module.hparam_metrics)


class TrainingCLI(LightningCLI):
    """Parser and construction; `Training.fit` runs."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """What belongs to no class, and what several classes share."""
        parser.add_argument("--run", type=str, default="runs/er2score", help="Folder of the run.")
        parser.add_argument(
            "--ckpt_path", type=str | None, default=None, help="Continue from `last`, `best` or the path of a file."
        )
        parser.add_argument(
            "--start", type=str | None, default=None, help="Begin with the weights of a saved model: folder or name."
        )
        parser.add_argument("--overwrite", type=bool, default=False, help="Replace an earlier run in the folder.")
        parser.add_argument("--checkpoint_every", type=int, default=50, help="Steps between checkpoints `last`.")
        parser.add_argument(
            "--early_stop", type=int | None, default=None, help="Stop after so many validations without a better one."
        )
        parser.add_subclass_arguments(Criteria, "criteria", required=False, help="What is judged, where anything is.")
        for target in ("model", "data", "data.init_args.collator"):
            parser.link_arguments("criteria", f"{target}.init_args.criteria")
        parser.link_arguments("model.init_args.backbone.init_args.name", "data.init_args.collator.init_args.tokenizer")
        parser.set_defaults({"model": DEFAULT_MODEL, "data": DEFAULT_DATA})

    def before_instantiate_classes(self) -> None:
        """Criteria are named once; whoever takes any needs them, and a link passes on nothing too.

        Raises:
            InputError: If there are none.
        """
        for part in (self.config.model, self.config.data):
            if "criteria" in part.init_args and part.init_args.criteria is None:
                name = part.class_path.rpartition(".")[2]
                raise InputError(f"criteria: Expected what {name} judges by, such as RadCliQ, but none are named.")

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """As they are given: Lightning's own looks at `sys.argv` too."""
        self.config = parser.parse_args(args)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """The trainer, with checkpoints and logs in the run's folder."""
        run = RunFolder(self.config.run)
        settings: dict[str, Any] = {**self.config_init.trainer.as_dict(), **kwargs}
        if settings["val_check_interval"] == 0:
            raise InputError("trainer.val_check_interval: Expected steps, or a fraction of an epoch, but got 0.")
        if isinstance(settings["val_check_interval"], int):
            settings["check_val_every_n_epoch"] = None  # steps are counted over epochs, however short these are
        callbacks: list[Callback] = _as_list(settings["callbacks"])
        if settings["enable_progress_bar"] is not False and not any(isinstance(c, Progress) for c in callbacks):
            console = get_console()
            settings["enable_progress_bar"] = console.is_terminal or console.is_jupyter
            callbacks.append(ProgressBar() if settings["enable_progress_bar"] else PlainTextProgress(run.folder))
        settings["callbacks"] = [
            *run.callbacks(self.model.monitor, self.config.checkpoint_every, self.config.early_stop),
            *callbacks,
        ]
        if settings["logger"] is None or settings["logger"] is True:
            settings["logger"] = run.logger()
        return self.trainer_class(**settings)


class ConfigOnlyCLI(TrainingCLI):
    """Parses and checks, and makes nothing."""

    def instantiate_classes(self) -> None:
        """No model, no data, no trainer."""


def build(config: str | Path | None = None, *overrides: str) -> TrainingRun:
    """Everything that a configuration describes; the one way to make it, in notebooks and studies too.

    Args:
        config: A YAML file.
        overrides: `dotted.key=value`.

    Raises:
        InputError: If the file cannot be read; names line and column.
        ArgumentError: If a key or value does not fit; of jsonargparse.
        ValueError: If a constructor refuses its arguments.
    """
    arguments = [] if config is None else [f"--config={config}"]
    return build_from_arguments([*arguments, *(f"--{entry.removeprefix('--')}" for entry in overrides)])


def resolve_config(arguments: Sequence[str]) -> dict[str, Any]:
    """What a command line of `fit` says, with all defaults; nothing is made of it. Raises as `build` does."""
    cli = _cli(ConfigOnlyCLI, arguments)
    settings: dict[str, Any] = yaml.safe_load(cli.parser.dump(cli.config, skip_link_targets=False, skip_unset=False))
    return settings


def _cli(kind: type[TrainingCLI], arguments: Sequence[str]) -> TrainingCLI:
    if os.getcwd() not in sys.path:  # so that `class_path: experiments.my_loss.MyLoss` is found
        sys.path.insert(0, os.getcwd())
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)
    validate_config_files(arguments)
    with warnings.catch_warnings():
        # Lightning calls by their old names what jsonargparse has renamed.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"lightning\.|jsonargparse\.")
        return kind(
            BaseModule,
            BaseDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=0,
            trainer_defaults={"num_sanity_val_steps": 0, "log_every_n_steps": 10, "enable_model_summary": False},
            parser_kwargs={"prog": "radreward fit", "description": DESCRIPTION, "exit_on_error": False},
            args=list(arguments),
            run=False,
            load_from_checkpoint_support=False,  # of Lightning's making, which asks `RewardModule` to take part
            auto_configure_optimizers=False,
        )


def build_from_arguments(arguments: Sequence[str]) -> TrainingRun:
    """As `build`, from a command line."""
    cli = _cli(TrainingCLI, arguments)
    run = RunFolder(cli.config.run)
    checkpoint = None if cli.config.ckpt_path is None else run.resolve_checkpoint(cli.config.ckpt_path)
    start = _init_from(cli.config.start) if cli.config.start and checkpoint is None else None

    kept: Namespace = cli.config.clone()
    kept.ckpt_path, kept.overwrite = None, False
    kept.pop("config", None)
    settings = yaml.safe_load(cli.parser.dump(kept, skip_link_targets=False, skip_unset=False))
    # So that `load_from_checkpoint` builds from these settings.
    cli.model.save_hyperparameters({**settings["model"]["init_args"], "_instantiator": INSTANTIATOR}, logger=False)

    def save_config(path: Path) -> None:
        cli.parser.save(kept, path, skip_unset=False, overwrite=True)

    return TrainingRun(
        cli.model, cli.datamodule, cli.trainer, run, checkpoint, start, cli.config.overwrite, save_config, settings
    )


def _init_from(name: str) -> Path:
    folder = resolve(name)[1]
    if folder is None:
        raise InputError(f"--start: Expected a model that was trained and saved, which {name!r} is not.")
    return folder


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]
