"""Criteria by which reports are judged. The criteria define prompts, head size, margins and table columns."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from radreward.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor  # torch is imported on use, so that commands without tensors start fast

CriterionKind = Literal["count", "binary", "rating"]
_MAX_NUMBER = 1_000_000
"""Largest weight and total. With larger ones, float32 sums would lose errors of small weight."""


class CriteriaError(InputError):
    """Invalid criteria, or invalid error counts for them."""


class Criterion(NamedTuple):
    """An error type, or a score given by raters if the kind is "rating" (higher is better).

    >>> Criterion("incorrect location", "A finding is put in the wrong place.").tag
    'incorrect_location'
    """

    name: str
    description: str
    kind: CriterionKind = "count"
    weight: float = 1.0
    """Total lost per error, or gained per rating point."""

    @property
    def tag(self) -> str:
        """Name as an identifier, for files, columns and answer tags."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")


class Criteria:
    """An ordered set of criteria and the scoring rule that turns errors into a total.

    target_j = -errors_j * weight_j and total = max_total + Σ_j target_j; higher is better. A criterion of kind
    "rating" has points instead of errors: target_j = points_j * weight_j.

    Args:
        name: Name in files and tables.
        criteria: Criteria in order, each a `Criterion` or a mapping of its fields.
        max_total: Total of a report without errors.

    Attributes:
        tags: Identifiers of the criteria, in order.

    Raises:
        CriteriaError: If there is no criterion, or one has an empty name, an unknown kind, a weight that is not a
            finite number >= 0, the same tag as another criterion, or the tag "total".

    >>> import torch
    >>> criteria = Criteria("two", [Criterion("omission", "Missing."), Criterion("grammar", "Bad.", "binary", 5)])
    >>> criteria.total(criteria.target_rewards(torch.tensor([[2.0, 1.0]])))
    tensor([-7.])
    """

    def __init__(self, name: str, criteria: Sequence[Criterion | Mapping[str, Any]], max_total: float = 0.0) -> None:
        self.name = name
        self.criteria = tuple(_validated_criterion(entry, number) for number, entry in enumerate(criteria, 1))
        self.max_total = _finite_number(max_total, "max_total")
        if not self.criteria:
            raise CriteriaError(f"Expected criteria {name!r} to have at least one criterion but got none.")
        self.tags = tuple(criterion.tag for criterion in self.criteria)
        if "total" in self.tags:
            raise CriteriaError(f"Expected no criterion of {name!r} to be named 'total', the name of their sum.")
        for index, tag in enumerate(self.tags):
            if tag in self.tags[:index]:
                raise CriteriaError(f"Expected the criteria of {name!r} to have different names but got {tag!r} twice.")

    @property
    def weights(self) -> Tensor:
        """(N,) float32 total lost per error of each criterion, or gained per rating point."""
        import torch

        return torch.tensor([criterion.weight for criterion in self.criteria], dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.criteria)

    def target_rewards(self, errors: Tensor) -> Tensor:
        """Convert (..., N) errors to (..., N) target rewards, higher is better."""
        return errors * (self._signs * self.weights).to(errors)

    def errors(self, targets: Tensor) -> Tensor:
        """Convert (..., N) target rewards back to (..., N) errors; 0 for a criterion of weight 0."""
        import torch

        weights = self.weights.to(targets)
        signed = targets * self._signs.to(targets)
        return torch.where(weights > 0, signed / weights.clamp_min(torch.finfo(targets.dtype).tiny), 0.0)

    @property
    def _signs(self) -> Tensor:
        """(N,) float32: 1 for ratings, -1 for errors."""
        import torch

        return torch.tensor([1.0 if criterion.kind == "rating" else -1.0 for criterion in self.criteria])

    @property
    def counts_errors(self) -> bool:
        """True if a criterion counts errors; False if all are ratings."""
        return any(criterion.kind != "rating" for criterion in self.criteria)

    def number_of_errors(self, errors: Tensor) -> Tensor:
        """Sum (..., N) errors to a (...) number of errors, without weights and ratings; NaN if a count is unknown.

        >>> import torch
        >>> style = Criterion("style", "Written well.", "rating")
        >>> criteria = Criteria("two", [Criterion("omission", "Missing.", weight=9), style])
        >>> criteria.number_of_errors(torch.tensor([[1.5, 4.0]]))
        tensor([1.5000])
        """
        return errors[..., [index for index, entry in enumerate(self.criteria) if entry.kind != "rating"]].sum(-1)

    def total(self, rewards: Tensor) -> Tensor:
        """Sum (..., N) rewards to a (...) total, higher is better."""
        return self.max_total + rewards.sum(-1)

    def to_tensor(self, errors: Mapping[str, float]) -> Tensor:
        """Convert errors by tag to (N,) float32, see `to_list`."""
        import torch

        return torch.tensor(self.to_list(errors), dtype=torch.float32)

    def to_list(self, errors: Mapping[str, float]) -> list[float]:
        """Convert errors by tag to N numbers in the order of the criteria.

        Raises:
            CriteriaError: If a tag is unknown or missing, or a value is not a finite number >= 0 (0 or 1 for a
                binary criterion). The message names the tag.
        """
        if unknown := sorted(set(errors) - set(self.tags)):
            raise CriteriaError(f"unknown criterion {unknown[0]!r}; {self.name} has {', '.join(self.tags)}")
        if missing := [tag for tag in self.tags if tag not in errors]:
            raise CriteriaError(f"no value for criterion {missing[0]!r} of {self.name}; write 0 for no error")
        return [_validated_error(errors[tag], entry) for tag, entry in zip(self.tags, self.criteria, strict=True)]

    def weighted_errors(self, errors: Mapping[str, float]) -> float:
        """Return the total lost by errors given by tag, Σ_j errors_j · weight_j. For errors, see `to_list`."""
        return math.fsum(
            value * (-criterion.weight if criterion.kind == "rating" else criterion.weight)
            for value, criterion in zip(self.to_list(errors), self.criteria, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the criteria as plain values for JSON and YAML; `from_dict` is the inverse."""
        return {
            "name": self.name,
            "max_total": self.max_total,
            "criteria": [criterion._asdict() for criterion in self.criteria],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Criteria:
        """Build criteria from plain values.

        Raises:
            CriteriaError: If a key is unknown or missing, or a value has the wrong type.
        """
        if not isinstance(value, Mapping):
            raise CriteriaError(
                f"Expected criteria to be a mapping with name and criteria but got {type(value).__name__}."
            )
        if unknown := sorted(set(map(str, value)) - {"name", "criteria", "max_total"}):
            raise CriteriaError(f"Expected the keys name, criteria and max_total but got {unknown[0]!r}.")
        if not isinstance(value.get("name"), str) or not value["name"].strip():
            raise CriteriaError(f"Expected `name` to be a non-empty text but got {reprlib.repr(value.get('name'))}.")
        entries = value.get("criteria")
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            raise CriteriaError(
                "Expected `criteria` to be a list of criteria, each with name and description, but got "
                f"{reprlib.repr(entries)}."
            )
        return Criteria(value["name"], entries, value.get("max_total", 0.0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Criteria) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.criteria, self.max_total))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {', '.join(self.tags)})"


def _validated_criterion(entry: Criterion | Mapping[str, Any], number: int) -> Criterion:
    where = f"criterion {number}"
    if not isinstance(entry, Criterion):
        if not isinstance(entry, Mapping):
            raise CriteriaError(f"Expected {where} to be a mapping but got {type(entry).__name__}.")
        if unknown := sorted(set(map(str, entry)) - set(Criterion._fields)):
            raise CriteriaError(
                f"Expected {where} to have the keys {', '.join(Criterion._fields)} but got {unknown[0]!r}."
            )
        if missing := [key for key in ("name", "description") if key not in entry]:
            raise CriteriaError(f"Expected {where} to have a {missing[0]}.")
        entry = Criterion(**entry)
    for field in ("name", "description"):
        if not isinstance(getattr(entry, field), str) or not getattr(entry, field).strip():
            raise CriteriaError(f"Expected the {field} of {where} to be a non-empty text.")
    if not entry.tag or entry.tag[0].isdigit():
        raise CriteriaError(f"Expected the name of {where} to start with a letter a-z but got {entry.name!r}.")
    if entry.kind not in ("count", "binary", "rating"):
        raise CriteriaError(
            f"Expected the kind of {entry.name!r} to be count, binary or rating but got {entry.kind!r}."
        )
    weight = _finite_number(entry.weight, f"the weight of {entry.name!r}")
    if weight < 0:
        raise CriteriaError(f"Expected the weight of {entry.name!r} to be >= 0 but got {entry.weight}.")
    return entry._replace(weight=weight)


def _finite_number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MAX_NUMBER:
        raise CriteriaError(f"Expected {name} to be a number of at most {_MAX_NUMBER:,} but got {reprlib.repr(value)}.")
    return float(value)


def _validated_error(value: object, criterion: Criterion) -> float:
    is_binary = criterion.kind == "binary"
    if isinstance(value, int | float) and (value in (0, 1) or (0 <= value < math.inf and not is_binary)):
        return float(value)
    expected = "0 or 1" if is_binary else "a finite number >= 0"
    raise CriteriaError(f"Expected {expected} for criterion {criterion.tag!r} but got {value!r}")
