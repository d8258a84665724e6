"""Base class of exporters: checks before training, and metrics and the saved model after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lightning.pytorch import Trainer

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.records import data_label
from radreward.models import Backbone
from radreward.models.precision import round_to_float16
from radreward.modules.checkpoints import best_checkpoint, check_unsharded
from radreward.modules.run_folder import RunFolder

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
        best = best_checkpoint(trainer)
        if best is not None:
            module.load_state_dict(module.read_checkpoint(best)["state_dict"])
        as_float16 = module.backbone.lora is not None
        if as_float16:
            round_to_float16(module.model)
        results = self.measure(module, trainer, data)
        files = data.file_fingerprints()
        training_info = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": files,
            "data_labels": {file: label for file in files if (label := data_label(file))},
        }
        if trainer.is_global_zero:
            self.save(module, results, run, data, training_info, as_float16)
        return results.metrics
