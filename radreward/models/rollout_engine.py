"""Completions of prompts: what a prompt shares with others, and with its own completions, is read once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

TokenizedPrompt = Sequence[Sequence[int]]
"""Pieces of token ids from the most shared to the prompt's own, as `SegmentTokenizer.pieces` gives them."""


class SamplingParams(NamedTuple):
    """How completions are drawn."""

    num_completions: int = 1
    """G, completions of each prompt."""
    max_new_tokens: int = 512
    """The longest completion; one that has not ended by then is cut, and says so."""
    temperature: float = 1.0
    """Logits are divided by it; 0 takes the likeliest token each time."""
    top_p: float = 1.0
    """Draws are from the likeliest tokens that have this probability together."""
    seed: int = 0
    """With the places of prompt and completion it decides what is drawn, however they are put into batches."""
    stop: tuple[str, ...] = ()
    """Texts behind which a completion ends; its last token is kept whole."""

    def validate(self) -> SamplingParams:
        """These settings.

        Raises:
            ValueError: If one is out of its range.
        """
        for name in ("completions", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {getattr(self, name)}.")
        if not self.temperature >= 0:
            raise ValueError(f"Expected `temperature` to be >= 0 but got {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"Expected `top_p` to be in (0, 1] but got {self.top_p}.")
        if self.temperature == 0 and self.num_completions > 1:
            raise ValueError(
                f"Expected `completions` to be 1 with `temperature` 0 but got {self.num_completions}: all are equal."
            )
        return self


class Completion(NamedTuple):
    """What a model went on with behind a prompt."""

    tokens: tuple[int, ...]
    """Token ids, with the token that ended it."""
    logps: tuple[float, ...]
    """Log-probability of each token under the model, its logits divided by the temperature (by 1 where that is 0) and
    before `top_p` leaves any out."""
    text: str
    """Without special tokens."""
    finish_reason: str
    """"stop" where it ended itself or with a text of `stop`, "length" where `max_new_tokens` ended it."""


class RolloutEngine(ABC):
    """Draws completions; one method, called for scores, for validation and for every batch of rollouts."""

    @abstractmethod
    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """`sampling.completions` completions of each prompt, in the order of the prompts.

        The same for the same weights, prompts and sampling. The model is as it was before, in training or not.

        Raises:
            ValueError: If a prompt has fewer than two tokens, or `sampling` is out of its range.
        """

    def greedy(
        self, prompts: Sequence[TokenizedPrompt], max_new_tokens: int, stop: tuple[str, ...] = ()
    ) -> list[Completion]:
        """The completion of each prompt that takes the likeliest token each time."""
        sampling = SamplingParams(1, max_new_tokens, temperature=0.0, stop=stop)
        return [only for (only,) in self.sample(prompts, sampling)]


def sample_tokens(logits: Tensor, uniform: Tensor, temperature: float, top_p: float) -> tuple[Tensor, Tensor]:
    """A token of each row, and its log-probability.

    Args:
        logits: (B, V) float32.
        uniform: (B,) draws from [0, 1), one for each row.
        temperature: See `SamplingParams`.
        top_p: See `SamplingParams`.

    Returns:
        (B,) int64 tokens and (B,) float32 log-probabilities.

    >>> import torch
    >>> tokens, logps = drawn(torch.tensor([[0.0, 1.0, 3.0]]), torch.tensor([0.99]), 1.0, 0.9)
    >>> tokens.tolist(), round(float(logps), 3)
    ([1], -2.17)
    """
    logps = (logits / (temperature or 1.0)).log_softmax(-1)
    if temperature == 0:
        tokens = logps.argmax(-1)
    elif top_p == 1:  # no order is needed: sorting a vocabulary for every token would take longest
        tokens = _inverse_cdf(logps.exp().cumsum(-1), uniform)
    else:
        ordered, places = logps.sort(dim=-1, descending=True, stable=True)
        mass = ordered.exp().cumsum(-1)
        kept = mass - ordered.exp() < top_p  # the first token that reaches top_p is kept
        total = mass.masked_fill(~kept, 0.0).max(-1, keepdim=True).values
        tokens = places.gather(-1, _inverse_cdf(mass.clamp_max(total), uniform).unsqueeze(-1)).squeeze(-1)
    return tokens, logps.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def _inverse_cdf(cumulative: Tensor, uniform: Tensor) -> Tensor:
    """The first place of each row where its rising mass (B, V) is above a share, uniform (B,), of the whole.

    Never one that adds nothing, though a share just below 1 rounds to the whole.

    >>> import torch
    >>> _first_above(torch.tensor([[0.0, 0.5, 1.0, 1.0]] * 3), torch.tensor([0.0, 0.5, 1.0])).tolist()
    [1, 2, 2]
    """
    whole = cumulative[:, -1:]
    above = torch.searchsorted(cumulative, uniform.unsqueeze(-1) * whole, right=True)
    return above.minimum((cumulative < whole).sum(-1, keepdim=True)).squeeze(-1)
