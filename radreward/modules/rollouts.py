"""Rollouts of a policy: sampling settings, parsed completions and their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.errors import check_choice
from radreward.models.rollout_engine import Completion, SamplingParams
from radreward.objectives import Rollouts
from radreward.prompts.criterion_mentions import mentioned_criteria
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.prompts.parsing import ParsedAnswer
from radreward.types import AdvantageEstimate, ParsedCompletions, RolloutPromptBatch

FORMAT_ERRORS = ("empty", "too long", "think", "reasoning", "numbers")
"""Kinds of format errors that are counted in logs; think and reasoning are tags of the reasoning."""


class RolloutConfig:
    """Settings of sampling and of the updates on each batch of rollouts.

    Args:
        num_generations: Completions per prompt, G.
        num_iterations: Optimizer steps on each batch of rollouts.
        temperature: Divisor of the logits, in sampling and in training.
        top_p: Nucleus sampling: probability mass of the tokens to sample from.
        batch_size: Maximum number of completions that are decoded together.
        backward_per_prompt: Repeat the forward pass of each prompt in the backward pass, so that the activations of one
            prompt exist at a time: less memory for more time. Gradients are the same. It replaces the backbone's
            `gradient_checkpointing`, which does the same for each layer.
        engine: Sampling by the model itself, or by vLLM (an extra).
        vllm_memory: Fraction of the GPU's memory that vLLM may use.
        vllm_sleep: Let vLLM move its weights to the memory of the CPU and free its cache after each sampling.

    Raises:
        ValueError: If a value is out of its range.
    """

    def __init__(
        self,
        num_generations: int = 4,
        num_iterations: int = 1,
        temperature: float = 1.0,
        top_p: float = 1.0,
        batch_size: int = 64,
        backward_per_prompt: bool = False,
        engine: Literal["transformers", "vllm"] = "transformers",
        vllm_memory: float = 0.4,
        vllm_sleep: bool = False,
    ) -> None:
        check_choice("engine", engine, ("transformers", "vllm"))
        if not 0 < vllm_memory < 1:
            raise ValueError(f"Expected `vllm_memory` to be in (0, 1) but got {vllm_memory}.")
        if num_generations < 2:
            raise ValueError(f"Expected `num_generations` to be >= 2, to be compared, but got {num_generations}.")
        for name, value in (("num_iterations", num_iterations), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        if not temperature > 0:
            raise ValueError(f"Expected `temperature` to be > 0, so that completions differ, but got {temperature}.")
        self.sampling = SamplingParams(num_generations, temperature=temperature, top_p=top_p).validate()
        self.num_iterations = num_iterations
        self.batch_size = batch_size
        self.backward_per_prompt = backward_per_prompt
        self.engine = engine
        self.vllm_memory, self.vllm_sleep = vllm_memory, vllm_sleep


class RolloutBatch(NamedTuple):
    """Completions of B prompts, used for one or several updates."""

    completions: list[tuple[Completion, ...]]
    """(B, G)."""
    parsed: list[list[ParsedAnswer]]
    """(B, G)."""
    estimate: AdvantageEstimate
    ref_logps: Tensor | None
    """(B, G, T) under the reference policy."""
    old_logps: Tensor | None = None
    """(B, G, T) under the policy before the first update; None until computed."""

    @property
    def mask(self) -> Tensor:
        """(B, G, T) bool: True for completion tokens."""
        return completion_mask(self.completions)

    def to_rollouts(self, logps: Tensor) -> Rollouts:
        """Return the input of the objective, with (B, G, T) log-probabilities under the current policy."""
        old_logps = logps.detach() if self.old_logps is None else self.old_logps
        return Rollouts(logps, old_logps, self.ref_logps, self.mask.to(logps.device), self.estimate.advantages)


def completion_mask(completions: Sequence[tuple[Completion, ...]]) -> Tensor:
    """Return a (B, G, T) bool mask of the tokens of each completion.

    >>> short, long = (Completion(tokens, (), "", "stop") for tokens in ((1,), (1, 2)))
    >>> completion_mask([(short, long)]).int().tolist()
    [[[1, 0], [1, 1]]]
    """
    lengths = torch.tensor([[len(completion.tokens) for completion in group] for group in completions])
    return torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)


def parse_completions(
    template: GenerativeTemplate, criteria: Criteria, completions: Sequence[tuple[Completion, ...]]
) -> list[list[ParsedAnswer]]:
    """Return the (B, G) parsed completions."""
    return [[template.parse(completion.text, criteria) for completion in group] for group in completions]


def reward_inputs(
    batch: RolloutPromptBatch,
    completions: Sequence[tuple[Completion, ...]],
    parsed: Sequence[Sequence[ParsedAnswer]],
    criteria: Criteria,
) -> ParsedCompletions:
    """Return parsed completions as the tensors that reward functions take, on the device of the batch."""
    device = batch.target.device
    counts = [[[torch.nan if v is None else v for v in answer.values] for answer in group] for group in parsed]
    well_formed = [[answer.format_error is None for answer in group] for group in parsed]
    mentioned = [[mentioned_criteria(answer.reasoning, criteria) for answer in group] for group in parsed]
    return ParsedCompletions(
        error_counts=torch.tensor(counts, dtype=torch.float32, device=device),
        target=batch.target,
        well_formed=torch.tensor(well_formed, device=device),
        mentioned=torch.tensor(mentioned, device=device),
        texts=tuple(tuple(completion.text for completion in group) for group in completions),
        report_pairs=batch.report_pairs,
    )


def rollout_logs(rollout_batch: RolloutBatch, device: torch.device) -> Mapping[str, Tensor]:
    """Return scalars to log: advantages, lengths, format errors, and the engine's error of log-probabilities."""
    completions = [completion for group in rollout_batch.completions for completion in group]
    kinds = [format_error_kind(answer) for group in rollout_batch.parsed for answer in group]
    values = {
        "completions/length": sum(len(completion.tokens) for completion in completions) / len(completions),
        "completions/unfinished": sum(one.finish_reason == "length" for one in completions) / len(completions),
        **{f"format_error/{kind}": kinds.count(kind) / len(kinds) for kind in FORMAT_ERRORS},
    }
    if rollout_batch.old_logps is not None:
        engine_logps = torch.cat([torch.tensor(completion.logps) for completion in completions])
        gap = (rollout_batch.old_logps.cpu()[rollout_batch.mask] - engine_logps).abs().mean()
        values["completions/engine_logp_gap"] = float(gap)
    scalars = {name: torch.tensor(value, dtype=torch.float32, device=device) for name, value in values.items()}
    return {**rollout_batch.estimate.logs, **scalars}


def format_error_kind(parsed: ParsedAnswer) -> str | None:
    """Return the kind of format error in `FORMAT_ERRORS`; None for a well-formed answer.

    >>> format_error_kind(ParsedAnswer((None,), ("missing",), None, "omission: missing"))
    'numbers'
    """
    if parsed.format_error is None:
        return None
    head = parsed.format_error.partition(":")[0]
    return head if head in FORMAT_ERRORS else "numbers"
