"""Build a training run from a configuration: constructor signatures are the settings."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import Namespace
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import ProgressBar as LightningProgressBar
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import TensorBoardLogger

from radreward import modules
from radreward.cli.arguments import normalize_arguments
from radreward.cli.config_files import validate_config_files
from radreward.cli.fit_options import FIT_OPTIONS
from radreward.cli.given_settings import flat_settings, given_settings
from radreward.cli.help import FitHelpFormatter
from radreward.cli.inputs import find_classes_here
from radreward.cli.replaced_classes import discard_settings_of_replaced_classes
from radreward.criteria.presets import criteria_config
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.collators.reward import RewardCollator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.errors import InputError
from radreward.io.atomic import atomic_file
from radreward.io.console import make_console
from radreward.models.precision import has_bfloat16_products
from radreward.modules import BaseModule, MetricTable, RunFolder
from radreward.modules.checkpoints import checkpoint_callbacks, use_atomic_checkpoints
from radreward.modules.hparams import FlatSettings, flatten_settings, log_hparams
from radreward.modules.progress import PlainTextProgress, ProgressBar, has_progress
from radreward.modules.resumed_settings import SettingChange, changed_settings, check_resumable, warn_of_changes
from radreward.modules.run_resume import check_startable, resolve_checkpoint, start_run
from radreward.modules.trainer import RunTrainer
from radreward.scorers import resolve

_DESCRIPTION = """Train a model: a reward model, unless `model` names another module.

Settings come from --config and from --dotted.key=value; the latter win. Everything is stored in the folder --run-dir.
"""

_IGNORED_WARNINGS = (
    r"The '\w+' does not have many workers",  # batches are prepared during a step; see `data.num_workers`
    r"The number of training batches \(\d+\) is smaller than the logging interval",
    r"Checkpoint directory .* exists and is not empty",  # a resumed run
    r"Found \d+ module\(s\) in eval mode at the start of training",  # the frozen backbone
    r"You're resuming from a checkpoint that ended before the epoch ended",  # ResumableDataLoader stores its position
    r"The dirpath has changed from",
    r"`ModelCheckpoint\(monitor='\w+'\)` could not find",  # a run that ended before its first validation
    r"GPU available but not used",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)
"""Library warnings that a user who trains cannot act on."""

_SHIPPED_MODULES = tuple(getattr(modules, name) for name in modules.__all__)
"""Imported, so that a configuration can name a module without its import path."""

logger = logging.getLogger(__name__)

_DEFAULT_MODEL = {
    "class_path": "radreward.modules.RewardModule",
    "init_args": {
        "backbone": {"class_path": "radreward.models.Backbone"},
        "objective": {"class_path": "radreward.objectives.MarginRewardEnforcement"},
    },
}
_DEFAULT_DATA = {
    "class_path": f"{PairedReportDataModule.__module__}.PairedReportDataModule",
    "init_args": {"collator": {"class_path": f"{RewardCollator.__module__}.RewardCollator"}},
}

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C, if PyYAML has it, reads settings many times faster."""

