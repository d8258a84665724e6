"""Continued pretraining of a language model on plain reports, before SFT (GREEN, section 3.1.2)."""

from __future__ import annotations

import math
from typing import ClassVar

from torch import Tensor

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.language_model import LanguageModelBatch, LanguageModelCollator
from radreward.distributed import mean_over_ranks
from radreward.models import Backbone
from radreward.models.log_probs import next_token_loss
from radreward.modules.base import require_collator
from radreward.modules.generative import GenerativeModule, GenerativeResults, TokenMean
from radreward.modules.optimizer import AdamWConfig


class LanguageModelModule(GenerativeModule):
    """Trains a causal language model on plain reports by cross-entropy on all tokens (GREEN, section 3.1.2).

    The result cannot answer prompts yet. `SFTModule` trains it to answer.

    Args:
        backbone: Causal language model.
        optimizer: Learning rates and schedule.
    """

    monitor: ClassVar[str] = "val_log_likelihood"
    hparam_metrics: tuple[str, ...] = ("val/loss", "final/perplexity")

    def __init__(self, backbone: Backbone | None = None, optimizer: AdamWConfig | None = None) -> None:
        super().__init__(backbone or Backbone("tiny-generator", lora=None), optimizer)
        self.val_loss_mean = TokenMean()

    def prompt_encoder(self, data: BaseDataModule) -> ChatPromptEncoder:
        """See `GenerativeModule.prompt_encoder`."""
        return require_collator(data, LanguageModelCollator, "a language model").prompt_encoder

    def training_step(self, batch: LanguageModelBatch, batch_idx: int) -> Tensor:
        """Return the mean loss over the tokens of all ranks."""
        loss = next_token_loss(self.model, batch.packed, batch.targets)
        return self.log_loss(mean_over_ranks(loss, batch.num_tokens), batch.ids)

    def on_validation_start(self) -> None:
        """Clear the losses of the previous validation."""
        self.val_loss_mean = TokenMean()

    def validation_step(self, batch: LanguageModelBatch, batch_idx: int) -> None:
        """Compute the loss of a batch."""
        loss = next_token_loss(self.model, batch.packed, batch.targets)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.val_loss_mean.update(loss, batch.num_tokens)

    def on_validation_epoch_end(self) -> None:
        """Log the mean loss over tokens, and the perplexity exp(loss)."""
        loss = self.val_loss_mean.compute()
        metrics = {"loss": loss, "perplexity": math.exp(loss)}
        self.results = GenerativeResults({"total": metrics}, {"language_model": metrics})
        self.log_dict({f"val/{name}": value for name, value in metrics.items()})
        self.log(self.monitor, -loss, prog_bar=True, logger=False, sync_dist=False)
