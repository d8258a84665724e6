"""Base class of engines that generate completions, and token sampling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

TokenizedPrompt = Sequence[Sequence[int]]
"""Token ids of a prompt's segments, from the most shared to its own, see `SegmentTokenizer.encode_segments`."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling of completions."""

    num_completions: int = 1
    """G, completions per prompt."""
    max_new_tokens: int = 512
    """Maximum length of a completion."""
    temperature: float = 1.0
    """Divisor of the logits; 0 is greedy."""
    top_p: float = 1.0
    """Nucleus sampling: sample from the most likely tokens with this total probability."""
    seed: int = 0
    """Samples depend only on the seed and the indices of prompt and completion, not on the batches."""
    stop: tuple[str, ...] = ()
    """Texts after which a completion ends; they are part of it."""

    def validate(self) -> SamplingParams:
        """Return the parameters.

        Raises:
            ValueError: If one is out of range.
        """
        for name in ("num_completions", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {getattr(self, name)}.")
        if not self.temperature >= 0:
            raise ValueError(f"Expected `temperature` to be >= 0 but got {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"Expected `top_p` to be in (0, 1] but got {self.top_p}.")
        if self.temperature == 0 and self.num_completions > 1:
            raise ValueError(
                f"Expected `num_completions` to be 1 with `temperature` 0, where all completions are equal, but got "
                f"{self.num_completions}."
            )
        return self


class Completion(NamedTuple):
    """Continuation of a prompt."""

    tokens: tuple[int, ...]
    """Token ids, including the end token."""
    logps: tuple[float, ...]
    """Log-probability of each token under the model with its logits divided by the temperature (by 1 if that is 0),
    without `top_p`."""
    text: str
    """Text without special tokens."""
    finish_reason: str
    """"stop" if the model or a text of `stop` ended it, "length" if `max_new_tokens` did."""


class RolloutEngine(ABC):
    """Generator of completions; subclasses define `sample`, called for scoring, validation and rollouts."""

    @abstractmethod
    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """Return `params.num_completions` completions per prompt, in the order of the prompts.

        The result depends only on weights, prompts and parameters. The model's training mode is unchanged.

        Raises:
            ValueError: If a prompt has fewer than two tokens, or a parameter is out of range.
        """

    def greedy(
        self, prompts: Sequence[TokenizedPrompt], max_new_tokens: int, stop: tuple[str, ...] = ()
    ) -> list[Completion]:
        """Return the greedy completion of each prompt."""
        params = SamplingParams(1, max_new_tokens, temperature=0.0, stop=stop)
        return [completion for (completion,) in self.sample(prompts, params)]


def sample_tokens(logits: Tensor, uniform: Tensor, temperature: float, top_p: float) -> tuple[Tensor, Tensor]:
    """Sample one token per row.

    Args:
        logits: (B, V) float32.
        uniform: (B,) random numbers in [0, 1).
        temperature: See `SamplingParams`.
        top_p: See `SamplingParams`.

    Returns:
        (B,) int64 tokens and (B,) float32 log-probabilities.

    >>> import torch
    >>> tokens, logps = sample_tokens(torch.tensor([[0.0, 1.0, 3.0]]), torch.tensor([0.99]), 1.0, 0.9)
    >>> tokens.tolist(), round(float(logps), 3)
    ([1], -2.17)
    """
    logps = (logits / (temperature or 1.0)).log_softmax(-1)
    if temperature == 0:
        tokens = logps.argmax(-1)
    elif top_p == 1:  # avoids sorting the vocabulary
        tokens = _inverse_cdf(logps.exp().cumsum(-1), uniform)
    else:
        ordered, indices = logps.sort(dim=-1, descending=True, stable=True)
        cumulative = ordered.exp().cumsum(-1)
        in_nucleus = cumulative - ordered.exp() < top_p  # includes the token that reaches top_p
        total = cumulative.masked_fill(~in_nucleus, 0.0).max(-1, keepdim=True).values
        tokens = indices.gather(-1, _inverse_cdf(cumulative.clamp_max(total), uniform).unsqueeze(-1)).squeeze(-1)
    return tokens, logps.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def _inverse_cdf(cumulative: Tensor, uniform: Tensor) -> Tensor:
    """Return the first index per row whose cumulative mass (B, V) exceeds the fraction `uniform` (B,) of the total.

    Never an index without mass, even if a fraction just below 1 rounds to the total.

    >>> import torch
    >>> _inverse_cdf(torch.tensor([[0.0, 0.5, 1.0, 1.0]] * 3), torch.tensor([0.0, 0.5, 1.0])).tolist()
    [1, 2, 2]
    """
    total = cumulative[:, -1:]
    above = torch.searchsorted(cumulative, uniform.unsqueeze(-1) * total, right=True)
    return above.minimum((cumulative < total).sum(-1, keepdim=True)).squeeze(-1)
