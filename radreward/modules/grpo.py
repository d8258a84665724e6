"""Training of a generative evaluator on rewards of its own answers (GRPO; second stage of RadReason)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback
from torch import Tensor
from torch.optim import Optimizer

from radreward.criteria import Criteria
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.rollout import RolloutCollator
from radreward.data.length_buckets import all_gather_in_order
from radreward.distributed import all_reduce_mean, all_reduce_sum
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.log_probs import CompletionPacking, completion_log_probs, rollout_log_probs
from radreward.models.reference_policy import ReferencePolicy
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt
from radreward.models.transformers_engine import TransformersEngine
from radreward.models.vllm_engine import VLLMEngine, check_vllm
from radreward.modules.agreement_metrics import predicted_count_agreement
from radreward.modules.base import log_name, require_collator
from radreward.modules.callbacks import RolloutPlots, ValidationExample, log_example
from radreward.modules.constant_reward import ConstantRewardWarning
from radreward.modules.generation_metrics import GenerationBatch
from radreward.modules.generative import GenerativeModule, GenerativeResults
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.predictions import PredictedCounts
from radreward.modules.rollouts import RolloutBatch, RolloutConfig, parse_completions, reward_inputs, rollout_logs
from radreward.objectives import GRPO, RolloutObjective
from radreward.objectives.base import check_logs
from radreward.types import RolloutPromptBatch


class GRPOModule(GenerativeModule):
    """Trains a generative evaluator on rewards of its own completions (RadReason, section 3).

    A step samples G completions per prompt, computes their advantages once, and takes `rollouts.num_iterations`
    optimizer steps on them.

    Args:
        criteria: N criteria.
        backbone: Causal language model. The reference policy, if the objective uses one, is the model at the start of
            the stage: a frozen copy of the adapters, or of all weights if there are none.
        objective: Loss on rollouts; defaults to GRPO.
        rollouts: Settings of sampling and updates.
        packing: "tree" puts a prompt and its completions into one row, "rows" each completion into its own.
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
        super().__init__(backbone or Backbone("tiny-llama"), optimizer)
        self.criteria = criteria
        self.objective = objective or GRPO()
        self.reference = ReferencePolicy(self.model) if self.objective.uses_reference_policy else None
        self.rollouts = rollouts or RolloutConfig()
        self.packing: CompletionPacking = packing
        self.engine: RolloutEngine | None = None
        self.rollout_batch: RolloutBatch | None = None
        self.val_batches: list[RolloutPromptBatch] = []

    def prompt_encoder(self, data: BaseDataModule) -> ChatPromptEncoder:
        """See `GenerativeModule.prompt_encoder`."""
        return require_collator(data, RolloutCollator, "GRPO").prompt_encoder

    def check_settings(self) -> None:
        """Check that the engine is installed and supports the backbone.

        Raises:
            InputError: If the check fails. The message names the remedy.
        """
        if self.rollouts.engine == "vllm":
            check_vllm(self.backbone)

    def configure_callbacks(self) -> list[Callback]:
        """Return plots of rollouts, and a warning of constant rewards."""
        return [RolloutPlots(), ConstantRewardWarning()]

    def load_initial_weights(self, folder: Path) -> None:
        """Load the weights of a saved generative evaluator, also into the reference policy."""
        super().load_initial_weights(folder)
        if self.reference is not None:
            self.reference.copy_from(self.model)

    def checkpoint_keys(self) -> set[str]:
        """Return the keys of `BaseModule` and the keys of the reference policy, which a resumed run needs."""
        reference = {} if self.reference is None else self.reference.state_dict()
        return super().checkpoint_keys() | {f"reference.{name}" for name in reference}

    def on_fit_start(self) -> None:
        """Build the rollout engine.

        Raises:
            InputError: If gradients would be accumulated over batches that each have several updates.
        """
        super().on_fit_start()
        if self.rollouts.num_iterations > 1 and self.trainer.accumulate_grad_batches > 1:
            raise InputError("trainer.accumulate_grad_batches: Expected 1 if model.rollouts.num_iterations exceeds 1.")
        self._setup_engine()

    def on_validation_start(self) -> None:
        """Build the rollout engine if no training preceded."""
        self._setup_engine()
        self.val_batches.clear()

    def _setup_engine(self) -> None:
        self.encoder = self.prompt_encoder(self.datamodule)
        if self.engine is None and self.rollouts.engine == "vllm":
            length = self.encoder.max_length + self.encoder.max_answer_length
            share, sleep = self.rollouts.vllm_memory, self.rollouts.vllm_sleep
            self.engine = VLLMEngine(self.backbone, self.model, self.encoder.tokenizer, length, share, sleep)
        elif self.engine is None:
            self.engine = TransformersEngine(self.model, self.encoder.tokenizer, self.rollouts.batch_size)

    def on_train_batch_start(self, batch: RolloutPromptBatch, batch_idx: int) -> None:
        """Discard the rollouts of the previous batch."""
        self.rollout_batch = None

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | Any,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """Take all updates on a batch of rollouts as one step, so that no checkpoint is saved between them."""
        for _ in range(self.rollouts.num_iterations):
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)

    def training_step(self, batch: RolloutPromptBatch, batch_idx: int) -> Tensor:
        """Return the objective's loss of the completions, which are sampled at the first update on a batch.

        Raises:
            InputError: If a reward cannot be computed, a log of the objective is invalid, or packing changes
                log-probabilities.
        """
        rollout_batch = self.rollout_batch or self.sample_rollouts(batch, batch_idx)
        logps = self._log_probs(batch, rollout_batch.completions)
        if rollout_batch.old_logps is None:
            rollout_batch = rollout_batch._replace(old_logps=logps.detach())
        self.rollout_batch = rollout_batch
        self.check_packing_once(batch)
        loss, logs = self.objective(rollout_batch.to_rollouts(logps))
        logs = {**logs, **rollout_logs(rollout_batch, self.device)}
        check_logs(self.objective, logs)
        self.log_loss(loss, batch.ids)
        self._log_rollouts(batch, logs)
        return loss

    @torch.no_grad()
    def sample_rollouts(self, batch: RolloutPromptBatch, batch_idx: int) -> RolloutBatch:
        """Sample completions and compute advantages.

        The samples depend only on the seed, the step, the batch and the rank.
        """
        seed = hash((torch.initial_seed(), self.global_step, batch_idx, self.global_rank)) % 2**63
        completions = self._sample(batch.prompts, replace(self.rollouts.sampling, seed=seed))
        parsed = parse_completions(self.encoder.template, self.criteria, completions)
        estimate = self.objective.compute_advantages(reward_inputs(batch, completions, parsed, self.criteria))
        ref_logps = None
        if self.reference is not None:
            with self.reference.replacing(self.model):
                ref_logps = self._log_probs(batch, completions)
        self.num_truncated += int(all_reduce_sum(torch.tensor(batch.num_truncated, device=self.device)))
        return RolloutBatch(completions, parsed, estimate, ref_logps)

    def _sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """Return the completions of each prompt, which end at the template's stop string."""
        if self.engine is None:
            raise RuntimeError("Expected `on_fit_start` or `on_validation_start` to have built the engine.")
        params = replace(params, max_new_tokens=self.encoder.max_answer_length, stop=self.encoder.stop_strings)
        return self.engine.sample(prompts, params)

    def _log_probs(self, batch: RolloutPromptBatch, completions: Sequence[tuple[Completion, ...]]) -> Tensor:
        """Return (B, G, T) log-probabilities, 0 for padding."""
        prompts = [list(chain.from_iterable(prompt)) for prompt in batch.prompts]
        tokens = [[completion.tokens for completion in group] for group in completions]
        return rollout_log_probs(
            self.model,
            prompts,
            tokens,
            self.rollouts.sampling.temperature,
            self.packing,
            self.rollouts.backward_per_prompt,
        )

    def check_packing(self, batch: RolloutPromptBatch) -> None:
        """Compare log-probabilities of the first prompt's completions in one row and in separate rows."""
        if self.packing == "rows" or self.rollout_batch is None or self.rollout_batch.old_logps is None:
            return
        completions = [completion.tokens for completion in self.rollout_batch.completions[0]]
        prompt = list(chain.from_iterable(batch.prompts[0]))
        separate = completion_log_probs(self.model, prompt, completions, self.rollouts.sampling.temperature, "rows")
        packed = self.rollout_batch.old_logps[0, :, : separate.shape[1]]
        difference = float((packed - separate).abs().max())
        tolerance = self.packing_tolerance(1e-2, 0.5)
        if not difference <= tolerance:
            raise InputError(
                f"Expected packed and separate log-probabilities of {self.backbone.name} to differ by at most "
                f"{tolerance:.0e} but got {difference:.1e}. Use `packing: rows` with this backbone."
            )

    def _log_rollouts(self, batch: RolloutPromptBatch, logs: Mapping[str, Tensor]) -> None:
        size = len(batch.ids)
        means = all_reduce_mean(dict(logs), weight=len(batch.prompts) * self.rollouts.sampling.num_completions)
        self.log("train/reward", means["reward/total"], prog_bar=True, logger=False, batch_size=size)
        self.log_dict({f"train/{log_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size)
        if self.num_truncated:
            self.log("train/truncated", float(self.num_truncated), batch_size=size)

    def validation_step(self, batch: RolloutPromptBatch, batch_idx: int) -> None:
        """Collect the prompts; decoding all of them together is faster than batch by batch."""
        self.val_batches.append(batch)

    def on_validation_epoch_end(self) -> None:
        """Decode all prompts and log agreement with the target counts, and the first answer as an example.

        An unparsable count is wrong, and excluded from correlations.
        """
        first = self.val_batches[0]
        prompts = [prompt for batch in self.val_batches for prompt in batch.prompts]
        completions = self._sample(prompts, SamplingParams(1, temperature=0.0))
        example = ValidationExample(first.report_pairs[0], completions[0][0].text, str(first.target[0].tolist()))
        log_example(self.trainer, example, self.global_step)
        remaining = iter(completions)
        outputs = [self._compare(batch, [next(remaining) for _ in batch.prompts]) for batch in self.val_batches]
        self.val_batches.clear()
        generations = GenerationBatch.concatenate(all_gather_in_order(outputs))
        metrics = predicted_count_agreement(self.criteria, generations.predicted)
        self.results = GenerativeResults(metrics, {"agreement": metrics}, generations.predicted)
        self.log("val/well_formed", float(generations.columns["well_formed"].mean()))
        self.log_metric_table(metrics)
        accuracy = float(metrics["total"]["accuracy"] or 0.0)
        self.log(self.monitor, accuracy, prog_bar=True, logger=False, sync_dist=False)

    def _compare(self, batch: RolloutPromptBatch, completions: Sequence[tuple[Completion, ...]]) -> GenerationBatch:
        """Return the counts in greedy completions, and a mask of well-formed completions."""
        parsed = parse_completions(self.encoder.template, self.criteria, completions)
        answers = reward_inputs(batch, completions, parsed, self.criteria)
        group_ids = tuple(batch.ids[index] for index in batch.group.tolist())
        predicted = PredictedCounts(answers.error_counts.squeeze(1).cpu(), answers.target.cpu(), group_ids)
        return GenerationBatch(predicted, {"well_formed": answers.well_formed.flatten().float().cpu()})
