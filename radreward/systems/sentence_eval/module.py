"""A judge of sentences without a chat model, as a LightningModule: how two sentences relate, on any encoder."""

from __future__ import annotations

from typing import ClassVar

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.data.datamodule import TrainingData
from radreward.data.relation_datamodule import RelationDataModule
from radreward.data.relation_io import RelatedSentences
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.metrics import class_counts, cohen_kappa
from radreward.models import Backbone
from radreward.modules.base import BaseModule, Figures, OptimizerSettings
from radreward.modules.export import best_checkpoint
from radreward.modules.run_folder import RunFolder, write_json
from radreward.systems.sentence_eval.artifact import save_relations, saved_relations
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.model import RelationModel, Relations

NAMES = {1.0: "same", 0.5: "partly", -1.0: "contrary", 0.0: "unrelated"}


class RelationModule(BaseModule):
    """Trains a model of the relations of sentences by cross-entropy (the scores of Zhu et al., 2024, section III.A).

    Args:
        backbone: What reads the sentences.
        width: Numbers of a token's state that is compared.
        compared: Numbers of a comparison.
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_kappa"
    rows: ClassVar[str] = "relation"
    shown: ClassVar[tuple[str, ...]] = ("val/kappa", "final/kappa", "final/accuracy")

    def __init__(
        self,
        backbone: Backbone | None = None,
        width: int = 96,
        compared: int = 128,
        optimizer: OptimizerSettings | None = None,
    ) -> None:
        super().__init__(optimizer)
        backbone = backbone or Backbone()
        self.model = RelationModel(backbone, width, compared)
        self.relations = Relations(self.model, load_tokenizer(backbone.name))
        self.counts = torch.zeros(len(SCORES), len(SCORES), dtype=torch.int64)
        self.figures: dict[str, dict[str, float | None]] = {}

    def check(self, data: TrainingData) -> None:
        """Whether the data are related sentences.

        Raises:
            InputError: If not.
        """
        if not isinstance(data, RelationDataModule):
            raise InputError(f"data: Expected RelationDataModule for relations but got {type(data).__name__}.")

    def fresh_modules(self) -> list[nn.Module]:
        """All but the encoder."""
        return [part for name, part in self.model.named_children() if name != "encoder"]

    def training_step(self, batch: list[RelatedSentences], batch_index: int) -> Tensor | None:
        """The mean loss of the pairs of a batch; none where it has no pairs.

        Raises:
            FloatingPointError: If it is not finite.
        """
        logits, wanted = self._related(batch)
        if not len(wanted):
            return None
        loss = F.cross_entropy(logits, wanted)
        if not torch.isfinite(loss):
            raise FloatingPointError(
                f"The loss is {loss.item()} in step {self.global_step}: {batch[0].sentences[0]!r}."
            )
        self.log("train/loss", loss, prog_bar=True, batch_size=len(wanted))
        return loss

    def validation_step(self, batch: list[RelatedSentences], batch_index: int) -> None:
        """Count predicted against known relations."""
        logits, wanted = self._related(batch)
        order = torch.tensor(SCORES)
        self.counts += class_counts(order[logits.argmax(1).cpu()], order[wanted.cpu()], SCORES)

    def on_validation_epoch_end(self) -> None:
        """Log κ and accuracy."""
        self.figures = relation_figures(self.counts)
        self.counts.zero_()
        total = {name: value for name, value in self.figures["total"].items() if value is not None}
        self.log_dict({f"val/{name}": value for name, value in total.items()}, sync_dist=False)
        self.log("val_kappa", total.get("kappa", 0.0), prog_bar=True, logger=False, sync_dist=False)

    def predict_step(self, batch: list[RelatedSentences], batch_index: int) -> tuple[Tensor, Tensor]:
        """Logits of the pairs, and the places of their known scores in `SCORES`."""
        return self._related(batch)

    def finish(self, trainer: Trainer, data: TrainingData, run: RunFolder) -> Figures:
        """Save the best model, and its figures on the validation part.

        Trained weights are saved as float16; they are rounded first, so that what is measured is what is saved.
        """
        best = best_checkpoint(trainer)
        if best is not None:
            self.load_state_dict(self.read_checkpoint(best)["state_dict"])
        half = self.model.backbone.lora is not None
        if half:
            self._round()
        trainer.validate(self, data.val_dataloader(), verbose=False)
        training = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.fingerprint(),
        }
        if trainer.is_global_zero:
            save_relations(saved_relations(self.relations, training, half), run.model)
            write_json(run.metrics, {"relations": self.figures, **training})
        return self.figures

    @torch.no_grad()
    def _round(self) -> None:
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter.half())

    def _related(self, batch: list[RelatedSentences]) -> tuple[Tensor, Tensor]:
        """(P, 4) logits and (P,) int64 known relations of the pairs of a batch."""
        distinct = {text: row for row, text in enumerate(dict.fromkeys(text for texts, _ in batch for text in texts))}
        known = [(distinct[texts[i]], distinct[texts[j]], score) for texts, pairs in batch for i, j, score in pairs]
        logits = self.relations.logits(self.relations.encode(list(distinct)), [(i, j) for i, j, _ in known])
        return logits, torch.tensor([SCORES.index(score) for *_, score in known], dtype=torch.int64)


def relation_figures(counts: Tensor) -> dict[str, dict[str, float | None]]:
    """Precision and recall of each relation, and in the last row κ and accuracy of all; None where not defined.

    Args:
        counts: (4, 4) known (rows) by predicted relations, in the order of `SCORES`.
    """
    table = counts.double()
    rows: dict[str, dict[str, float | None]] = {}
    for score, name in NAMES.items():
        place = SCORES.index(score)
        rows[name] = {
            "precision": _number(table[place, place] / table[:, place].sum()),
            "recall": _number(table[place, place] / table[place].sum()),
            "kappa": None,
            "accuracy": None,
        }
    accuracy = table.diagonal().sum() / table.sum()
    total = {"precision": None, "recall": None, "kappa": _number(cohen_kappa(counts)), "accuracy": _number(accuracy)}
    return rows | {"total": total}


def _number(value: Tensor) -> float | None:
    return None if value.isnan() else round(float(value), 6)
