"""Completions of a policy: how they are drawn, what can be wrong with their form, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.models.rollout_engine import Completion, SamplingParams
from radreward.prompts.parsing import ParsedAnswer
from radreward.types import AdvantageEstimate, RolloutPromptBatch

FORMAT_ERRORS = ("empty", "too long", "think", "numbers")
"""What can be wrong with the form of a completion, as counted in logs."""


class RolloutConfig:
    """How completions are drawn, and how often each is learnt from.

    Args:
        completions: Completions of each prompt, G.
        updates: Steps of the optimizer on each batch of rollouts.
        temperature: By which logits are divided, in drawing and in training.
        top_p: Draws are from the likeliest tokens that have this probability together.
        batch_size: Most completions that are drawn together.
        engine: What draws them: the model itself, or vLLM, an extra.

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
        engine: Literal["transformers", "vllm"] = "transformers",
    ) -> None:
        if num_generations < 2:
            raise ValueError(f"Expected `completions` to be >= 2, to be compared, but got {num_generations}.")
        for name, value in (("updates", num_iterations), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        if not temperature > 0:
            raise ValueError(f"Expected `temperature` to be > 0, so that completions differ, but got {temperature}.")
        self.sampling = SamplingParams(num_generations, temperature=temperature, top_p=top_p).validate()
        self.num_iterations, self.batch_size, self.engine = num_iterations, batch_size, engine


class RolloutBatch(NamedTuple):
    """A batch of rollouts, which is learnt from one or several times."""

    completions: list[tuple[Completion, ...]]
    estimate: AdvantageEstimate
    ref_logps: Tensor | None
    old_logps: Tensor | None
    """(B, G, T) by the policy before the first update on them; None until it was computed."""


def completion_mask(completions: Sequence[tuple[Completion, ...]]) -> Tensor:
    """(B, G, T) bool: the tokens of each completion.

    >>> one, two = (Completion(tokens, (), "", "stop") for tokens in ((1,), (1, 2)))
    >>> token_mask([(one, two)]).int().tolist()
    [[[1, 0], [1, 1]]]
    """
    lengths = torch.tensor([[len(completion.tokens) for completion in group] for group in completions])
    return torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)


def format_error_kind(parsed: ParsedAnswer) -> str | None:
    """Which of `KINDS` is wrong with an answer; None for one of the right form.

    >>> problem_kind(Parsed((None,), ("missing",), None, "omission: missing"))
    'numbers'
    """
    if parsed.format_error is None:
        return None
    head = parsed.format_error.partition(":")[0]
    return head if head in FORMAT_ERRORS else "numbers"


def format_completions(batch: RolloutPromptBatch, rollout_batch: RolloutBatch) -> str:
    """The completions of the first prompt, with what each is worth, as Markdown."""
    judgement = rollout_batch.estimate
    worth = zip(judgement.rewards[0].tolist(), judgement.advantages[0].tolist(), strict=True)
    texts = [
        (completion.text, f"reward {reward:.3f}, advantage {advantage:+.3f}")
        for completion, (reward, advantage) in zip(rollout_batch.completions[0], worth, strict=True)
    ]
    return format_reports_and_completions(batch.report_pairs[0], texts)


def format_reports_and_completions(reports: tuple[str, str], completions: Sequence[tuple[str, str]]) -> str:
    """Reports and completions as blocks of code: nothing in them is formatted.

    >>> as_markdown(("a", "b"), [("c", "reward 1")]).splitlines()[0]
    '**Reference**'
    """
    parts = [("Reference", reports[0]), ("Candidate", reports[1]), *((note, text) for text, note in completions)]
    return "\n\n".join(
        f"**{name}**\n\n" + "\n".join(f"    {line}" for line in text.splitlines()) for name, text in parts
    )