_INSTANTIATOR = "lightning.pytorch.cli.instantiate_module"
"""Function with which Lightning builds a module when it reloads a checkpoint."""


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A configuration, built and ready to run.

    Attributes:
        module: The module to train.
        data: Its data.
        trainer: Lightning's trainer.
        run_folder: The folder of the run.
        checkpoint: Checkpoint to resume from.
        init_from: Saved model with the initial weights; unused if the run is resumed.
        overwrite: Replace an earlier run in the folder.
        save_config: Writes the configuration to a file.
        settings: The configuration with all defaults.
        given: Settings that the user gave, by dotted name.
    """

    module: BaseModule
    data: BaseDataModule
    trainer: Trainer
    run_folder: RunFolder
    checkpoint: Path | None
    init_from: Path | None
    overwrite: bool
    save_config: Callable[[Path], None]
    settings: dict[str, Any]
    given: FlatSettings

    def fit(self, searched: Mapping[str, Any] | None = None) -> MetricTable:
        """Train, save the best model in the run's folder, and return its metrics on the validation part.

        Args:
            searched: Settings that a study searches, each with one of its values, if the run is a trial. They come
                first on TensorBoard's HPARAMS page.

        Raises:
            InputError: If the data, the checkpoint or the folder cannot be used.
            KeyboardInterrupt: After Ctrl-C; the run can be resumed from `last.ckpt` in its folder.
        """
        self.module.exporter.check(self.module, self.data)
        for name in ("max_steps", "max_epochs", "limit_train_batches"):
            if getattr(self.trainer, name) == 0:
                raise InputError(f"trainer.{name}: Expected at least one step of training but got 0.")
        data, resume = self.data.file_fingerprints(), self.checkpoint is not None
        changes: list[SettingChange] = []
        if self.trainer.is_global_zero:  # for the other ranks the folder already exists
            check_startable(self.run_folder, data, resume, self.overwrite)
            if self.checkpoint is not None:
                changes = changed_settings(self.run_folder, self.settings)
                check_resumable(self.checkpoint, changes)
        if self.checkpoint is not None and self.checkpoint.is_file():  # DeepSpeed checks its folders itself
            self.module.read_checkpoint(self.checkpoint)
        if self.init_from is not None:
            self.module.load_initial_weights(self.init_from)
        self.data.shows_progress = self.trainer.is_global_zero and has_progress(self.trainer)
        self.data.setup("fit")  # before anything is written, so that unusable data leave no run behind
        self.module.check_data(self.data)
        self._warn_of_slow_precision()
        warn_of_changes(self.run_folder, changes)
        with warnings.catch_warnings():
            for message in _IGNORED_WARNINGS:
                warnings.filterwarnings("ignore", message)
            if self.trainer.is_global_zero:
                start_run(self.run_folder, data, resume, self.overwrite)
                self.save_config(self.run_folder.config)
                self._log_settings(searched)
            try:
                self.trainer.fit(self.module, self.data, ckpt_path=self.checkpoint)
            except SystemExit as error:  # raised by Lightning after Ctrl-C
                raise KeyboardInterrupt from error
            self.trainer.save_checkpoint(self.run_folder.last)
            result = self.module.exporter.export(self.module, self.trainer, self.data, self.run_folder)
            final = {f"final/{name}": value for name, value in result["total"].items() if value is not None}
            for logger in self.trainer.loggers:
                logger.log_metrics(final, self.trainer.global_step)
                logger.save()
            return result

    def _warn_of_slow_precision(self) -> None:
        precision, device = str(self.trainer.precision), self.trainer.strategy.root_device
        if precision.startswith("bf16") and device.type == "cpu" and not has_bfloat16_products():
            logger.warning(
                "trainer.precision: This CPU computes %s in software, many times slower than 32-true. Set "
                "--trainer.precision=32-true.",
                precision,
            )

    def _log_settings(self, searched: Mapping[str, Any] | None) -> None:
        for logger in self.trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                flat = None if searched is None else flat_settings(searched)
                log_hparams(logger, self.given, self.module.hparam_metrics, flat)
                logger.hparams.update(self.given)  # written to hparams.yaml
            else:
                logger.log_hyperparams(flatten_settings(self.settings))


class TrainingCLI(LightningCLI):
    """Parse the settings and construct module, data and trainer; `TrainingRun.fit` runs them."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the settings that belong to no class, and those that several classes share."""
        for name, settings in FIT_OPTIONS.items():
            parser.add_argument(f"--{name}", **settings)
        for target in ("model", "data", "data.init_args.collator"):
            parser.link_arguments("criteria", f"{target}.init_args.criteria", compute_fn=criteria_config)
        parser.link_arguments("model.init_args.backbone.init_args.name", "data.init_args.collator.init_args.tokenizer")
        parser.set_defaults({"model": _DEFAULT_MODEL, "data": _DEFAULT_DATA})

    def before_instantiate_classes(self) -> None:
        """Check that criteria and a backbone are given if a class needs them; jsonargparse links None without an error.

        Raises:
            InputError: If one is missing.
        """
        for part in (self.config.model, self.config.data):
            if "criteria" in part.init_args and part.init_args.criteria is None:
                name = part.class_path.rpartition(".")[2]
                raise InputError(f"--criteria: Expected the criteria of {name}, such as radcliq, but got none.")
        if self.config.model.init_args.get("backbone", "") is None:  # the data would get another tokenizer
            name = self.config.model.class_path.rpartition(".")[2]
            raise InputError(
                f"model.backbone: Expected the backbone of {name} but got none. Set --model.backbone.name."
            )

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse the given arguments only; Lightning's own method also reads `sys.argv`."""
        self.config = parser.parse_args(args)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Return the trainer, with checkpoints and logs in the run's folder."""
        folder = RunFolder(self.config.run_dir)
        settings: dict[str, Any] = {**self.config_init.trainer.as_dict(), **kwargs}
        if settings["val_check_interval"] == 0:
            raise InputError("trainer.val_check_interval: Expected steps, or a fraction of an epoch, but got 0.")
        if isinstance(settings["val_check_interval"], int):
            settings["check_val_every_n_epoch"] = None  # count steps across epochs, however short these are
        given = settings["callbacks"] or []
        callbacks: list[Callback] = list(given) if isinstance(given, list) else [given]
        has_bar = any(isinstance(callback, LightningProgressBar) for callback in callbacks)
        if settings["enable_progress_bar"] is not False and not has_bar:
            console = make_console()
            settings["enable_progress_bar"] = console.is_terminal or console.is_jupyter
            callbacks.append(ProgressBar() if settings["enable_progress_bar"] else PlainTextProgress(folder.folder))
        settings["callbacks"] = [
            *checkpoint_callbacks(folder, self.model.monitor, self.config.checkpoint_every, self.config.early_stop),
            *callbacks,
        ]
        if settings["logger"] is None or settings["logger"] is True:
            settings["logger"] = folder.logger()
        trainer = self.trainer_class(**settings)
        use_atomic_checkpoints(trainer)
        return trainer


