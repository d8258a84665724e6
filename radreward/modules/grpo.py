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
from radreward.data.chat_encoding import Questions
from radreward.data.collators.rollout import PolicyPrompts
from radreward.data.datamodule import PairedReportDataModule, TrainingData
from radreward.data.length_buckets import collected
from radreward.errors import InputError
from radreward.generative.evaluator import Explainer
from radreward.models import Backbone, check_length
from radreward.models.log_probs import CompletionPacking, base_model, completion_logps, without_adapters
from radreward.models.rollout_engine import Completion, RolloutEngine, Sampling
from radreward.models.transformers_engine import TransformersEngine
from radreward.models.vllm_engine import VLLMEngine, check_vllm
from radreward.modules.base import BaseModule, Figures, OptimizerSettings, term_name
from radreward.modules.count_metrics import Stated, agreement_of_values, joined
from radreward.modules.export import best_checkpoint, check_whole
from radreward.modules.rollout_logging import (
    KINDS,
    Drawn,
    RolloutSettings,
    as_markdown,
    problem_kind,
    shown,
    token_mask,
)
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.warm_start import round_trained, start_from
from radreward.objectives import GroupRelative, RolloutObjective
from radreward.prompts.criterion_mentions import discussed
from radreward.types import Completions, PromptBatch, Rollouts


