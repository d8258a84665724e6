"""Quality of a candidate: the correct share of its findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import Tensor  # torch is imported on use, so that commands without tensors start fast

DEFAULT_PRIOR = 0.25
"""Half the weight of an actionable finding."""
_Weight = TypeVar("_Weight", float, "Tensor")


def finding_quality(matched: _Weight, wrong: _Weight, prior: float = DEFAULT_PRIOR) -> _Weight:
    """Return (matched + prior) / (matched + prior + wrong): 1 if nothing is wrong, close to 0 if nothing is right.

    A total only counts errors. The quality relates them to what is correct, as radiologists do when they rate a report.
    If nothing matches, the prior still separates one error from three. GREEN (Ostmeier et al., 2024, Eq. 1) is the same
    ratio of unweighted counts without a prior.

    Args:
        matched: Number or tensor: weight of the findings that match the reference, with partial credit.
        wrong: Weight of false findings, missed findings and wrong details, of the same shape.
        prior: Weight added to `matched`, >= 0. If all three are 0, the quality is 1.

    >>> finding_quality(0.5, 0.0), finding_quality(0.5, 0.25), finding_quality(0.0, 0.75)
    (1.0, 0.75, 0.25)
    >>> import torch
    >>> finding_quality(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]), prior=0.0)
    tensor([1.0000, 0.5000])
    """
    right = matched + prior
    weight = right + wrong
    if isinstance(weight, int | float):
        return right / weight if weight else 1.0
    return (right / weight).masked_fill(weight == 0, 1.0)


def set_quality(reference: Mapping[str, float], candidate: Mapping[str, float]) -> float:
    """Return the quality of a candidate from the weights of the findings of both reports, by name.

    A finding of both reports matches, with its weight in the reference; every other finding is wrong.

    >>> set_quality({"edema": 0.5}, {"edema": 0.5, "scar": 0.25})
    0.75
    """
    matched = sum(weight for name, weight in reference.items() if name in candidate)
    wrong = sum({**reference, **candidate}[name] for name in reference.keys() ^ candidate.keys())
    return finding_quality(float(matched), float(wrong))
