"""Weights of criteria in a mean over criteria."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from radreward.distributed import all_reduce_sum
from radreward.errors import InputError


class CriterionWeighting(nn.Module, ABC):
    """Weights of criteria, and the mean under these weights; only ratios of weights matter.

    Subclasses implement `weights`. Calling the module computes the weighted mean of (..., N) values over criteria,
    Σ_j w_j x_j / Σ_j w_j.
    """

    @abstractmethod
    def weights(self, num_criteria: int) -> Tensor:
        """Return (N,) weights >= 0; called at every weighted mean, in training and validation."""

    def forward(self, values: Tensor) -> Tensor:
        """Return the weighted mean over criteria: (..., N) to (...)."""
        weights = self.weights(values.shape[-1])
        weights = weights.to(values.device, values.dtype, non_blocking=values.is_cuda)
        return (values * weights).sum(-1) / weights.sum()

    if TYPE_CHECKING:

        def __call__(self, values: Tensor) -> Tensor:
            """Call `forward`."""

    def update(self, predicted: Tensor, actual: Tensor) -> None:
        """Update the state with outcomes; called once per training step, after the weights were used.

        The base class only validates its arguments.

        Args:
            predicted: (n, N) bool: predicted positives.
            actual: (n, N) bool: actual positives.

        Raises:
            ValueError: If the arguments are not bool or differ in shape.
        """
        if predicted.dtype != torch.bool or actual.dtype != torch.bool:
            raise ValueError(f"Expected outcomes to be bool but got {predicted.dtype} and {actual.dtype}.")
        if predicted.shape != actual.shape or predicted.ndim != 2:
            raise ValueError(
                f"Expected outcomes to be (n, N) both but got {tuple(predicted.shape)} and {tuple(actual.shape)}."
            )

    def logs(self) -> dict[str, Tensor]:
        """Return detached scalars to log; empty if the weights are constant."""
        return {}


class UniformWeighting(CriterionWeighting):
    """Equal weights.

    >>> UniformWeighting()(torch.tensor([[1.0, 3.0]]))
    tensor([2.])
    """

    def weights(self, num_criteria: int) -> Tensor:
        """Return (N,) ones."""
        return torch.ones(num_criteria)


class FixedWeighting(CriterionWeighting):
    """Constant weights.

    Args:
        weights: One weight per criterion, >= 0, not all 0.

    Raises:
        ValueError: If a weight is negative or not finite, or all are 0.

    >>> FixedWeighting([1.0, 3.0])(torch.tensor([[1.0, 3.0]]))
    tensor([2.5000])
    """

    fixed_weights: Tensor

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__()
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
            raise ValueError(f"Expected `weights` to be finite, >= 0 and not all 0 but got {list(weights)}.")
        # Not persistent: the weights come from the configuration, not from a checkpoint.
        self.register_buffer("fixed_weights", torch.tensor(weights, dtype=torch.float32), persistent=False)

    def weights(self, num_criteria: int) -> Tensor:
        """Return the (N,) weights.

        Raises:
            InputError: If the number of weights is not the number of criteria.
        """
        if len(self.fixed_weights) != num_criteria:
            raise InputError(
                f"Expected `weights` to have {num_criteria} values, one per criterion, "
                f"but got {len(self.fixed_weights)}."
            )
        return self.fixed_weights


class DynamicWeighting(CriterionWeighting):
    """Sub-score dynamic weighting (SDW of RadReason): criteria with lower F1 get higher weights.

    Every `update_interval` updates, with F1_j computed from the outcomes since the last computation,
    Δ_j = mean F1 - F1_j and w_j = 1 + exp(α Δ_j) / Σ_k exp(α Δ_k). A criterion without predicted or actual positives
    has no F1: its Δ is 0, and the mean is over the other criteria. Weights are equal until the first F1.

    Counts are summed over ranks at every update, so that all ranks hold the same state and one rank's checkpoint is
    complete; all ranks must update equally often.

    Args:
        update_interval: Number of updates between two computations of the weights (M).
        alpha: Sensitivity of the weights to differences of F1 (α); 0 keeps them equal.

    Raises:
        ValueError: If `update_interval` is below 1, or `alpha` is negative or not finite.

    >>> sdw = DynamicWeighting(update_interval=1)
    >>> sdw.update(torch.tensor([[True, False]]), torch.tensor([[True, True]]))
    >>> sdw.f1, sdw.weights(2)
    (tensor([1., 0.]), tensor([1.0180, 1.9820]))
    """

    counts: Tensor  # (3, N) int64: true positives, false positives, false negatives
    steps: Tensor  # () int64: updates since the weights were last computed
    f1: Tensor  # (N,) float32, NaN if undefined

    def __init__(self, update_interval: int = 20, alpha: float = 4.0) -> None:
        super().__init__()
        if update_interval < 1:
            raise ValueError(f"Expected `update_interval` to be >= 1 but got {update_interval}.")
        if not (math.isfinite(alpha) and alpha >= 0):
            raise ValueError(f"Expected `alpha` to be finite and >= 0 but got {alpha}.")
        self.update_interval = update_interval
        self.alpha = alpha
        # The number of criteria comes with the first outcomes, or from a checkpoint.
        self.register_buffer("counts", torch.zeros(3, 0, dtype=torch.int64))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("f1", torch.zeros(0))

    def weights(self, num_criteria: int) -> Tensor:
        """Return (N,) weights between 1 and 2 that sum to N + 1.

        Raises:
            InputError: If the state has a different number of criteria.
        """
        f1 = self.f1 if len(self.f1) else self.f1.new_full((num_criteria,), math.nan)
        if len(f1) != num_criteria:
            raise InputError(f"Expected outcomes of {num_criteria} criteria but the weighting has {len(f1)}.")
        return 1 + (self.alpha * (f1.nanmean() - f1).nan_to_num(0.0)).softmax(0)

    def update(self, predicted: Tensor, actual: Tensor) -> None:
        """Add the outcomes of all ranks; compute F1 every `update_interval` updates."""
        super().update(predicted, actual)
        outcomes = torch.stack([predicted & actual, predicted & ~actual, ~predicted & actual])  # (3, n, N)
        counts = all_reduce_sum(outcomes.sum(1).to(self.counts.device))
        if not self.counts.shape[1]:
            self.counts = torch.zeros_like(counts)
        if self.counts.shape != counts.shape:
            raise InputError(f"Expected outcomes of {self.counts.shape[1]} criteria but got {counts.shape[1]}.")
        self.counts = self.counts + counts
        self.steps = self.steps + 1
        if int(self.steps) >= self.update_interval:
            true_positives, false_positives, false_negatives = self.counts
            denominator = 2 * true_positives + false_positives + false_negatives
            self.f1 = (2 * true_positives / denominator).to(self.f1.dtype)  # 0 / 0 is NaN
            self.counts, self.steps = torch.zeros_like(self.counts), torch.zeros_like(self.steps)

    def logs(self) -> dict[str, Tensor]:
        """Return the weight and the F1 of each criterion; empty until the first F1."""
        weights = self.weights(len(self.f1))
        return {f"weight/{j}": weight for j, weight in enumerate(weights)} | {
            f"f1/{j}": f1 for j, f1 in enumerate(self.f1) if not f1.isnan()
        }

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        for name, buffer in self.named_buffers(recurse=False):
            if isinstance(saved := state_dict.get(prefix + name), Tensor):
                setattr(self, name, buffer.new_zeros(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *args)
