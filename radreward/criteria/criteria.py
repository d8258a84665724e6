"""What is judged: one object drives prompts, head size, margins, tables and reports."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from radreward.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor  # imported where a tensor is made: commands that need none start at once

CriterionKind = Literal["count", "binary", "rating"]


class CriteriaError(InputError):
    """Criteria, or errors stated by them, that cannot be used as given."""


class Criterion(NamedTuple):
    """One thing that can be wrong with a report, or, of the kind "rating", what people gave it: higher is better.

    >>> Criterion("incorrect location", "A finding is put in the wrong place.").tag
    'incorrect_location'
    """

    name: str
    description: str
    kind: CriterionKind = "count"
    weight: float = 1.0
    """What one error takes off the total, or one point of a rating adds to it."""

    @property
    def tag(self) -> str:
        """The name as an identifier: used in files, columns and answer tags."""
        return re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")


class Criteria:
    """An ordered set of criteria, and how errors become a score.

    quality_j = -errors_j * weight_j and total = offset + sum over j of quality_j; higher is better. A criterion of the
    kind "rating" holds no errors but points: quality_j = points_j * weight_j.

    Args:
        name: What the set is called in files and tables.
        criteria: The criteria in order; a mapping is read as the fields of `Criterion`.
        offset: The total of a report without errors.

    Attributes:
        tags: The identifiers of the criteria, in order.

    Raises:
        CriteriaError: If there is no criterion, or one has no name, an unknown kind, a weight that is not a
            finite number >= 0, or a tag that another has too.

    >>> import torch
    >>> criteria = Criteria("two", [Criterion("omission", "Missing."), Criterion("grammar", "Bad.", "binary", 5)])
    >>> criteria.total(criteria.quality(torch.tensor([[2.0, 1.0]])))
    tensor([-7.])
    """

    def __init__(self, name: str, criteria: Sequence[Criterion | Mapping[str, Any]], max_total: float = 0.0) -> None:
        self.name = name
        self.criteria = tuple(_validated_criterion(entry, position) for position, entry in enumerate(criteria))
        self.max_total = _finite_number(max_total, "offset")
        if not self.criteria:
            raise CriteriaError(f"Expected criteria {name!r} to have at least one criterion but got none.")
        self.tags = tuple(criterion.tag for criterion in self.criteria)
        for position, tag in enumerate(self.tags):
            if tag in self.tags[:position]:
                raise CriteriaError(
                    f"Expected the criteria of {name!r} to have different names, but {tag!r} is there twice."
                )

    @property
    def weights(self) -> Tensor:
        """(N,) float32: what one error of each criterion takes off the total, or one point of a rating adds to it."""
        import torch

        return torch.tensor([criterion.weight for criterion in self.criteria], dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.criteria)

    def quality(self, errors: Tensor) -> Tensor:
        """(..., N) errors to (..., N) quality, higher is better."""
        return errors * (self._signs * self.weights).to(errors)

    def errors(self, quality: Tensor) -> Tensor:
        """(..., N) quality back to (..., N) errors; a criterion that weighs nothing gives 0."""
        import torch

        weights = self.weights.to(quality)
        signed = quality * self._signs.to(quality)
        return torch.where(weights > 0, signed / weights.clamp_min(torch.finfo(quality.dtype).tiny), 0.0)

    @property
    def _signs(self) -> Tensor:
        """(N,) float32: 1 for ratings, -1 for errors."""
        import torch

        return torch.tensor([1.0 if entry.kind == "rating" else -1.0 for entry in self.criteria])

    def total_quality(self, quality: Tensor) -> Tensor:
        """(..., N) quality to (...) total, higher is better."""
        return self.max_total + quality.sum(-1)

    def to_tensor(self, errors: Mapping[str, float]) -> Tensor:
        """Stated errors by tag as (N,) float32, in the order of the criteria; raises as `values` does."""
        import torch

        return torch.tensor(self.to_list(errors), dtype=torch.float32)

    def to_list(self, errors: Mapping[str, float]) -> list[float]:
        """Stated errors by tag as N numbers, in the order of the criteria.

        Raises:
            CriteriaError: If a tag is unknown or missing, or a value is not a finite number >= 0 (0 or 1 for a
                binary criterion). The message names the tag.
        """
        if unknown := sorted(set(errors) - set(self.tags)):
            raise CriteriaError(f"unknown criterion {unknown[0]!r}; {self.name} has {', '.join(self.tags)}")
        if missing := [tag for tag in self.tags if tag not in errors]:
            raise CriteriaError(f"no value for criterion {missing[0]!r} of {self.name}")
        return [_validated_error(errors[tag], entry) for tag, entry in zip(self.tags, self.criteria, strict=True)]

    def weighted_errors(self, errors: Mapping[str, float]) -> float:
        """What stated errors by tag take off the total, Σ_j errors_j · weight_j; raises as `values` does."""
        weighed = zip(self.to_list(errors), self.criteria, strict=True)
        return math.fsum(
            value * (-criterion.weight if criterion.kind == "rating" else criterion.weight)
            for value, criterion in weighed
        )

    def to_dict(self) -> dict[str, Any]:
        """The criteria as plain values, for JSON and YAML; `from_dict` reads them."""
        return {
            "name": self.name,
            "offset": self.max_total,
            "criteria": [entry._asdict() for entry in self.criteria],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Criteria:
        """Criteria from plain values.

        Raises:
            CriteriaError: If a key is unknown or missing, or a value is of the wrong type.
        """
        if not isinstance(value, Mapping):
            raise CriteriaError(
                f"Expected criteria to be a mapping with name and criteria but got {type(value).__name__}."
            )
        if unknown := sorted(set(map(str, value)) - {"name", "criteria", "offset"}):
            raise CriteriaError(f"Expected the keys name, criteria and offset but got {unknown[0]!r}.")
        if not isinstance(value.get("name"), str) or not value["name"].strip():
            raise CriteriaError("Expected `name` to be a text that is not empty.")
        entries = value.get("criteria")
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            raise CriteriaError("Expected `criteria` to be a list of criteria, each with name and description.")
        return Criteria(value["name"], entries, value.get("offset", 0.0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Criteria) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.criteria, self.max_total))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {', '.join(self.tags)})"

    def __copy__(self) -> Self:
        return self  # nothing in it changes


def _validated_criterion(entry: Criterion | Mapping[str, Any], position: int) -> Criterion:
    where = f"criterion {position + 1}"
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
            raise CriteriaError(f"Expected the {field} of {where} to be a text that is not empty.")
    if not entry.tag or entry.tag[0].isdigit():
        raise CriteriaError(f"Expected the name of {where} to begin with a letter a-z but got {entry.name!r}.")
    if entry.kind not in ("count", "binary", "rating"):
        raise CriteriaError(
            f"Expected the kind of {entry.name!r} to be count, binary or rating but got {entry.kind!r}."
        )
    weight = _finite_number(entry.weight, f"the weight of {entry.name!r}")
    if weight < 0:
        raise CriteriaError(f"Expected the weight of {entry.name!r} to be >= 0 but got {entry.weight}.")
    return entry._replace(weight=weight)


def _finite_number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CriteriaError(f"Expected {name} to be a finite number but got {value!r}.")
    return float(value)


def _validated_error(value: object, criterion: Criterion) -> float:
    allowed, expected = True, "a finite number >= 0"
    if criterion.kind == "binary":
        allowed, expected = value in (0, 1), "0 or 1"
    if allowed and isinstance(value, bool | int | float) and math.isfinite(value) and value >= 0:
        return float(value)
    raise CriteriaError(f"expected {expected} for criterion {criterion.tag!r} but got {value!r}")
