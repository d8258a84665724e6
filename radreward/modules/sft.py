"""Supervised fine-tuning of a generative evaluator on written answers (GREEN; first stage of RadReason)."""

from __future__ import annotations

from typing import ClassVar

import torch
from lightning.pytorch import Callback
from torch import Tensor

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.sft import SFTBatch, SFTCollator
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_sum, mean_over_ranks
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.log_probs import next_token_loss
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules.agreement_metrics import predicted_count_agreement
from radreward.modules.base import require_collator
from radreward.modules.callbacks import ValidationExample, ValidationExamples
from radreward.modules.generation_metrics import (
    GenerationBatch,
    TextSimilarity,
    compare_generations,
    summarize_generations,
)
from radreward.modules.generative import GenerativeModule, GenerativeResults, TokenMean
from radreward.modules.optimizer import AdamWConfig


class SFTModule(GenerativeModule):
    """Trains a generative evaluator by cross-entropy on the tokens of written answers (GREEN, section 3.1.2).

    Candidates of one reference share its tokens, in training and in validation. BERTScore of the answers needs an
    encoder and is computed only after training.

    Args:
        backbone: Causal language model.
        max_decoded: Number of validation candidates, from the first on, for which answers are generated in each
            validation during training. After training, all candidates are answered. The validation loss always includes
            all candidates.
        batch_size: Maximum number of answers that are decoded together.
        optimizer: Learning rates and schedule.

    Raises:
        ValueError: If `max_decoded` or `batch_size` is not positive.
    """

    monitor: ClassVar[str] = "val_exact"
    hparam_metrics: tuple[str, ...] = (
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
        super().__init__(backbone or Backbone("tiny-generator", lora=None), optimizer)
        for name, value in (("max_decoded", max_decoded), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.max_decoded = max_decoded
        self.batch_size = batch_size
        self.val_loss_mean = TokenMean()
        self.val_generations: list[GenerationBatch] = []
        self._text_similarity: TextSimilarity | None = None
        self._remaining = 0

    def prompt_encoder(self, data: BaseDataModule) -> ChatPromptEncoder:
        """See `GenerativeModule.prompt_encoder`."""
        return require_collator(data, SFTCollator, "SFT").prompt_encoder

    def configure_callbacks(self) -> list[Callback]:
        """Return examples of answers."""
        return [ValidationExamples()]

    def training_step(self, batch: SFTBatch, batch_idx: int) -> Tensor:
        """Return the mean loss over the answer tokens of all ranks.

        Raises:
            InputError: If packing changes the loss.
        """
        self.check_packing_once(batch)
        loss = next_token_loss(self.model, batch.packed, batch.targets)
        return self.log_loss(mean_over_ranks(loss, batch.num_tokens), batch.ids)

    def check_packing(self, batch: SFTBatch) -> None:
        """Compare the loss of packed and of separate candidates."""
        packed_loss = float(next_token_loss(self.model, batch.packed, batch.targets))
        loss = float(next_token_loss(self.model, *batch.unpacked()))
        if not abs(packed_loss - loss) <= self.packing_tolerance(1e-3, 0.1) * max(1.0, abs(loss)):
            raise InputError(
                f"Packed and separate losses of {self.backbone.name} are {packed_loss:.6f} and {loss:.6f}. "
                "Use `packing: rows` with this backbone."
            )

    def on_validation_start(self) -> None:
        """Clear the outputs of the previous validation."""
        self.val_loss_mean = TokenMean()
        self.val_generations = []
        self._remaining = self.max_decoded

    def validation_step(self, batch: SFTBatch, batch_idx: int) -> dict[str, ValidationExample] | None:
        """Compute the loss of the written answers, and compare generated answers with them; return the first one."""
        loss = next_token_loss(self.model, batch.packed, batch.targets)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.val_loss_mean.update(loss, batch.num_tokens)
        if not self.is_final_validation and self._remaining <= 0:
            return None
        # The same count on all ranks, so that they generate answers for equally many batches.
        self._remaining -= int(all_reduce_sum(torch.tensor(len(batch.prompts), device=self.device)))
        answer = self._generate_answers(batch)
        return {"example": ValidationExample(batch.report_pairs[0], answer, batch.answers[0])}

    def _generate_answers(self, batch: SFTBatch) -> str:
        """Generate answers, collect their comparison with the written ones, and return the first answer."""
        encoder = self.prompt_encoder(self.datamodule)
        engine = TransformersEngine(self.model, encoder.tokenizer, self.batch_size)
        completions = engine.greedy(batch.prompts, encoder.max_answer_length, encoder.stop_strings)
        self._text_similarity = self._text_similarity or TextSimilarity(self.device)
        texts = [completion.text for completion in completions]
        similarity = self._text_similarity(batch.answers, texts, with_bertscore=self.is_final_validation)
        self.val_generations.append(compare_generations(encoder, batch, completions, similarity))
        return texts[0]

    def on_validation_epoch_end(self) -> None:
        """Log loss, agreement and text similarity. An unparsable count is wrong, and excluded from correlations."""
        generations = GenerationBatch.concatenate(all_gather_in_order(self.val_generations))
        criteria = self.prompt_encoder(self.datamodule).criteria
        metrics = predicted_count_agreement(criteria, generations.predicted)
        exact = metrics["total"]["accuracy"]
        answers = {"loss": self.val_loss_mean.compute(), "exact": exact, **summarize_generations(generations)}
        self.results = GenerativeResults(metrics, {"agreement": metrics, "answers": answers}, generations.predicted)
        self.log_dict({f"val/{name}": value for name, value in answers.items() if value is not None})
        self.log_metric_table(metrics)
        self.log(self.monitor, float(exact or 0.0), prog_bar=True, logger=False, sync_dist=False)