def build(config: str | Path | None = None, *overrides: str) -> TrainingRun:
    """Build everything that a configuration describes; notebooks and studies use this function too.

    Args:
        config: A YAML file.
        overrides: Single settings as `dotted.key=value`.

    Raises:
        InputError: If the file cannot be read. The message names the line and the column.
        ArgumentError: If a key or value does not fit. jsonargparse raises this error.
        ValueError: If a constructor rejects its arguments.
    """
    arguments = [] if config is None else [f"--config={config}"]
    return build_from_arguments([*arguments, *(f"--{entry.removeprefix('--')}" for entry in overrides)])


def build_from_arguments(arguments: Sequence[str]) -> TrainingRun:
    """Build everything that a command line of `fit` describes; see `build`."""
    cli = _parse(arguments)
    folder = RunFolder(cli.config.run_dir)
    checkpoint = None if cli.config.ckpt_path is None else resolve_checkpoint(folder, cli.config.ckpt_path)
    init_from = _init_from(cli.config.init_from) if cli.config.init_from and checkpoint is None else None

    stored: Namespace = cli.config.clone()
    stored.ckpt_path, stored.overwrite = None, False
    stored.pop("config", None)
    dumped = cli.parser.dump(stored, skip_link_targets=False, skip_unset=False, skip_validation=True)
    settings = yaml.load(dumped, _YAML_LOADER)  # noqa: S506 - a safe one
    # `load_from_checkpoint` builds the module from these settings.
    cli.model.save_hyperparameters({**settings["model"]["init_args"], "_instantiator": _INSTANTIATOR}, logger=False)

    def save_config(path: Path) -> None:
        with atomic_file(path) as new:  # in one file, without parsing it again
            cli.parser.save(stored, new, skip_unset=False, skip_validation=True, multifile=False)

    return TrainingRun(
        module=cli.model,
        data=cli.datamodule,
        trainer=cli.trainer,
        run_folder=folder,
        checkpoint=checkpoint,
        init_from=init_from,
        overwrite=cli.config.overwrite,
        save_config=save_config,
        settings=settings,
        given=given_settings(arguments, settings),
    )


def _parse(arguments: Sequence[str]) -> TrainingCLI:
    find_classes_here()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)
    arguments = normalize_arguments(arguments)
    validate_config_files(arguments)
    with discard_settings_of_replaced_classes(), warnings.catch_warnings():
        # Lightning uses names that jsonargparse has deprecated.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"lightning\.|jsonargparse\.")
        parser: dict[str, Any] = {"prog": "radreward fit", "description": _DESCRIPTION}
        parser |= {"exit_on_error": False, "allow_abbrev": False}
        if {"-h", "--help"} & set(arguments):  # the help of a class and the commented settings have types, too
            parser["formatter_class"] = FitHelpFormatter
        return TrainingCLI(
            BaseModule,
            BaseDataModule,
            trainer_class=RunTrainer,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            seed_everything_default=0,
            trainer_defaults={"num_sanity_val_steps": 0, "log_every_n_steps": 10, "enable_model_summary": False},
            parser_kwargs=parser,
            args=arguments,
            run=False,
            load_from_checkpoint_support=False,  # it requires `RewardModule` to take part
            auto_configure_optimizers=False,
        )


def _init_from(name: str) -> Path:
    try:
        folder = resolve(name)[1]
    except InputError as error:
        raise InputError(f"--init-from: {error}") from error
    if folder is None:
        raise InputError(f"--init-from: Expected a saved trained model but {name!r} has no weights.")
    return folder
