"""Continued pretraining of a language model on plain reports, before SFT (GREEN, section 3.1.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from radreward.data.collators.language_model import LanguageModelBatch, LanguageModelCollator
from radreward.data.collators.sft import IGNORE_INDEX
from radreward.data.datamodule import BaseDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_mean, mean_count_per_rank
from radreward.generative.evaluator import GenerativeEvaluator
from radreward.io.artifacts import write_json
from radreward.models import Backbone
from radreward.models.log_probs import next_token_loss, unwrap_peft
from radreward.modules.base import BaseModule, MetricTable, require_collator
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.run_folder import RunFolder
from radreward.modules.warm_start import load_generative_weights


class LanguageModelModule(BaseModule):
    """Trains a causal language model on plain reports by cross-entropy on all tokens (GREEN, section 3.1.2).

    The result is an evaluator that was never taught to answer: `SFTModule` starts from it.

    Args:
        backbone: Causal language model.
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_log_likelihood"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/loss", "final/perplexity")

    def __init__(self, backbone: Backbone | None = None, optimizer: AdamWConfig | None = None) -> None:
        super().__init__(optimizer)
        self.backbone = backbone or Backbone("tiny-generator", lora=None)
        self.model = self.backbone.build(causal_lm=True)
        self.val_losses: list[tuple[float, int]] = []
        self.val_loss = math.nan

    def validate_setup(self, data: BaseDataModule) -> None:
        """Check that the data are plain reports that fit the backbone.

        Raises:
            InputError: If not; names the setting.
        """
        encoder = require_collator(data, LanguageModelCollator, "a language model").prompt_encoder
        GenerativeEvaluator(self.backbone, unwrap_peft(self.model), encoder)

    def new_modules(self) -> list[nn.Module]:
        """Return no module: all weights learn at one rate."""
        return []

    def load_initial_weights(self, folder: Path) -> None:
        """Load the weights of a saved generative evaluator.

        Raises:
            InputError: If they cannot be read or do not fit.
        """
        load_generative_weights(self.model, folder)

    def training_step(self, batch: LanguageModelBatch, batch_idx: int) -> Tensor:
        """Return the mean loss over tokens.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
        """
        tokens = _count_tokens(batch)
        share = tokens / mean_count_per_rank(tokens, self.device)  # mean over tokens of all ranks
        loss = next_token_loss(self.model, batch.packed, batch.labels) * share
        self.raise_if_not_finite(loss.detach(), f"The loss is {loss.item()} in", batch.ids)
        logged = all_reduce_mean({"loss": loss})["loss"].detach()
        self.log("train/loss", logged, prog_bar=True, batch_size=len(batch.ids))
        return loss

    def on_validation_start(self) -> None:
        """Clear the losses of the previous validation."""
        self.val_losses = []

    def validation_step(self, batch: LanguageModelBatch, batch_idx: int) -> None:
        """Compute the loss of a batch."""
        loss = next_token_loss(self.model, batch.packed, batch.labels)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.val_losses.append((float(loss), _count_tokens(batch)))

    def on_validation_epoch_end(self) -> None:
        """Log the mean loss over tokens, and the perplexity exp(loss)."""
        losses = all_gather_in_order(self.val_losses)
        self.val_loss = sum(loss * count for loss, count in losses) / sum(count for _, count in losses)
        self.log("val/loss", self.val_loss)
        self.log("val/perplexity", math.exp(self.val_loss))
        self.log(self.monitor, -self.val_loss, prog_bar=True, logger=False, sync_dist=False)

    def measure(self, trainer: Trainer, data: BaseDataModule) -> MetricTable:
        """Return loss and perplexity on the validation split."""
        trainer.validate(self, data.val_dataloader(), verbose=False)
        return {"total": {"loss": self.val_loss, "perplexity": math.exp(self.val_loss)}}

    @torch.no_grad()
    def save_results(
        self, run: RunFolder, data: BaseDataModule, training_info: Mapping[str, Any], as_float16: bool
    ) -> None:
        """Save the model as an evaluator, and its metrics."""
        encoder = require_collator(data, LanguageModelCollator, "a language model").prompt_encoder
        GenerativeEvaluator(self.backbone, self.model, encoder, training_info).save(run.model, as_float16)
        metrics = {"loss": self.val_loss, "perplexity": math.exp(self.val_loss)}
        write_json(run.metrics, {"language_model": metrics, **training_info})


def _count_tokens(batch: LanguageModelBatch) -> int:
    return int((batch.labels != IGNORE_INDEX).sum())
