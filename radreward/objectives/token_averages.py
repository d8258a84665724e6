"""Averages of the token losses of completions."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from radreward.distributed import mean_over_ranks


class TokenAverage(nn.Module, ABC):
    """Average of token losses. Subclasses implement `forward` only."""

    @abstractmethod
    def forward(self, losses: Tensor, mask: Tensor) -> Tensor:
        """Return the () average on this rank, whose mean over ranks is the average over all ranks.

        Called once per update.

        Args:
            losses: (B, G, T).
            mask: (B, G, T) bool: True for completion tokens, False for padding.
        """


class CompletionAverage(TokenAverage):
    """Mean over completions of the mean over their tokens (GRPO, Shao et al. 2024, Eq. 3).

    Tokens of short completions have more weight. A completion without tokens counts as 0.
    """

    def forward(self, losses: Tensor, mask: Tensor) -> Tensor:
        """Return the () average."""
        means = token_means(losses, mask)
        return mean_over_ranks(means.mean(), means.numel())


class AllTokenAverage(TokenAverage):
    """Mean over all tokens of all completions (DAPO, Yu et al. 2025, section 3.3): all tokens have equal weight."""

    def forward(self, losses: Tensor, mask: Tensor) -> Tensor:
        """Return the () average; 0 without tokens."""
        num_tokens = int(mask.sum())
        return mean_over_ranks(losses.masked_fill(~mask, 0.0).sum() / max(num_tokens, 1), num_tokens)


class FixedLengthAverage(TokenAverage):
    """Mean over completions of the sum over their tokens, divided by a constant length (Dr. GRPO, Liu et al. 2025).

    All tokens have equal weight in every batch, whatever the lengths of its completions are.

    Args:
        length: Number of tokens by which sums are divided; the paper uses the longest possible completion,
            `max_answer_length` of the collator.

    Raises:
        ValueError: If `length` is not positive.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        if length < 1:
            raise ValueError(f"Expected `length` to be >= 1 but got {length}.")
        self.length = length

    def forward(self, losses: Tensor, mask: Tensor) -> Tensor:
        """Return the () average."""
        sums = losses.masked_fill(~mask, 0.0).sum(-1) / self.length
        return mean_over_ranks(sums.mean(), sums.numel())


def token_means(values: Tensor, mask: Tensor) -> Tensor:
    """Return (B, G) means over the tokens of each completion; 0 for a completion without tokens.

    Args:
        values: (B, G, T).
        mask: (B, G, T) bool.
    """
    return values.masked_fill(~mask, 0.0).sum(-1) / mask.sum(-1).clamp_min(1)
