"""Supervised fine-tuning of a generative evaluator on written answers (GREEN; first stage of RadReason)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import Callback, Trainer
from torch import Tensor, nn

from radreward.data.collators.sft import IGNORE_INDEX, SFTBatch, SFTCollator
from radreward.data.datamodule import BaseDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_mean, all_reduce_sum, mean_count_per_rank
from radreward.errors import InputError
from radreward.generative.evaluator import GenerativeEvaluator
from radreward.io.artifacts import write_json
from radreward.models import Backbone
from radreward.models.log_probs import next_token_loss, unwrap_peft
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules.agreement_metrics import predicted_count_agreement
from radreward.modules.base import BaseModule, MetricTable, require_collator
from radreward.modules.callbacks import ValidationExample, ValidationExamples
from radreward.modules.generation_metrics import (
    GenerationBatch,
    TextSimilarity,
    compare_generations,
    summarize_generations,
)
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.predictions import PredictedCounts
from radreward.modules.run_folder import RunFolder
from radreward.modules.warm_start import load_generative_weights


class SFTModule(BaseModule):
    """Trains a generative evaluator by cross-entropy on the tokens of written answers (GREEN, section 3.1.2).

    Candidates of one reference share its tokens, in training and in validation. BERTScore of the answers needs an
    encoder and is computed only after training.

    Args:
        backbone: Causal language model.
        max_decoded: Number of validation candidates, from the first on, for which answers are generated in each
            validation during training; after training all are. The validation loss is always that of all candidates.
        batch_size: Maximum number of answers that are decoded together.
        optimizer: Learning rates and schedule.

    Raises:
        ValueError: If `max_decoded` or `batch_size` is not positive.
    """

    monitor: ClassVar[str] = "val_exact"
    hparam_metrics: ClassVar[tuple[str, ...]] = (
        "val/loss",
        "val/exact",
        "val/well_formed",
        "final/accuracy",
        "final/tau_b",
    )

    def __init__(
        self,
        backbone: Backbone | None = None,
        max_decoded: int = 200,
        batch_size: int = 64,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        for name, value in (("max_decoded", max_decoded), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.backbone = backbone or Backbone("tiny-generator", lora=None)
        self.model = self.backbone.build(causal_lm=True)
        self.max_decoded, self.batch_size = max_decoded, batch_size
        self.val_losses: list[tuple[float, int]] = []
        self.val_generations: list[GenerationBatch] = []
        self.predicted: PredictedCounts | None = None
        self.val_metrics: MetricTable = {}
        self.answer_metrics: dict[str, float | None] = {}
        self._text_similarity: TextSimilarity | None = None
        self._decode_all = False
        self._remaining = 0

    def validate_setup(self, data: BaseDataModule) -> None:
        """Check that the data are prompts with answers that fit the backbone.

        Raises:
            InputError: If not; names the setting.
        """
        encoder = require_collator(data, SFTCollator, "SFT").prompt_encoder
        GenerativeEvaluator(self.backbone, unwrap_peft(self.model), encoder)

    def new_modules(self) -> list[nn.Module]:
        """Return no module: all weights learn at one rate."""
        return []

    def configure_callbacks(self) -> list[Callback]:
        """Return examples of answers."""
        return [ValidationExamples()]

    def load_initial_weights(self, folder: Path) -> None:
        """Load the weights of a saved generative evaluator.

        Raises:
            InputError: If they cannot be read or do not fit.
        """
        load_generative_weights(self.model, folder)

    def training_step(self, batch: SFTBatch, batch_idx: int) -> Tensor:
        """Return the mean loss over answer tokens.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
            InputError: If packing changes the loss.
        """
        self.check_packing_once(batch)
        tokens = int((batch.labels != IGNORE_INDEX).sum())
        share = tokens / mean_count_per_rank(tokens, self.device)  # mean over tokens of all ranks
        loss = next_token_loss(self.model, batch.packed, batch.labels) * share
        self.raise_if_not_finite(loss.detach(), f"The loss is {loss.item()} in", batch.ids)
        logged = all_reduce_mean({"loss": loss})["loss"].detach()
        self.log("train/loss", logged, prog_bar=True, batch_size=len(batch.ids))
        return loss

    def check_packing(self, batch: SFTBatch) -> None:
        """Compare the loss of packed and of separate candidates."""
        packed_loss = float(next_token_loss(self.model, batch.packed, batch.labels))
        loss = float(
            next_token_loss(self.model, *require_collator(self.datamodule, SFTCollator, "SFT").unpacked(batch))
        )
        if not abs(packed_loss - loss) <= self.packing_tolerance(1e-3, 0.1) * max(1.0, abs(loss)):
            raise InputError(
                f"Packed and separate losses of {self.backbone.name} are {packed_loss:.6f} and {loss:.6f}. "
                "Use `packing: rows` with this backbone."
            )

    def on_validation_start(self) -> None:
        """Clear the outputs of the previous validation."""
        self.val_losses, self.val_generations = [], []
        self._remaining = self.max_decoded

    def validation_step(self, batch: SFTBatch, batch_idx: int) -> dict[str, ValidationExample] | None:
        """Compute the loss of the written answers, and compare generated answers with them; return the first one."""
        loss = next_token_loss(self.model, batch.packed, batch.labels)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.val_losses.append((float(loss), int((batch.labels != IGNORE_INDEX).sum())))
        if not self._decode_all and self._remaining <= 0:
            return None
        # The same count on all ranks, so that they generate answers for equally many batches.
        self._remaining -= int(all_reduce_sum(torch.tensor(len(batch.prompts), device=self.device)))
        answer = self._generate_answers(batch)
        return {"example": ValidationExample(batch.report_pairs[0], answer, batch.answers[0])}

    def _generate_answers(self, batch: SFTBatch) -> str:
        """Generate answers, collect their comparison with the written ones, and return the first answer."""
        collator = require_collator(self.datamodule, SFTCollator, "SFT")
        encoder = collator.prompt_encoder
        stop = collator.template.stop_string(encoder.criteria)
        engine = TransformersEngine(self.model, encoder.tokenizer, self.batch_size)
        completions = engine.greedy(batch.prompts, encoder.max_answer_length, (stop,) if stop else ())
        self._text_similarity = self._text_similarity or TextSimilarity(self.device)
        texts = [completion.text for completion in completions]
        similarity = self._text_similarity(batch.answers, texts, with_bertscore=self._decode_all)
        self.val_generations.append(compare_generations(encoder, batch, completions, similarity))
        return texts[0]

    def on_validation_epoch_end(self) -> None:
        """Log loss, agreement and text similarity. An unparsable count is wrong, and excluded from correlations."""
        losses = all_gather_in_order(self.val_losses)
        loss = sum(value * count for value, count in losses) / max(1, sum(count for _, count in losses))
        generations = GenerationBatch.concatenate(all_gather_in_order(self.val_generations))
        self.predicted = generations.predicted
        criteria = require_collator(self.datamodule, SFTCollator, "SFT").criteria
        self.val_metrics = predicted_count_agreement(criteria, self.predicted)
        exact = self.val_metrics["total"]["accuracy"]
        self.answer_metrics = {"loss": loss, "exact": exact, **summarize_generations(generations)}
        for name, value in self.answer_metrics.items():
            if value is not None:
                self.log(f"val/{name}", value)
        self.log_metric_table(self.val_metrics)
        self.log(self.monitor, float(exact or 0.0), prog_bar=True, logger=False, sync_dist=False)

    def measure(self, trainer: Trainer, data: BaseDataModule) -> MetricTable:
        """Return the agreement of generated answers on the complete validation split."""
        self._decode_all = True
        trainer.validate(self, data.val_dataloader(), verbose=False)
        self._decode_all = False
        return self.val_metrics

    def save_results(
        self, run: RunFolder, data: BaseDataModule, training_info: Mapping[str, Any], as_float16: bool
    ) -> None:
        """Save the evaluator, its validation predictions and metrics."""
        if self.predicted is None:
            raise RuntimeError("Expected `measure` to have validated the model.")
        encoder = require_collator(data, SFTCollator, "SFT").prompt_encoder
        self.predicted.write(run.validation, encoder.criteria)
        GenerativeEvaluator(self.backbone, self.model, encoder, training_info).save(run.model, as_float16)
        write_json(run.metrics, {"agreement": self.val_metrics, "answers": self.answer_metrics, **training_info})
