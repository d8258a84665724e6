"""Base class of exporters: checks before training, and metrics and the saved model after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lightning.pytorch import Trainer

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.records import data_label
from radreward.io.yaml_files import read_yaml_mapping
from radreward.models import Backbone
from radreward.models.precision import round_to_float16
from radreward.modules.checkpoints import best_checkpoint, check_unsharded
from radreward.modules.run_folder import RunFolder
from radreward.objectives import Objective, RolloutObjective

MetricTable = Mapping[str, Mapping[str, float | None]]
"""Validation metrics of a run: metric values per row, the last row "total"; None if undefined."""


class TrainedModule(Protocol):
    """The part of a `BaseModule` that every exporter uses."""

    model: Any
    backbone: Backbone

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """See `torch.nn.Module`."""

    def read_checkpoint(self, path: Path) -> dict[str, Any]:
        """See `BaseModule.read_checkpoint`."""


class Results(Protocol):
    """Validation results of a module; subclasses add fields to save."""

    @property
    def metrics(self) -> MetricTable:
        """Metrics on the validation split."""


_ModuleT = TypeVar("_ModuleT", bound=TrainedModule)
_ResultsT = TypeVar("_ResultsT", bound=Results)


def training_record(
    module: Any, trainer: Trainer, data: BaseDataModule, run: RunFolder, best_step: int | None
) -> dict[str, Any]:
    """Return how a model was trained, for its folder: steps, seed, objective with its settings, and data.

    Args:
        module: The module after training.
        trainer: Its trainer.
        data: Its data.
        run: Folder of the run, whose configuration has the settings.
        best_step: Step of the saved weights; None for the last one.
    """
    settings = read_yaml_mapping(run.config) if run.config.is_file() else {}
    record: dict[str, Any] = {
        "steps": trainer.global_step,
        "weights": "last" if best_step is None else "best",
        "weights_step": trainer.global_step if best_step is None else best_step,
        "seed": settings.get("seed_everything"),
    }
    if isinstance(objective := getattr(module, "objective", None), Objective | RolloutObjective):
        by_default = {"class_path": f"{type(objective).__module__}.{type(objective).__qualname__}"}
        record["objective"] = settings.get("model", {}).get("init_args", {}).get("objective") or by_default
    files = data.file_fingerprints()
    return {**record, "data": files, "data_labels": {file: label for file in files if (label := data_label(file))}}


class Exporter(ABC, Generic[_ModuleT, _ResultsT]):
    """Checks a module before training; measures and saves its best checkpoint afterwards.

    Subclasses implement `check`, `measure` and `save`. One exporter serves all modules of a class and has no state.
    """

    @abstractmethod
    def check(self, module: _ModuleT, data: BaseDataModule) -> None:
        """Check that a module can be trained on the data and saved, before anything is read or written.

        Raises:
            InputError: If the check fails. The message names the setting.
        """

    @abstractmethod
    def measure(self, module: _ModuleT, trainer: Trainer, data: BaseDataModule) -> _ResultsT:
        """Return the results on the validation split. `export` calls this method on every rank."""

    @abstractmethod
    def save(
        self,
        module: _ModuleT,
        results: _ResultsT,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Write the model to `run.model` and metrics to `run.metrics`. `export` calls this method on rank 0."""

    def export(self, module: _ModuleT, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Measure the best checkpoint on the validation split after training, and save it with its metrics.

        Adapters are rounded to float16 before the measurement, so that the metrics describe the saved model.

        Raises:
            InputError: If the weights are sharded over several devices.
        """
        check_unsharded(trainer, run)
        best, best_step = best_checkpoint(trainer), None
        if best is not None:
            checkpoint = module.read_checkpoint(best)
            module.load_state_dict(checkpoint["state_dict"])
            best_step = checkpoint["global_step"]
        as_float16 = module.backbone.lora is not None
        if as_float16:
            round_to_float16(module.model)
        results = self.measure(module, trainer, data)
        training_info = training_record(module, trainer, data, run, best_step)
        if trainer.is_global_zero:
            self.save(module, results, run, data, training_info, as_float16)
        return results.metrics
