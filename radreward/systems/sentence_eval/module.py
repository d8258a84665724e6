"""LightningModule that trains the model of the relation judge."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn
from torch.nn import functional as F
from torchmetrics.functional.classification import multiclass_confusion_matrix

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.relation_datamodule import RelationDataModule
from radreward.data.relation_io import RELATION_SCORES, SentenceRelations
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.numbers import finite_or_none
from radreward.metrics import cohen_kappa
from radreward.models import Backbone
from radreward.modules.base import BaseModule
from radreward.modules.exporter import Exporter, MetricTable
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.run_folder import RunFolder
from radreward.systems.sentence_eval.artifact import make_relation_artifact, save_relation_artifact
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

_RELATION_NAMES = {1.0: "equal", 0.5: "partial", -1.0: "contradiction", 0.0: "unrelated"}
"""Relations of two sentences by score (Zhu et al., 2024, section III.A)."""


class RelationResults(NamedTuple):
    """Results on the validation split."""

    metrics: MetricTable
    """See `relation_metrics`."""


class RelationExporter(Exporter["RelationModule", RelationResults]):
    """Exporter of `RelationModule`."""

    def check(self, module: RelationModule, data: BaseDataModule) -> None:
        """Check that the data are sentence relations.

        Raises:
            InputError: If the check fails.
        """
        if not isinstance(data, RelationDataModule):
            raise InputError(f"data: Expected RelationDataModule for relations but got {type(data).__name__}.")

    def measure(self, module: RelationModule, trainer: Trainer, data: BaseDataModule) -> RelationResults:
        """Return the metrics on the validation split."""
        trainer.validate(module, data.val_dataloader(), verbose=False)
        return RelationResults(module.metrics)

    def save(
        self,
        module: RelationModule,
        results: RelationResults,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Write the judge and its metrics."""
        save_relation_artifact(make_relation_artifact(module.predictor, training_info, as_float16), run.model)
        write_json(run.metrics, {"relations": results.metrics, **training_info})


class RelationModule(BaseModule):
    """Trains a relation model by cross-entropy.

    Args:
        backbone: Encoder of single sentences.
        projection_size: Dimension of the projected token states.
        comparison_size: Dimension of a token's comparison.
        optimizer: Learning rates and schedule.
    """

    exporter = RelationExporter()
    monitor: ClassVar[str] = "val_kappa"
    row_label: ClassVar[str] = "relation"
    batch_unit: ClassVar[str] = "sentences"
    hparam_metrics: tuple[str, ...] = ("val/kappa", "final/kappa", "final/accuracy")

    def __init__(
        self,
        backbone: Backbone | None = None,
        projection_size: int = 96,
        comparison_size: int = 128,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        self.backbone = backbone or Backbone()
        self.model = RelationModel(self.backbone, projection_size, comparison_size)
        self.predictor = RelationPredictor(self.model, load_tokenizer(self.backbone.name))
        self.confusion = torch.zeros(len(RELATION_SCORES), len(RELATION_SCORES), dtype=torch.int64)
        self.metrics: MetricTable = {}

    def new_modules(self) -> list[nn.Module]:
        """Return everything but the encoder."""
        return [module for name, module in self.model.named_children() if name != "encoder"]

    def training_step(self, batch: list[SentenceRelations], batch_idx: int) -> Tensor | None:
        """Return the mean loss of the pairs of a batch; None if there are no pairs."""
        logits, targets = self._pair_logits(batch)
        if not len(targets):
            return None
        loss = F.cross_entropy(logits, targets)
        self.check_loss_after_backward(loss, [reprlib.repr(record.sentences[0]) for record in batch])
        self.log("train/loss", loss, prog_bar=True, batch_size=len(targets))
        return loss

    def validation_step(self, batch: list[SentenceRelations], batch_idx: int) -> None:
        """Count target and predicted relations."""
        logits, targets = self._pair_logits(batch)
        self.confusion += multiclass_confusion_matrix(logits.argmax(1).cpu(), targets.cpu(), len(RELATION_SCORES))

    def on_validation_epoch_end(self) -> None:
        """Log Cohen's κ and the accuracy."""
        self.metrics = relation_metrics(self.confusion)
        self.confusion.zero_()
        total = {name: value for name, value in self.metrics["total"].items() if value is not None}
        self.log_dict({f"val/{name}": value for name, value in total.items()}, sync_dist=False)
        self.log("val_kappa", total.get("kappa", 0.0), prog_bar=True, logger=False, sync_dist=False)

    def predict_step(self, batch: list[SentenceRelations], batch_idx: int) -> tuple[Tensor, Tensor]:
        """Return the logits of the pairs, and the indices of their target scores in `RELATION_SCORES`."""
        return self._pair_logits(batch)

    def _pair_logits(self, batch: list[SentenceRelations]) -> tuple[Tensor, Tensor]:
        """Return the (P, 4) logits and the (P,) int64 target indices of all pairs of a batch."""
        index = {text: row for row, text in enumerate(dict.fromkeys(text for texts, _ in batch for text in texts))}
        pairs = [(index[texts[i]], index[texts[j]]) for texts, pairs in batch for i, j, _ in pairs]
        targets = [RELATION_SCORES.index(score) for _, pairs in batch for *_, score in pairs]
        logits = self.predictor.logits(self.predictor.encode(list(index)), pairs)
        return logits, torch.tensor(targets, dtype=torch.int64)


def relation_metrics(confusion: Tensor) -> dict[str, dict[str, float | None]]:
    """Return precision and recall per relation, and Cohen's κ and accuracy in the row "total"; None if undefined.

    Args:
        confusion: (4, 4) number of pairs by target (row) and prediction (column), in the order of `RELATION_SCORES`.
    """
    table = confusion.double()
    rows: dict[str, dict[str, float | None]] = {}
    for score, name in _RELATION_NAMES.items():
        index = RELATION_SCORES.index(score)
        rows[name] = {
            "precision": finite_or_none(table[index, index] / table[:, index].sum(), 6),
            "recall": finite_or_none(table[index, index] / table[index].sum(), 6),
            "kappa": None,
            "accuracy": None,
        }
    kappa = finite_or_none(cohen_kappa(confusion), 6)
    accuracy = finite_or_none(table.diagonal().sum() / table.sum(), 6)
    return rows | {"total": {"precision": None, "recall": None, "kappa": kappa, "accuracy": accuracy}}
