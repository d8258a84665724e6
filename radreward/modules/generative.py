"""Modules that train a generative evaluator: base class, mean of token losses, export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_mean
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.models import Backbone
from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator, settings_file_of
from radreward.models.log_probs import unwrap_peft
from radreward.modules.base import BaseModule
from radreward.modules.exporter import Exporter, MetricTable
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.predictions import PredictedCounts
from radreward.modules.run_folder import RunFolder


class GenerativeResults(NamedTuple):
    """Results of a validation."""

    metrics: MetricTable
    report: Mapping[str, Any]
    """Content of the metrics file."""
    predicted: PredictedCounts | None = None
    """Counts that the answers state; None if no answers were generated."""


class GenerativeExporter(Exporter["GenerativeModule", GenerativeResults]):
    """Exporter of the modules that train a `GenerativeEvaluator`."""

    def check(self, module: GenerativeModule, data: BaseDataModule) -> None:
        """Check settings and data, and that the backbone has positions for the longest prompt and answer.

        Raises:
            InputError: If the check fails. The message names the setting.
        """
        module.check_settings()
        encoder = module.prompt_encoder(data)
        try:
            settings_file_of(encoder.template)
        except InputError as error:
            raise InputError(f"data.collator.{error}") from error
        try:
            GenerativeEvaluator(module.backbone, unwrap_peft(module.model), encoder)
        except InputError as error:
            raise InputError(f"data.collator.max_length plus max_answer_length: {error}") from error

    def measure(self, module: GenerativeModule, trainer: Trainer, data: BaseDataModule) -> GenerativeResults:
        """Return the results on the complete validation split."""
        module.is_final_validation = True
        trainer.validate(module, data.val_dataloader(), verbose=False)
        module.is_final_validation = False
        if module.results is None:
            raise RuntimeError(f"Expected the validation of {type(module).__name__} to set `results`.")
        return module.results

    def save(
        self,
        module: GenerativeModule,
        results: GenerativeResults,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Save the evaluator, its metrics and the counts that its answers state."""
        encoder = module.prompt_encoder(data)
        if results.predicted is not None:
            results.predicted.write(run.validation, encoder.criteria)
        GenerativeEvaluator(module.backbone, module.model, encoder, training_info).save(run.model, as_float16)
        write_json(run.metrics, {**results.report, **training_info})


class GenerativeModule(BaseModule, ABC):
    """Base class of the modules that train a `GenerativeEvaluator`.

    Attributes:
        results: Results of the last validation, set by `on_validation_epoch_end`.
        is_final_validation: True in the validation after training, which measures the saved model.

    Args:
        backbone: Causal language model.
        optimizer: Learning rates and schedule.
    """

    exporter = GenerativeExporter()

    def __init__(self, backbone: Backbone, optimizer: AdamWConfig | None = None) -> None:
        super().__init__(optimizer)
        self.backbone = backbone
        self.model = backbone.build(causal_lm=True)
        self.results: GenerativeResults | None = None
        self.is_final_validation = False

    @abstractmethod
    def prompt_encoder(self, data: BaseDataModule) -> ChatPromptEncoder:
        """Return the encoder of the prompts.

        Raises:
            InputError: If the data are for another module. The message names the setting.
        """

    def check_settings(self) -> None:
        """Check the settings of the module before anything is read or written.

        Raises:
            InputError: If a setting is wrong. The message names the setting.
        """

    def new_modules(self) -> list[nn.Module]:
        """Return no module: all weights learn at one rate."""
        return []

    @torch.no_grad()
    def load_initial_weights(self, folder: Path) -> None:
        """Copy the trained weights of a saved generative evaluator into the model.

        Raises:
            InputError: If the folder cannot be read, or its weights have another backbone or other adapters.
        """
        state = load_generative_evaluator(folder, "cpu").trained_state()
        own = {name: value for name, value in self.model.named_parameters() if value.requires_grad}
        expected, given = ({name: tuple(value.shape) for name, value in part.items()} for part in (own, state))
        if different := sorted(name for name in {*expected, *given} if expected.get(name) != given.get(name)):
            shapes = ", not ".join(str(part.get(different[0], "no weight")) for part in (given, expected))
            raise InputError(
                f"{folder}: Expected the backbone and adapters of this run but {different[0]} has {shapes}. "
                "Set model.backbone to that of the saved model."
            )
        for name, value in state.items():
            own[name].copy_(value)

    def log_loss(self, loss: Tensor, ids: Sequence[str]) -> Tensor:
        """Log the mean of the ranks' () losses, see `mean_over_ranks`, as train/loss; return the loss of this rank."""
        self.check_loss_after_backward(loss, ids)
        mean = all_reduce_mean({"loss": loss.detach()})["loss"]
        self.log("train/loss", mean, prog_bar=True, batch_size=len(ids))
        return loss


class TokenMean:
    """Mean loss over the tokens of the batches of all ranks.

    >>> mean = TokenMean()
    >>> mean.update(torch.tensor(1.0), num_tokens=3)
    >>> mean.update(torch.tensor(5.0), num_tokens=1)
    >>> mean.compute()
    2.0
    """

    def __init__(self) -> None:
        self._losses: list[tuple[float, int]] = []

    def update(self, loss: Tensor, num_tokens: int) -> None:
        """Add a batch with this () mean loss."""
        self._losses.append((float(loss), num_tokens))

    def compute(self) -> float:
        """Return the mean; every rank has to call it."""
        losses = all_gather_in_order(self._losses)
        return sum(loss * count for loss, count in losses) / max(1, sum(count for _, count in losses))
