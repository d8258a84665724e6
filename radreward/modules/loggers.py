"""Figures and texts for the loggers of a trainer; scalars go through their `log_metrics`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from lightning.pytorch import Trainer
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger
from matplotlib.figure import Figure

from radreward.io.atomic import atomic_file


def log_scalars(trainer: Trainer, values: Mapping[str, float | None], step: int) -> None:
    """Log numbers by name with every logger; None and NaN are left out."""
    defined = {name: value for name, value in values.items() if value is not None and not math.isnan(value)}
    for logger in _loggers(trainer):
        logger.log_metrics(defined, step)


def log_figure(trainer: Trainer, name: str, figure: Figure, step: int) -> None:
    """Log a figure: as an image of TensorBoard, W&B or MLflow, or beside a CSV file as `<name>/<step>.png`.

    Other loggers get scalars only.
    """
    for logger in _loggers(trainer):
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.add_figure(name, figure, step)
        elif isinstance(logger, WandbLogger):
            logger.log_image(name, [figure], step=step)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_figure(str(logger.run_id), figure, f"{name}/{step}.png")
        elif isinstance(logger, CSVLogger):
            with _csv_file(logger, name, f"{step}.png") as path:
                figure.savefig(path)


def log_text(trainer: Trainer, name: str, text: str, step: int) -> None:
    """Log Markdown like `log_figure`; W&B gets a table of one cell."""
    for logger in _loggers(trainer):
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.add_text(name, text, step)
        elif isinstance(logger, WandbLogger):
            logger.log_text(name, ["text"], [[text]], step=step)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_text(str(logger.run_id), text, f"{name}/{step}.md")
        elif isinstance(logger, CSVLogger):
            with _csv_file(logger, name, f"{step}.md") as path:
                path.write_text(text, encoding="utf-8")


def _loggers(trainer: Trainer) -> Iterator[Logger]:
    """Yield the loggers in the process that writes."""
    yield from trainer.loggers if trainer.is_global_zero else ()


def _csv_file(logger: CSVLogger, name: str, file: str) -> AbstractContextManager[Path]:
    """Return a block that writes a file into a folder beside the CSV file; a link there is replaced, not followed."""
    return atomic_file(Path(logger.log_dir, name, file))
