"""Entity taggers as a LightningModule: IOB tags or spans, on any backbone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from radreward.data.datamodule import BaseDataModule
from radreward.data.entity_datamodule import EntityDataModule
from radreward.data.entity_io import TaggedSentence
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.metrics.entity_f1 import EntityF1Metric
from radreward.models import Backbone
from radreward.models.sentence_tokenizer import WORD_PATTERN, TokenBatch, TokenizedChunk
from radreward.modules.base import AdamWConfig, BaseModule, MetricTable
from radreward.modules.export import best_checkpoint
from radreward.modules.run_folder import RunFolder, write_json
from radreward.systems.ratescore.taggers import IOBTagger, NeuralTagger, SpanTagger
from radreward.systems.ratescore.taggers.neural import TaggerModel, entities_from_spans
from radreward.systems.ratescore.taggers.span_tagger import MAX_SPAN_WORDS
from radreward.types import ENTITY_TYPES, Entity

logger = logging.getLogger(__name__)


class TaggerModule(BaseModule):
    """Trains a tagger (RaTEScore, sections 2.2 and 4.4.1, appendix A.9).

    Args:
        backbone: What reads the sentences.
        scheme: `iob`, a tag for each token, or `span`, a class for each span of at most 8 words.
        hidden: Width of the hidden layers of the MLP on spans; 3096 in the paper.
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_f1"
    row_label: ClassVar[str] = "type"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/f1", "final/f1", "final/accuracy")

    def __init__(
        self,
        backbone: Backbone | None = None,
        scheme: Literal["iob", "span"] = "iob",
        hidden_size: int = 256,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        backbone = backbone or Backbone()
        self.model: TaggerModel = IOBTagger(backbone) if scheme == "iob" else SpanTagger(backbone, hidden_size)
        self.tagger = NeuralTagger(self.model, load_tokenizer(backbone.name))
        self.entity_f1 = EntityF1Metric()
        self.metrics_by_type: dict[str, dict[str, float | None]] = {}

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether the data are sentences with entities.

        Raises:
            InputError: If not.
        """
        if not isinstance(data, EntityDataModule):
            raise InputError(f"data: Expected EntityDataModule for a tagger but got {type(data).__name__}.")

    def new_modules(self) -> list[nn.Module]:
        """The head."""
        return [part for name, part in self.model.named_children() if name != "encoder"]

    def on_fit_start(self) -> None:
        """Tell how many entities no span can stand for."""
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(self.model, SpanTagger) and isinstance(data, EntityDataModule):
            names = [entity.name for sentence in data.train_sentences for entity in sentence.entities]
            if long := sum(len(WORD_PATTERN.findall(name)) > MAX_SPAN_WORDS for name in names):
                logger.warning(
                    "%d of the %d entities to train on have more than %d words: no span can be learnt for them.",
                    *(long, len(names), MAX_SPAN_WORDS),
                )

    def training_step(self, batch: list[TaggedSentence], batch_idx: int) -> Tensor:
        """The loss of a batch.

        Raises:
            FloatingPointError: If it is not finite.
        """
        pieces, entities = self._tokenize(batch)
        loss = self.model.loss(self._to_batch(pieces), pieces, entities)
        if not torch.isfinite(loss):
            raise FloatingPointError(f"The loss is {loss.item()} in step {self.global_step}: {batch[0].text!r}.")
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return loss

    def validation_step(self, batch: list[TaggedSentence], batch_idx: int) -> None:
        """Entities found against known ones."""
        self.entity_f1.update([text for text, _ in batch], self._predict_entities(batch), [known for _, known in batch])

    def on_validation_epoch_end(self) -> None:
        """Log precision, recall, F1 and accuracy."""
        values = {name: value.float() for name, value in self.entity_f1.compute().items()}
        self.log_dict({f"val/{name}": value for name, value in values.items() if not value.isnan()}, sync_dist=False)
        self.log("val_f1", values["f1"], prog_bar=True, logger=False, sync_dist=False)
        self.metrics_by_type = metrics_by_entity_type(values)
        self.entity_f1.reset()

    def predict_step(self, batch: list[TaggedSentence], batch_idx: int) -> list[TaggedSentence]:
        """The sentences with the entities that were found."""
        return [
            TaggedSentence(text, tuple(found))
            for (text, _), found in zip(batch, self._predict_entities(batch), strict=True)
        ]

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save the best tagger, and its figures on the validation part.

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
            "data": data.file_fingerprints(),
        }
        if trainer.is_global_zero:
            self.tagger.save_pretrained(run.model, training, half)
            write_json(run.metrics, {"entities": self.metrics_by_type, **training})
        return self.metrics_by_type

    @torch.no_grad()
    def _round(self) -> None:
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter.half())

    def _tokenize(self, batch: list[TaggedSentence]) -> tuple[list[TokenizedChunk], list[list[Entity]]]:
        """The tokens of the sentences, and the entities of each piece by their place in it."""
        pieces = [
            piece for row, (text, _) in enumerate(batch) for piece in self.tagger.sentence_tokenizer.chunks(row, text)
        ]
        return pieces, [
            [
                entity._replace(start=entity.start - piece.start, end=entity.end - piece.start)
                for entity in batch[piece.sentence_index].entities
                if piece.start <= entity.start and entity.end <= piece.start + len(piece.text)
            ]
            for piece in pieces
        ]

    def _to_batch(self, chunks: list[TokenizedChunk]) -> TokenBatch:
        return TokenBatch(*(part.to(self.device) for part in self.tagger.sentence_tokenizer.collate(chunks)))

    def _predict_entities(self, batch: list[TaggedSentence]) -> list[list[Entity]]:
        pieces, _ = self._tokenize(batch)
        found: list[list[Entity]] = [[] for _ in batch]
        for piece, spans in zip(pieces, self.model.decode(self._to_batch(pieces), pieces), strict=True):
            found[piece.sentence_index] += entities_from_spans(piece, spans)
        return found


def metrics_by_entity_type(scores: Mapping[str, Tensor]) -> dict[str, dict[str, float | None]]:
    """What `EntityF1Metric` computed, by type, the last row the total; None where a figure is not defined."""
    values = {name: None if value.isnan() else float(value) for name, value in scores.items()}
    names = ("precision", "recall", "f1")
    rows: dict[str, dict[str, float | None]] = {
        kind: {name: values[f"{name}/{kind}"] for name in names} | {"accuracy": None} for kind in ENTITY_TYPES
    }
    return rows | {"total": {name: values[name] for name in (*names, "accuracy")}}
