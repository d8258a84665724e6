"""LightningModule that trains entity taggers, by IOB tags or by spans, on any backbone."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from lightning.pytorch import Trainer
from torch import Tensor, nn

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.entity_datamodule import EntityDataModule
from radreward.data.entity_io import TaggedSentence
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError, check_choice
from radreward.io.artifacts import write_json
from radreward.io.numbers import finite_or_none
from radreward.metrics.entity_f1 import EntityF1Metric
from radreward.models import Backbone
from radreward.models.sentence_tokenizer import WORD_PATTERN, TokenBatch, TokenizedChunk
from radreward.modules.base import BaseModule
from radreward.modules.exporter import Exporter, MetricTable
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.run_folder import RunFolder
from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
from radreward.systems.ratescore.taggers.neural import NeuralTagger, TaggerModel
from radreward.systems.ratescore.taggers.span_tagger import MAX_SPAN_WORDS, SpanTagger
from radreward.types import ENTITY_TYPES, Entity

logger = logging.getLogger(__name__)


class TaggerResults(NamedTuple):
    """Results on the validation split."""

    metrics: MetricTable
    """Precision, recall, F1 and accuracy by entity type."""


class TaggerExporter(Exporter["TaggerModule", TaggerResults]):
    """Exporter of `TaggerModule`."""

    def check(self, module: TaggerModule, data: BaseDataModule) -> None:
        """Check that the data are sentences with entities.

        Raises:
            InputError: If the check fails.
        """
        if not isinstance(data, EntityDataModule):
            raise InputError(f"data: Expected EntityDataModule for a tagger but got {type(data).__name__}.")

    def measure(self, module: TaggerModule, trainer: Trainer, data: BaseDataModule) -> TaggerResults:
        """Return the metrics on the validation split."""
        trainer.validate(module, data.val_dataloader(), verbose=False)
        return TaggerResults(module.metrics_by_type)

    def save(
        self,
        module: TaggerModule,
        results: TaggerResults,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Save the tagger and its metrics."""
        module.tagger.save_pretrained(run.model, training_info, as_float16)
        write_json(run.metrics, {"entities": results.metrics, **training_info})


class TaggerModule(BaseModule):
    """Trains a tagger (RaTEScore, sections 2.2 and 4.4.1, appendix A.9).

    Args:
        backbone: Encoder of the sentences.
        scheme: `iob` for one tag per token, or `span` for one class per span of at most 8 words.
        hidden_size: Size of the hidden layers of the span classifier; 3096 in the paper.
        optimizer: Learning rates and schedule.
    """

    exporter = TaggerExporter()
    monitor: ClassVar[str] = "val_f1"
    row_label: ClassVar[str] = "type"
    batch_unit: ClassVar[str] = "sentences"
    hparam_metrics: tuple[str, ...] = ("val/f1", "final/f1", "final/accuracy")

    def __init__(
        self,
        backbone: Backbone | None = None,
        scheme: Literal["iob", "span"] = "iob",
        hidden_size: int = 256,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        check_choice("scheme", scheme, ("iob", "span"))
        self.backbone = backbone or Backbone()
        self.model: TaggerModel = (
            IOBTagger(self.backbone) if scheme == "iob" else SpanTagger(self.backbone, hidden_size)
        )
        self.tagger = NeuralTagger(self.model, load_tokenizer(self.backbone.name))
        self.entity_f1 = EntityF1Metric()
        self.metrics_by_type: dict[str, dict[str, float | None]] = {}

    def new_modules(self) -> list[nn.Module]:
        """Return the head."""
        return [part for name, part in self.model.named_children() if name != "encoder"]

    def on_fit_start(self) -> None:
        """Warn about entities that are too long for a span."""
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(self.model, SpanTagger) and isinstance(data, EntityDataModule):
            names = [entity.name for sentence in data.train_sentences for entity in sentence.entities]
            if too_long := sum(len(WORD_PATTERN.findall(name)) > MAX_SPAN_WORDS for name in names):
                message = "%d of %d training entities have more than %d words and cannot be learned as spans."
                logger.warning(message, too_long, len(names), MAX_SPAN_WORDS)

    def training_step(self, batch: list[TaggedSentence], batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        chunks, entities = self._tokenize(batch)
        tokens = TokenBatch(*(part.to(self.device) for part in self.tagger.sentence_tokenizer.collate(chunks)))
        loss = self.model.loss(tokens, chunks, entities)
        self.check_loss_after_backward(loss, [reprlib.repr(sentence.text) for sentence in batch])
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return loss

    def validation_step(self, batch: list[TaggedSentence], batch_idx: int) -> None:
        """Compare the predicted entities with the gold entities."""
        texts, gold = zip(*batch, strict=True)
        self.entity_f1.update(texts, self.tagger.tag(texts), gold)

    def on_validation_epoch_end(self) -> None:
        """Log precision, recall, F1 and accuracy of the entities."""
        values = {name: value.float() for name, value in self.entity_f1.compute().items()}
        self.log_dict({f"val/{name}": value for name, value in values.items() if not value.isnan()}, sync_dist=False)
        self.log("val_f1", values["f1"], prog_bar=True, logger=False, sync_dist=False)
        self.metrics_by_type = _metrics_by_entity_type(values)
        self.entity_f1.reset()

    def predict_step(self, batch: list[TaggedSentence], batch_idx: int) -> list[TaggedSentence]:
        """Return the sentences with predicted entities."""
        texts = [sentence.text for sentence in batch]
        return list(map(TaggedSentence, texts, self.tagger.tag(texts)))

    def _tokenize(self, batch: list[TaggedSentence]) -> tuple[list[TokenizedChunk], list[list[Entity]]]:
        """Return the chunks of the sentences, and the gold entities of each chunk with offsets in the chunk."""
        tokenizer = self.tagger.sentence_tokenizer
        chunks = [chunk for row, sentence in enumerate(batch) for chunk in tokenizer.chunks(row, sentence.text)]
        return chunks, [
            [
                entity._replace(start=entity.start - chunk.start, end=entity.end - chunk.start)
                for entity in batch[chunk.sentence_index].entities
                if chunk.start <= entity.start and entity.end <= chunk.start + len(chunk.text)
            ]
            for chunk in chunks
        ]


def _metrics_by_entity_type(scores: Mapping[str, Tensor]) -> dict[str, dict[str, float | None]]:
    """Return the values of `EntityF1Metric` by type, with a last row "total"; None if undefined."""
    values = {name: finite_or_none(value) for name, value in scores.items()}
    names = ("precision", "recall", "f1")
    rows: dict[str, dict[str, float | None]] = {
        kind: {name: values[f"{name}/{kind}"] for name in names} | {"accuracy": None} for kind in ENTITY_TYPES
    }
    return rows | {"total": {name: values[name] for name in (*names, "accuracy")}}
