"""A judge of sentences without a chat model, as a LightningModule: how two sentences relate, on any encoder."""

from __future__ import annotations

from typing import ClassVar

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.data.datamodule import BaseDataModule
from radreward.data.relation_datamodule import RelationDataModule
from radreward.data.relation_io import SentenceRelations
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.metrics import cohen_kappa, confusion_matrix
from radreward.models import Backbone
from radreward.modules.base import AdamWConfig, BaseModule, MetricTable
from radreward.modules.export import best_checkpoint
from radreward.modules.run_folder import RunFolder, write_json
from radreward.systems.sentence_eval.artifact import make_relation_artifact, save_relation_artifact
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

RELATION_NAMES = {1.0: "same", 0.5: "partly", -1.0: "contrary", 0.0: "unrelated"}


class RelationModule(BaseModule):
    """Trains a model of the relations of sentences by cross-entropy (the scores of Zhu et al., 2024, section III.A).

    Args:
        backbone: What reads the sentences.
        width: Numbers of a token's state that is compared.
        compared: Numbers of a comparison.
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_kappa"
    row_label: ClassVar[str] = "relation"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/kappa", "final/kappa", "final/accuracy")

    def __init__(
        self,
        backbone: Backbone | None = None,
        projection_size: int = 96,
        comparison_size: int = 128,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        backbone = backbone or Backbone()
        self.model = RelationModel(backbone, projection_size, comparison_size)
        self.predictor = RelationPredictor(self.model, load_tokenizer(backbone.name))
        self.confusion = torch.zeros(len(SCORES), len(SCORES), dtype=torch.int64)
        self.metrics: dict[str, dict[str, float | None]] = {}

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether the data are related sentences.

        Raises:
            InputError: If not.
        """
        if not isinstance(data, RelationDataModule):
            raise InputError(f"data: Expected RelationDataModule for relations but got {type(data).__name__}.")

    def new_modules(self) -> list[nn.Module]:
        """All but the encoder."""
        return [part for name, part in self.model.named_children() if name != "encoder"]

    def training_step(self, batch: list[SentenceRelations], batch_idx: int) -> Tensor | None:
        """The mean loss of the pairs of a batch; none where it has no pairs.

        Raises:
            FloatingPointError: If it is not finite.
        """
        logits, wanted = self._pair_logits(batch)
        if not len(wanted):
            return None
        loss = F.cross_entropy(logits, wanted)
        if not torch.isfinite(loss):
            raise FloatingPointError(
                f"The loss is {loss.item()} in step {self.global_step}: {batch[0].sentences[0]!r}."
            )
        self.log("train/loss", loss, prog_bar=True, batch_size=len(wanted))
        return loss

    def validation_step(self, batch: list[SentenceRelations], batch_idx: int) -> None:
        """Count predicted against known relations."""
        logits, wanted = self._pair_logits(batch)
        order = torch.tensor(SCORES)
        self.confusion += confusion_matrix(order[logits.argmax(1).cpu()], order[wanted.cpu()], SCORES)

    def on_validation_epoch_end(self) -> None:
        """Log κ and accuracy."""
        self.metrics = relation_metrics(self.confusion)
        self.confusion.zero_()
        total = {name: value for name, value in self.metrics["total"].items() if value is not None}
        self.log_dict({f"val/{name}": value for name, value in total.items()}, sync_dist=False)
        self.log("val_kappa", total.get("kappa", 0.0), prog_bar=True, logger=False, sync_dist=False)

    def predict_step(self, batch: list[SentenceRelations], batch_idx: int) -> tuple[Tensor, Tensor]:
        """Logits of the pairs, and the places of their known scores in `SCORES`."""
        return self._pair_logits(batch)

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save the best model, and its figures on the validation part.

        Trained weights are saved as float16; they are rounded first, so that what is measured is what is saved.
        """
        best = best_checkpoint(trainer)
        if best is not None:
            self.load_state_dict(self.read_checkpoint(best)["state_dict"])
        half = self.model.backbone.lora is not None
        if half:
            self._round_to_float16()
        trainer.validate(self, data.val_dataloader(), verbose=False)
        training = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.file_fingerprints(),
        }
        if trainer.is_global_zero:
            save_relation_artifact(make_relation_artifact(self.predictor, training, half), run.model)
            write_json(run.metrics, {"relations": self.metrics, **training})
        return self.metrics

    @torch.no_grad()
    def _round_to_float16(self) -> None:
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter.half())

    def _pair_logits(self, batch: list[SentenceRelations]) -> tuple[Tensor, Tensor]:
        """(P, 4) logits and (P,) int64 known relations of the pairs of a batch."""
        distinct = {text: row for row, text in enumerate(dict.fromkeys(text for texts, _ in batch for text in texts))}
        known = [(distinct[texts[i]], distinct[texts[j]], score) for texts, pairs in batch for i, j, score in pairs]
        logits = self.predictor.logits(self.predictor.encode(list(distinct)), [(i, j) for i, j, _ in known])
        return logits, torch.tensor([SCORES.index(score) for *_, score in known], dtype=torch.int64)


def relation_metrics(confusion: Tensor) -> dict[str, dict[str, float | None]]:
    """Precision and recall of each relation, and in the last row κ and accuracy of all; None where not defined.

    Args:
        counts: (4, 4) known (rows) by predicted relations, in the order of `SCORES`.
    """
    table = confusion.double()
    rows: dict[str, dict[str, float | None]] = {}
    for score, name in RELATION_NAMES.items():
        place = SCORES.index(score)
        rows[name] = {
            "precision": _metric_value(table[place, place] / table[:, place].sum()),
            "recall": _metric_value(table[place, place] / table[place].sum()),
            "kappa": None,
            "accuracy": None,
        }
    accuracy = table.diagonal().sum() / table.sum()
    total = {
        "precision": None,
        "recall": None,
        "kappa": _metric_value(cohen_kappa(confusion)),
        "accuracy": _metric_value(accuracy),
    }
    return rows | {"total": total}


def _metric_value(value: Tensor) -> float | None:
    return None if value.isnan() else round(float(value), 6)
