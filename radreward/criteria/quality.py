"""Quality of a candidate: the share of its findings that is right."""

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

    `total` counts errors; quality weighs them against what is right, as radiologists do when they rate a report. The
    prior separates one error from three where nothing matches. GREEN (Ostmeier et al., 2024, Eq. 1) is the same ratio
    of unweighted counts without a prior.

    Args:
        matched: Weight of the reference's findings that the candidate states, with partial credit; number or tensor.
        wrong: Weight of false findings, missed findings and wrong details, of the same shape.
        prior: Weight added to what is right, >= 0; where all three are 0, the quality is 1.

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
    """Return the quality of two reports, given the weights of their findings by name.

    Findings of both reports match with the weight of the reference; the others are wrong with their own.

    >>> set_quality({"edema": 0.5}, {"edema": 0.5, "scar": 0.25})
    0.75
    """
    matched = sum(weight for name, weight in reference.items() if name in candidate)
    wrong = sum({**reference, **candidate}[name] for name in reference.keys() ^ candidate.keys())
    return finding_quality(float(matched), float(wrong))
