"""Models that judge in text, trained on written answers: GREEN's analyses, RadReason's reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn
from torch.nn import functional as F

from radreward import distributed as processes
from radreward.data.collators.sft import IGNORE_INDEX, SFTCollator
from radreward.data.datamodule import BaseDataModule, PairedReportDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.errors import InputError
from radreward.generative.evaluator import GenerativeEvaluator
from radreward.models import Backbone
from radreward.models.attention import model_inputs
from radreward.models.log_probs import unwrap_peft
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules.base import AdamWConfig, BaseModule, MetricTable
from radreward.modules.count_metrics import PredictedCounts, predicted_count_agreement
from radreward.modules.export import best_checkpoint, check_unsharded
from radreward.modules.generation_metrics import (
    GenerationBatch,
    TextSimilarity,
    concatenate_generations,
    green_score_errors,
    summarize_generations,
)
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.warm_start import load_generative_weights, round_trained_to_float16
from radreward.systems.green.prompt import GreenTemplate
from radreward.types import PackedBatch, SFTBatch


class SFTModule(BaseModule):
    """Trains a model to write analyses by cross-entropy on their tokens (GREEN, section 3.1.2).

    What the candidates of a reference share is read once for all of them, in training and in validation. BERTScore of
    the answers, which takes an encoder, is computed after training alone.

    Args:
        backbone: What reads the reports and writes.
        decoded: Candidates of the validation part that are answered in each validation during training, from its
            first on; all are after it. The loss is of all of them.
        batch_size: Most answers that are decoded together.
        optimizer: Learning rates and schedule.

    Raises:
        ValueError: If `decoded` or `batch_size` is not positive.
    """

    monitor: ClassVar[str] = "val_exact"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/loss", "val/exact", "val/valid", "final/accuracy", "final/tau_b")

    def __init__(
        self,
        backbone: Backbone | None = None,
        max_decoded: int = 200,
        batch_size: int = 64,
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        for name, value in (("decoded", max_decoded), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.backbone = backbone or Backbone("tiny-generator", lora=None)
        self.model: Any = self.backbone.build(causal_lm=True)
        self.max_decoded, self.batch_size = max_decoded, batch_size
        self.mask_dtype = getattr(torch, self.backbone.dtype)
        self.val_batches: list[GenerationBatch] = []
        self.predicted: PredictedCounts | None = None
        self.val_losses: list[tuple[float, int]] = []
        self.val_metrics: MetricTable = {}
        self.format_metrics: dict[str, float | None] = {}
        self._decode_all = False
        self._text_similarity: TextSimilarity | None = None
        self._remaining = 0
        self._packing_checked = False

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether the data are prompts with answers that the backbone has room for.

        Raises:
            InputError: If not; names the setting.
        """
        GenerativeEvaluator(self.backbone, unwrap_peft(self.model), require_sft_collator(data).prompt_encoder)

    def load_initial_weights(self, folder: Path) -> None:
        """Begin with the weights of a saved model.

        Raises:
            InputError: If they cannot be read, or do not fit.
        """
        load_generative_weights(self.model, folder)

    def new_modules(self) -> list[nn.Module]:
        """None: all learns at one rate."""
        return []

    def on_fit_start(self) -> None:
        """Prepare to compare packed and separate losses on the first batch."""
        self._packing_checked = False

    def training_step(self, batch: SFTBatch, batch_idx: int) -> Tensor:
        """The mean loss of the answers' tokens.

        Raises:
            FloatingPointError: If it is not finite; names the groups of the batch.
            InputError: If packing gives another loss than rows.
        """
        own = self._token_loss(batch.packed, batch.labels)
        if not self._packing_checked:
            with processes.raise_on_all_ranks(self.device):
                self._check_packing(batch, float(own.detach()))
            self._packing_checked = True
        tokens = int((batch.labels != IGNORE_INDEX).sum())
        loss = own * (tokens / processes.mean_count_per_rank(tokens, self.device))  # of the answers of all processes
        self.raise_if_not_finite(loss.detach(), f"The loss is {loss.item()} in", batch.ids)
        self.log(
            "train/loss",
            processes.all_reduce_mean({"loss": loss})["loss"].detach(),
            prog_bar=True,
            batch_size=len(batch.ids),
        )
        return loss

    def _token_loss(self, packed: PackedBatch, labels: Tensor) -> Tensor:
        config = unwrap_peft(self.model).config
        columns = (labels != IGNORE_INDEX).any(0).nonzero().flatten()  # no row has an answer elsewhere: no logits there
        logits = self.model(**model_inputs(packed, config, self.mask_dtype), logits_to_keep=columns).logits
        return F.cross_entropy(logits.flatten(0, 1).float(), labels[:, columns].flatten(), ignore_index=IGNORE_INDEX)

    @torch.no_grad()
    def _check_packing(self, batch: SFTBatch, packed_loss: float) -> None:
        """An architecture that does not see the tree would be wrong without an error."""
        apart = require_sft_collator(self.trainer.datamodule).unpacked(batch)  # type: ignore[attr-defined]  # it is trained on it
        rows = float(self._token_loss(*(self._to_device(part) for part in apart)))
        tolerance = 1e-3 if str(self.trainer.precision) in ("32-true", "64-true") else 0.1
        if not abs(packed_loss - rows) <= tolerance * max(1.0, abs(rows)):
            raise InputError(
                f"Packed and separate losses of {self.backbone.name} are {packed_loss:.6f} and {rows:.6f}. "
                "Use `packing: rows` with this backbone."
            )

    def _to_device(self, part: Any) -> Any:
        return (
            PackedBatch(*(entry.to(self.device) for entry in part)) if isinstance(part, tuple) else part.to(self.device)
        )

    def on_validation_start(self) -> None:
        """Nothing is seen yet."""
        self.val_batches, self.val_losses = [], []
        self._remaining = self.max_decoded

    def validation_step(self, batch: SFTBatch, batch_idx: int) -> None:
        """The loss of the written answers, and the model's own answers against them."""
        loss = self._token_loss(batch.packed, batch.labels)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.val_losses.append((float(loss), int((batch.labels != IGNORE_INDEX).sum())))
        if self._decode_all or self._remaining > 0:
            # All processes count alike: they have to answer equally many batches.
            self._remaining -= int(processes.all_reduce_sum(torch.tensor(len(batch.prompts), device=self.device)))
            self.val_batches.append(self._generate_answers(batch, batch_idx))

    def _generate_answers(self, batch: SFTBatch, batch_idx: int) -> GenerationBatch:
        collator = require_sft_collator(self.trainer.datamodule)  # type: ignore[attr-defined]  # it is trained on it
        questions, template = collator.prompt_encoder, collator.template
        engine = TransformersEngine(self.model, questions.tokenizer, self.batch_size)
        end = template.stop_string(questions.criteria)
        made = engine.greedy(batch.prompts, questions.max_answer_length, (end,) if end else ())
        parsed = [template.parse(one.text, questions.criteria) for one in made]
        ids = tuple(batch.ids[place] for place in batch.group.tolist())
        values = [[torch.nan if value is None else value for value in one.values] for one in parsed]
        texts, wanted = [one.text for one in made], batch.answers
        green = torch.full((len(texts), 2), torch.nan)
        if isinstance(template, GreenTemplate):
            pairs = zip(texts, wanted, strict=True)
            green = torch.tensor([green_score_errors(*pair, questions.criteria) for pair in pairs])
        self._text_similarity = self._text_similarity or TextSimilarity(self.device)
        likeness, cut = self._text_similarity(wanted, texts, with_bertscore=self._decode_all)
        board = self.logger
        if batch_idx == 0 and isinstance(board, TensorBoardLogger):
            reports, text = batch.report_pairs[0], made[0].text
            shown = "\n\n".join((*reports, "answered:", text, "written:", batch.answers[0]))
            board.experiment.add_text("val/answer", "    " + shown.replace("\n", "\n    "), self.global_step)
        return GenerationBatch(
            PredictedCounts(torch.tensor(values).reshape(len(made), -1), batch.error_counts.cpu(), ids),
            torch.tensor([one.format_error is None for one in parsed]),
            torch.tensor([one.finish_reason == "stop" for one in made]),
            likeness,
            cut,
            green,
        )

    def on_validation_epoch_end(self) -> None:
        """Log loss, form and agreement; what cannot be read counts as wrong, and is left out of correlations."""
        losses = all_gather_in_order(self.val_losses)
        loss = sum(value * count for value, count in losses) / max(1, sum(count for _, count in losses))
        seen = concatenate_generations(all_gather_in_order(self.val_batches))
        criteria = require_sft_collator(self.trainer.datamodule).criteria  # type: ignore[attr-defined]  # it is trained on it
        self.predicted = seen.predicted
        self.val_metrics = predicted_count_agreement(criteria, self.predicted)
        self.format_metrics = {
            "loss": loss,
            "exact": self.val_metrics["total"]["accuracy"],
            **summarize_generations(seen, criteria),
        }
        for name, value in self.format_metrics.items():
            if value is not None:
                self.log(f"val/{name}", value)
        for row, measures in self.val_metrics.items():
            named = {f"val/{name}_{row}": value for name, value in measures.items() if value is not None}
            self.log_dict(named, sync_dist=False)
        self.log("val_exact", float(self.format_metrics["exact"] or 0.0), prog_bar=True, logger=False, sync_dist=False)

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save the best model, and its figures on the whole validation part.

        Adapters are saved as float16; they are rounded first, so that what is measured is what is saved.

        Raises:
            InputError: If the weights lie in shards on several devices.
        """
        check_unsharded(trainer, run)
        best = best_checkpoint(trainer)
        if best is not None:
            self.load_state_dict(self.read_checkpoint(best)["state_dict"])
        half = self.backbone.lora is not None
        if half:
            round_trained_to_float16(self.model)
        self._decode_all = True
        trainer.validate(self, data.val_dataloader(), verbose=False)
        self._decode_all = False
        told = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.file_fingerprints(),
        }
        if self.predicted is None:
            raise RuntimeError("Expected the validation part to have been judged.")
        if trainer.is_global_zero:
            self.predicted.write(run.validation, require_sft_collator(data).criteria)
            GenerativeEvaluator(self.backbone, self.model, require_sft_collator(data).prompt_encoder, told).save(
                run.model, half
            )
            write_json(run.metrics, {"agreement": self.val_metrics, "answers": self.format_metrics, **told})
        return self.val_metrics


def require_sft_collator(data: Any) -> SFTCollator:
    """The collator of data for a model that learns to answer.

    Raises:
        InputError: If the data are others.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for analyses but got {type(data).__name__}.")
    if not isinstance(data.collator, SFTCollator):
        raise InputError(f"data.collator: Expected Responses for analyses but got {type(data.collator).__name__}.")
    return data.collator