class PolicyModule(BaseModule):
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
    shown = ("val/accuracy_total", "val/tau_b_total", "final/tau_b")

    def __init__(
        self,
        criteria: Criteria,
        backbone: Backbone | None = None,
        objective: RolloutObjective | None = None,
        rollouts: RolloutSettings | None = None,
        packing: CompletionPacking = "tree",
        optimizer: OptimizerSettings | None = None,
    ) -> None:
        super().__init__(optimizer)
        self.criteria = criteria
        self.backbone = backbone or Backbone("tiny-llama")
        self.model: Any = self.backbone.build(writes=True)
        self.objective = objective or GroupRelative()
        self.reference: Any = None
        if self.objective.needs_reference and self.backbone.lora is None:
            self.reference = copy.deepcopy(self.model).requires_grad_(False)
        self.rollouts = rollouts or RolloutSettings()
        self.packing: CompletionPacking = packing
        self.engine: RolloutEngine | None = None
        self.seen: list[tuple[Stated, Tensor]] = []
        self.stated: Stated | None = None
        self.figures: Figures = {}
        self.truncated = 0
        self._drawn: Drawn | None = None
        self._checked = False

    def check(self, data: TrainingData) -> None:
        """Whether data, objective and backbone go together.

        Raises:
            InputError: If not; names the setting.
        """
        if self.rollouts.engine == "vllm":
            check_vllm(self.backbone)
        collator = policy_prompts(data)
        length = collator.questions.max_length + collator.questions.max_answer
        try:
            check_length(base_model(self.model).config, length)
        except InputError as error:
            raise InputError(f"data.collator.max_length and max_answer together: {error}") from error

    def start_from(self, folder: Path) -> None:
        """Begin with the weights of a saved model that explains, see `start_from`; a second copy begins there too."""
        for model in (self.model, self.reference):
            if model is not None:
                start_from(model, folder)

    def checkpoint_names(self) -> set[str]:
        """As of `BaseModule`, with the policy before training where it has weights of its own."""
        kept = {f"reference.{name}" for name in self.reference.state_dict()} if self.reference is not None else set()
        return super().checkpoint_names() | kept

    def finish(self, trainer: Trainer, data: TrainingData, run: RunFolder) -> Figures:
        """Save the weights of the best validation; agreement of their likeliest judgements with what is known.

        Adapters are saved as float16; they are rounded first, so that what is measured is what is saved.

        Raises:
            InputError: If the weights lie in shards on several devices.
        """
        check_whole(trainer, run)
        best = best_checkpoint(trainer)
        if best is not None:
            self.load_state_dict(self.read_checkpoint(best)["state_dict"])
        half = self.backbone.lora is not None
        if half:
            round_trained(self.model)
        trainer.validate(self, data.val_dataloader(), verbose=False)
        told = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.fingerprint(),
        }
        if self.stated is None:
            raise RuntimeError("Expected the validation part to have been judged.")
        if trainer.is_global_zero:
            self.stated.write(run.validation, self.criteria)
            Explainer(self.backbone, self.model, policy_prompts(data).questions, told).save(run.model, half)
            write_json(run.metrics, {"agreement": self.figures, **told})
        return self.figures

    def fresh_modules(self) -> list[nn.Module]:
        """None: adapters begin as nothing, and learn as all else does."""
        return []

    def on_fit_start(self) -> None:
        """Prepare drawing.

        Raises:
            InputError: If gradients are to be gathered over batches that are each learnt from several times.
        """
        if self.rollouts.updates > 1 and self.trainer.accumulate_grad_batches > 1:
            raise InputError("trainer.accumulate_grad_batches: Expected 1 with model.rollouts.updates above 1.")
        self.truncated, self._checked = 0, False
        self._prepare()

    def on_validation_start(self) -> None:
        """Prepare drawing, where nothing was trained before."""
        self._prepare()
        self.seen.clear()

    def _prepare(self) -> None:
        self.collator = policy_prompts(self.trainer.datamodule)  # type: ignore[attr-defined]  # it is trained on it
        if self.engine is None:
            self.engine = self._engine(self.collator.questions)

    def _engine(self, questions: Questions) -> RolloutEngine:
        if self.rollouts.engine == "vllm":
            length = questions.max_length + questions.max_answer
            return VLLMEngine(self.backbone, self.model, questions.tokenizer, length)
        return TransformersEngine(self.model, questions.tokenizer, self.rollouts.batch_size)

    def on_train_batch_start(self, batch: PromptBatch, batch_index: int) -> None:
        """Nothing is drawn yet for this batch."""
        self._drawn = None

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | Any,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """All updates on a batch of rollouts; a step to everything else, so that no checkpoint is between them."""
        for _ in range(self.rollouts.updates):
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)

    def training_step(self, batch: PromptBatch, batch_index: int) -> Tensor:
        """The objective's loss of the completions, which are drawn at the first of the updates.

        Raises:
            FloatingPointError: If the loss is not finite; names the groups of the batch.
            InputError: If a reward cannot be computed, or packing gives other values than rows.
        """
        first = self._drawn is None
        drawn = self._drawn or self._draw(batch, batch_index)
        logps = self._logps(batch, drawn.completions)
        if first:
            if not self._checked:
                with processes.failing_together(self.device):
                    self._check_packing(batch, drawn.completions, logps.detach())
            drawn = drawn._replace(old_logps=logps.detach())
            self._drawn = drawn
        mask = token_mask(drawn.completions).to(self.device)
        if drawn.old_logps is None:
            raise RuntimeError("Expected the first update to have kept its log-probabilities.")
        rollouts = Rollouts(logps, drawn.old_logps, drawn.ref_logps, mask, drawn.judgement.advantages)
        output = self.objective(rollouts)
        loss = self.objective.reduce(output)
        self.refuse_not_finite(loss, f"The loss is {loss.item()} in", batch.ids)
        self._log_training(batch, drawn, {"loss": loss.detach(), **output.terms})
        return loss

    @torch.no_grad()
    def _draw(self, batch: PromptBatch, batch_index: int) -> Drawn:
        """Completions and what they are worth; the run's seed, step, batch and process decide what is drawn."""
        place = (torch.initial_seed(), self.global_step, batch_index, self.global_rank)
        completions = self._sample(
            batch,
            self.rollouts.sampling._replace(
                seed=hash(place) % 2**63, max_new_tokens=self.collator.questions.max_answer, stop=self._stop()
            ),
        )
        judgement = self.objective.judge(self._read(batch, completions))
        reference = None
        if self.objective.needs_reference:
            if self.reference is not None:
                reference = self._logps(batch, completions, self.reference)
            else:
                with without_adapters(self.model):
                    reference = self._logps(batch, completions)
        self.truncated += int(processes.total(torch.tensor(batch.truncated, device=self.device)))
        return Drawn(completions, judgement, reference, None)

    def _sample(self, batch: PromptBatch, sampling: Sampling) -> list[tuple[Completion, ...]]:
        if self.engine is None:
            raise RuntimeError("Expected drawing to be prepared.")
        return self.engine.sample(batch.prompts, sampling)

    def _stop(self) -> tuple[str, ...]:
        """The last tag: nothing is read behind it."""
        end = self.collator.template.ends(self.criteria)
        return (end,) if end else ()

    def _read(self, batch: PromptBatch, completions: Sequence[tuple[Completion, ...]]) -> Completions:
        """What completions say."""
        texts = tuple(tuple(completion.text for completion in group) for group in completions)
        parsed = [[self.collator.template.parse(text, self.criteria) for text in group] for group in texts]
        values = [[[torch.nan if v is None else v for v in one.values] for one in group] for group in parsed]
        valid = [[one.problem is None for one in group] for group in parsed]
        spoken = [[discussed(one.reasoning, self.criteria) for one in group] for group in parsed]
        tensors = (torch.tensor(part, device=self.device) for part in (values, valid, spoken))
        read, form, reasons = tensors
        return Completions(read.float(), batch.target, form, reasons, texts, batch.reports)

    def _logps(self, batch: PromptBatch, completions: Sequence[tuple[Completion, ...]], model: Any = None) -> Tensor:
        """(B, G, T) log-probabilities, 0 behind the end of a completion."""
        rows = [
            completion_logps(
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
    def _check_packing(self, batch: PromptBatch, completions: Sequence[tuple[Completion, ...]], found: Tensor) -> None:
        """On the first batch: an architecture that does not see the tree would be wrong without an error."""
        self._checked = True
        if self.packing == "rows":
            return
        tokens = [completion.tokens for completion in completions[0]]
        prompt = [token for piece in batch.prompts[0] for token in piece]
        apart = completion_logps(self.model, prompt, tokens, self.rollouts.sampling.temperature, "rows")
        difference = float((found[0, :, : apart.shape[1]] - apart).abs().max())
        tolerance = 1e-2 if str(self.trainer.precision) in ("32-true", "64-true") else 0.5
        if not difference <= tolerance:
            raise InputError(
                f"Packed and separate log-probabilities of {self.backbone.name} differ by {difference:.1e} "
                f"(at most {tolerance:.0e} expected). Use `packing: rows` with this backbone."
            )

    def _log_training(self, batch: PromptBatch, drawn: Drawn, terms: dict[str, Tensor]) -> None:
        everything = [completion for group in drawn.completions for completion in group]
        lengths = torch.tensor([float(len(completion.tokens)) for completion in everything], device=self.device)
        cut = torch.tensor([completion.finish == "length" for completion in everything], device=self.device)
        terms = {
            **terms,
            **drawn.judgement.terms,
            "completions/length": lengths.mean(),
            "completions/unfinished": cut.float().mean(),
        }
        parsed = [self.collator.template.parse(completion.text, self.criteria) for completion in everything]
        for kind in KINDS:
            share = sum(problem_kind(one) == kind for one in parsed) / len(parsed)
            terms[f"problem/{kind}"] = torch.tensor(share, device=self.device)
        if drawn.old_logps is not None:
            sampled = [[torch.tensor(one.logps) for one in group] for group in drawn.completions]
            mask = token_mask(drawn.completions)
            apart = (drawn.old_logps.cpu()[mask] - torch.cat([row for group in sampled for row in group])).abs()
            terms["completions/engine_apart"] = apart.mean().to(self.device)
        loss = processes.mean({"loss": terms.pop("loss")})["loss"]
        means = processes.mean(terms, weight=len(everything))
        size = len(batch.ids)
        self.log("train/loss", loss, prog_bar=True, batch_size=size)
        self.log("train/reward", means["reward/total"], prog_bar=True, logger=False, batch_size=size)
        self.log_dict(
            {f"train/{term_name(key, self.criteria)}": value for key, value in means.items()}, batch_size=size
        )
        if self.truncated:
            self.log("train/truncated", float(self.truncated), batch_size=size)
        board = self.logger
        if isinstance(board, TensorBoardLogger) and self.global_step % self.trainer.log_every_n_steps == 0:  # type: ignore[attr-defined]  # of a trainer that logs
            board.experiment.add_histogram("train/scales", drawn.judgement.scales, self.global_step)
            board.experiment.add_histogram("train/advantages", drawn.judgement.advantages, self.global_step)
            board.experiment.add_text("train/completions", shown(batch, drawn), self.global_step)

    def validation_step(self, batch: PromptBatch, batch_index: int) -> None:
        """The likeliest judgement of each prompt against what is known."""
        sampling = Sampling(1, self.collator.questions.max_answer, temperature=0.0, stop=self._stop())
        made = [one for (one,) in self._sample(batch, sampling)]
        completions = self._read(batch, [(one,) for one in made])
        values, target = completions.values.squeeze(1), completions.target
        ids = tuple(batch.ids[place] for place in batch.group.tolist())
        self.seen.append((Stated(values.cpu(), target.cpu(), ids), completions.valid.flatten().cpu()))
        board = self.logger
        if batch_index == 0 and isinstance(board, TensorBoardLogger):
            text = as_markdown(batch.reports[0], [(made[0].text, f"known: {batch.target[0].tolist()}")])
            board.experiment.add_text("val/completion", text, self.global_step)

    def on_validation_epoch_end(self) -> None:
        """Log how far judgements agree; what cannot be read counts as wrong, and is left out of correlations."""
        parts, valid = zip(*collected(self.seen), strict=True)
        self.seen.clear()
        self.stated = joined(parts)
        self.figures = agreement_of_values(self.criteria, self.stated)
        self.log("val/valid", float(torch.cat(valid).float().mean()))
        for row, measures in self.figures.items():
            named = {f"val/{name}_{row}": value for name, value in measures.items() if value is not None}
            self.log_dict(named, sync_dist=False)
        accuracy = self.figures["total"]["accuracy"]
        self.log("val_accuracy", float(accuracy or 0.0), prog_bar=True, logger=False, sync_dist=False)


def policy_prompts(data: Any) -> PolicyPrompts:
    """The collator of data for a policy.

    Raises:
        InputError: If the data are others.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for a policy but got {type(data).__name__}.")
    if not isinstance(data.collator, PolicyPrompts):
        raise InputError(f"data.collator: Expected PolicyPrompts for a policy but got {type(data.collator).__name__}.")
    return data.collator
