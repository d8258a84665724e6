"""RadReason as a LightningModule: a policy that judges reports in words, trained on its own judgements."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim import Optimizer

from radreward import distributed as processes
from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.rollout import RolloutCollator
from radreward.data.datamodule import BaseDataModule, PairedReportDataModule
from radreward.data.length_buckets import all_gather_in_order
from radreward.errors import InputError
from radreward.generative.evaluator import GenerativeEvaluator
from radreward.models import Backbone, check_length
from radreward.models.log_probs import CompletionPacking, adapters_disabled, completion_log_probs, unwrap_peft
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.models.vllm_engine import VLLMEngine, check_vllm
from radreward.modules.base import AdamWConfig, BaseModule, MetricTable, log_name
from radreward.modules.count_metrics import PredictedCounts, concatenate_counts, predicted_count_agreement
from radreward.modules.export import best_checkpoint, check_unsharded
from radreward.modules.rollout_logging import (
    FORMAT_ERRORS,
    RolloutBatch,
    RolloutConfig,
    completion_mask,
    format_completions,
    format_error_kind,
    format_reports_and_completions,
)
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.warm_start import load_generative_weights, round_trained_to_float16
from radreward.objectives import GRPO, RolloutObjective
from radreward.prompts.criterion_mentions import mentioned_criteria
from radreward.types import ParsedCompletions, RolloutPromptBatch, Rollouts


class GRPOModule(BaseModule):
    """Trains a model that writes judgements, on rewards of what it wrote (RadReason, section 3).

    A step draws G completions of each prompt, judges them, and takes `rollouts.updates` steps of the optimizer.

    Args:
        criteria: What is judged.
        backbone: What reads the reports and writes. With adapters, the policy before training is the backbone without
            them; without, it is a second copy of the weights, where the objective needs it.
        objective: Loss on rollouts; group relative policy optimisation where nothing is given.
        rollouts: How completions are drawn.
        packing: Whether a prompt and its completions stand in one row ("tree") or each completion in its own ("rows").
        optimizer: Learning rates and schedule.
    """

    monitor = "val_accuracy"
    hparam_metrics = ("val/accuracy_total", "val/tau_b_total", "final/tau_b")

    def __init__(
        self,
        criteria: Criteria,
        backbone: Backbone | None = None,
        objective: RolloutObjective | None = None,
        rollouts: RolloutConfig | None = None,
        packing: CompletionPacking = "tree",
        optimizer: AdamWConfig | None = None,
    ) -> None:
        super().__init__(optimizer)
        self.criteria = criteria
        self.backbone = backbone or Backbone("tiny-llama")
        self.model: Any = self.backbone.build(causal_lm=True)
        self.objective = objective or GRPO()
        self.reference_model: Any = None
        if self.objective.uses_reference_policy and self.backbone.lora is None:
            self.reference_model = copy.deepcopy(self.model).requires_grad_(False)
        self.rollouts = rollouts or RolloutConfig()
        self.packing: CompletionPacking = packing
        self.engine: RolloutEngine | None = None
        self.val_outputs: list[tuple[PredictedCounts, Tensor]] = []
        self.predicted: PredictedCounts | None = None
        self.val_metrics: MetricTable = {}
        self.num_truncated = 0
        self._rollout_batch: RolloutBatch | None = None
        self._packing_checked = False

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether data, objective and backbone go together.

        Raises:
            InputError: If not; names the setting.
        """
        if self.rollouts.engine == "vllm":
            check_vllm(self.backbone)
        collator = require_rollout_collator(data)
        length = collator.prompt_encoder.max_length + collator.prompt_encoder.max_answer_length
        try:
            check_length(unwrap_peft(self.model).config, length)
        except InputError as error:
            raise InputError(f"data.collator.max_length and max_answer together: {error}") from error

    def load_initial_weights(self, folder: Path) -> None:
        """Begin with the weights of a saved model that explains, see `start_from`; a second copy begins there too."""
        for model in (self.model, self.reference_model):
            if model is not None:
                load_generative_weights(model, folder)

    def checkpoint_keys(self) -> set[str]:
        """As of `BaseModule`, with the policy before training where it has weights of its own."""
        kept = (
            {f"reference.{name}" for name in self.reference_model.state_dict()}
            if self.reference_model is not None
            else set()
        )
        return super().checkpoint_keys() | kept

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save the weights of the best validation; agreement of their likeliest judgements with what is known.

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
        trainer.validate(self, data.val_dataloader(), verbose=False)
        told = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.file_fingerprints(),
        }
        if self.predicted is None:
            raise RuntimeError("Expected the validation part to have been judged.")
        if trainer.is_global_zero:
            self.predicted.write(run.validation, self.criteria)
            GenerativeEvaluator(self.backbone, self.model, require_rollout_collator(data).prompt_encoder, told).save(
                run.model, half
            )
            write_json(run.metrics, {"agreement": self.val_metrics, **told})
        return self.val_metrics

    def new_modules(self) -> list[nn.Module]:
        """None: adapters begin as nothing, and learn as all else does."""
        return []

    def on_fit_start(self) -> None:
        """Prepare drawing.

        Raises:
            InputError: If gradients are to be gathered over batches that are each learnt from several times.
        """
        if self.rollouts.num_iterations > 1 and self.trainer.accumulate_grad_batches > 1:
            raise InputError("trainer.accumulate_grad_batches: Expected 1 with model.rollouts.updates above 1.")
        self.num_truncated, self._packing_checked = 0, False
        self._setup_engine()

    def on_validation_start(self) -> None:
        """Prepare drawing, where nothing was trained before."""
        self._setup_engine()
        self.val_outputs.clear()

    def _setup_engine(self) -> None:
        self.collator = require_rollout_collator(self.trainer.datamodule)  # type: ignore[attr-defined]  # it is trained on it
        if self.engine is None:
            self.engine = self._build_engine(self.collator.prompt_encoder)

    def _build_engine(self, prompt_encoder: ChatPromptEncoder) -> RolloutEngine:
        if self.rollouts.engine == "vllm":
            length = prompt_encoder.max_length + prompt_encoder.max_answer_length
            return VLLMEngine(self.backbone, self.model, prompt_encoder.tokenizer, length)
        return TransformersEngine(self.model, prompt_encoder.tokenizer, self.rollouts.batch_size)

    def on_train_batch_start(self, batch: RolloutPromptBatch, batch_idx: int) -> None:
        """Nothing is drawn yet for this batch."""
        self._rollout_batch = None

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | Any,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """All updates on a batch of rollouts; a step to everything else, so that no checkpoint is between them."""
        for _ in range(self.rollouts.num_iterations):
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)

    def training_step(self, batch: RolloutPromptBatch, batch_idx: int) -> Tensor:
        """The objective's loss of the completions, which are drawn at the first of the updates.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
            InputError: If a reward cannot be computed, or packing gives other values than rows.
        """
        first = self._rollout_batch is None
        drawn = self._rollout_batch or self._generate_rollouts(batch, batch_idx)
        logps = self._completion_logps(batch, drawn.completions)
        if first:
            if not self._packing_checked:
                with processes.raise_on_all_ranks(self.device):
                    self._check_packing(batch, drawn.completions, logps.detach())
            drawn = drawn._replace(old_logps=logps.detach())
            self._rollout_batch = drawn
        mask = completion_mask(drawn.completions).to(self.device)
        if drawn.old_logps is None:
            raise RuntimeError("Expected the first update to have kept its log-probabilities.")
        rollouts = Rollouts(logps, drawn.old_logps, drawn.ref_logps, mask, drawn.estimate.advantages)
        output = self.objective(rollouts)
        loss = self.objective.reduce(output)
        self.raise_if_not_finite(loss, f"The loss is {loss.item()} in", batch.ids)
        self._log_training(batch, drawn, {"loss": loss.detach(), **output.logs})
        return loss

    @torch.no_grad()
    def _generate_rollouts(self, batch: RolloutPromptBatch, batch_idx: int) -> RolloutBatch:
        """Completions and what they are worth; the run's seed, step, batch and process decide what is drawn."""
        place = (torch.initial_seed(), self.global_step, batch_idx, self.global_rank)
        completions = self._sample(
            batch,
            self.rollouts.sampling._replace(
                seed=hash(place) % 2**63,
                max_new_tokens=self.collator.prompt_encoder.max_answer_length,
                stop=self._stop_strings(),
            ),
        )
        judgement = self.objective.compute_advantages(self._parse_completions(batch, completions))
        reference = None
        if self.objective.uses_reference_policy:
            if self.reference_model is not None:
                reference = self._completion_logps(batch, completions, self.reference_model)
            else:
                with adapters_disabled(self.model):
                    reference = self._completion_logps(batch, completions)
        self.num_truncated += int(processes.all_reduce_sum(torch.tensor(batch.num_truncated, device=self.device)))
        return RolloutBatch(completions, judgement, reference, None)

    def _sample(self, batch: RolloutPromptBatch, sampling: SamplingParams) -> list[tuple[Completion, ...]]:
        if self.engine is None:
            raise RuntimeError("Expected drawing to be prepared.")
        return self.engine.sample(batch.prompts, sampling)

    def _stop_strings(self) -> tuple[str, ...]:
        """The last tag: nothing is read behind it."""
        end = self.collator.template.stop_string(self.criteria)
        return (end,) if end else ()

    def _parse_completions(
        self, batch: RolloutPromptBatch, completions: Sequence[tuple[Completion, ...]]
    ) -> ParsedCompletions:
        """What completions say."""
        texts = tuple(tuple(completion.text for completion in group) for group in completions)
        parsed = [[self.collator.template.parse(text, self.criteria) for text in group] for group in texts]
        values = [[[torch.nan if v is None else v for v in one.values] for one in group] for group in parsed]
        valid = [[one.format_error is None for one in group] for group in parsed]
        spoken = [[mentioned_criteria(one.reasoning, self.criteria) for one in group] for group in parsed]
        tensors = (torch.tensor(part, device=self.device) for part in (values, valid, spoken))
        read, form, reasons = tensors
        return ParsedCompletions(read.float(), batch.target, form, reasons, texts, batch.report_pairs)

    def _completion_logps(
        self, batch: RolloutPromptBatch, completions: Sequence[tuple[Completion, ...]], model: Any = None
    ) -> Tensor:
        """(B, G, T) log-probabilities, 0 behind the end of a completion."""
        rows = [
            completion_log_probs(
                model or self.model,
                [token for piece in prompt for token in piece],
                [completion.tokens for completion in group],
                self.rollouts.sampling.temperature,
                self.packing,
            ).T
            for prompt, group in zip(batch.prompts, completions, strict=True)
        ]
        return pad_sequence(rows, batch_first=True).transpose(1, 2)  # of (T, G) rows

    @torch.no_grad()
    def _check_packing(
        self, batch: RolloutPromptBatch, completions: Sequence[tuple[Completion, ...]], packed_logps: Tensor
    ) -> None:
        """On the first batch: an architecture that does not see the tree would be wrong without an error."""
        self._packing_checked = True
        if self.packing == "rows":
            return
        tokens = [completion.tokens for completion in completions[0]]
        prompt = [token for piece in batch.prompts[0] for token in piece]
        apart = completion_log_probs(self.model, prompt, tokens, self.rollouts.sampling.temperature, "rows")
        difference = float((packed_logps[0, :, : apart.shape[1]] - apart).abs().max())
        tolerance = 1e-2 if str(self.trainer.precision) in ("32-true", "64-true") else 0.5
        if not difference <= tolerance:
            raise InputError(
                f"Packed and separate log-probabilities of {self.backbone.name} differ by {difference:.1e} "
                f"(at most {tolerance:.0e} expected). Use `packing: rows` with this backbone."
            )

    def _log_training(self, batch: RolloutPromptBatch, rollout_batch: RolloutBatch, logs: dict[str, Tensor]) -> None:
        everything = [completion for group in rollout_batch.completions for completion in group]
        lengths = torch.tensor([float(len(completion.tokens)) for completion in everything], device=self.device)
        cut = torch.tensor([completion.finish_reason == "length" for completion in everything], device=self.device)
        logs = {
            **logs,
            **rollout_batch.estimate.logs,
            "completions/length": lengths.mean(),
            "completions/unfinished": cut.float().mean(),
        }
        parsed = [self.collator.template.parse(completion.text, self.criteria) for completion in everything]
        for kind in FORMAT_ERRORS:
            share = sum(format_error_kind(one) == kind for one in parsed) / len(parsed)
            logs[f"problem/{kind}"] = torch.tensor(share, device=self.device)
        if rollout_batch.old_logps is not None:
            sampled = [[torch.tensor(one.logps) for one in group] for group in rollout_batch.completions]
            mask = completion_mask(rollout_batch.completions)
            apart = (rollout_batch.old_logps.cpu()[mask] - torch.cat([row for group in sampled for row in group])).abs()
            logs["completions/engine_apart"] = apart.mean().to(self.device)
        loss = processes.all_reduce_mean({"loss": logs.pop("loss")})["loss"]
        means = processes.all_reduce_mean(logs, weight=len(everything))
        size = len(batch.ids)
        self.log("train/loss", loss, prog_bar=True, batch_size=size)
        self.log("train/reward", means["reward/total"], prog_bar=True, logger=False, batch_size=size)
        self.log_dict({f"train/{log_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size)
        if self.num_truncated:
            self.log("train/truncated", float(self.num_truncated), batch_size=size)
        board = self.logger
        if isinstance(board, TensorBoardLogger) and self.global_step % self.trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]  # of a trainer that logs
            board.experiment.add_histogram("train/scales", rollout_batch.estimate.advantage_scales, self.global_step)
            board.experiment.add_histogram("train/advantages", rollout_batch.estimate.advantages, self.global_step)
            board.experiment.add_text("train/completions", format_completions(batch, rollout_batch), self.global_step)

    def validation_step(self, batch: RolloutPromptBatch, batch_idx: int) -> None:
        """The likeliest judgement of each prompt against what is known."""
        sampling = SamplingParams(
            1, self.collator.prompt_encoder.max_answer_length, temperature=0.0, stop=self._stop_strings()
        )
        made = [one for (one,) in self._sample(batch, sampling)]
        completions = self._parse_completions(batch, [(one,) for one in made])
        values, target = completions.error_counts.squeeze(1), completions.target
        ids = tuple(batch.ids[place] for place in batch.group.tolist())
        self.val_outputs.append(
            (PredictedCounts(values.cpu(), target.cpu(), ids), completions.well_formed.flatten().cpu())
        )
        board = self.logger
        if batch_idx == 0 and isinstance(board, TensorBoardLogger):
            text = format_reports_and_completions(
                batch.report_pairs[0], [(made[0].text, f"known: {batch.target[0].tolist()}")]
            )
            board.experiment.add_text("val/completion", text, self.global_step)

    def on_validation_epoch_end(self) -> None:
        """Log how far judgements agree; what cannot be read counts as wrong, and is left out of correlations."""
        parts, valid = zip(*all_gather_in_order(self.val_outputs), strict=True)
        self.val_outputs.clear()
        self.predicted = concatenate_counts(parts)
        self.val_metrics = predicted_count_agreement(self.criteria, self.predicted)
        self.log("val/valid", float(torch.cat(valid).float().mean()))
        for row, measures in self.val_metrics.items():
            named = {f"val/{name}_{row}": value for name, value in measures.items() if value is not None}
            self.log_dict(named, sync_dist=False)
        accuracy = self.val_metrics["total"]["accuracy"]
        self.log("val_accuracy", float(accuracy or 0.0), prog_bar=True, logger=False, sync_dist=False)


def require_rollout_collator(data: Any) -> RolloutCollator:
    """The collator of data for a policy.

    Raises:
        InputError: If the data are others.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for a policy but got {type(data).__name__}.")
    if not isinstance(data.collator, RolloutCollator):
        raise InputError(
            f"data.collator: Expected RolloutCollator for a policy but got {type(data.collator).__name__}."
        )
    return data.collator
