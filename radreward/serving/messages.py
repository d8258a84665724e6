"""Requests and answers of the web service, as its OpenAPI document describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from radreward.criteria.criteria import CriterionKind
from radreward.models.marked_findings import MarkedFinding
from radreward.score_outputs import ScoreOutput
from radreward.text.patient_context import MAX_AGE, PatientContext, parse_context
from radreward.types import Side


class PairRequest(BaseModel):
    """A candidate and its reference."""

    model_config = ConfigDict(extra="forbid")

    reference: str = Field(description="The report to compare with, which is assumed to be right.")
    candidate: str = Field(description="The report to judge.")
    age: float | str | None = Field(None, description="Years, or a text with a unit, as `8 months`; weighs findings.")
    indication: str | None = Field(None, description="Reason for the examination; weighs findings.")
    id: str | int | None = Field(None, description="Returned with the scores; defaults to the number of the pair.")

    @field_validator("age")
    @classmethod
    def _check_age(cls, age: float | str | None) -> float | str | None:
        if age is not None and parse_context({"age": age}).age is None:
            raise PydanticCustomError("age", f"Expected years from 0 to {MAX_AGE}, or a text as `8 months`")
        return age

    @property
    def num_chars(self) -> int:
        """Number of characters of all texts."""
        return sum(len(str(value)) for _, value in self if value is not None)

    def as_pair(self) -> tuple[str, str, PatientContext]:
        """Return reference, candidate and what is known of the patient."""
        return self.reference, self.candidate, parse_context({"age": self.age, "indication": self.indication})


class ScoreRequest(BaseModel):
    """Pairs to score."""

    model_config = ConfigDict(extra="forbid")

    pairs: list[PairRequest] = Field(min_length=1)
    models: list[str] = Field([], description="Names of metrics, see /models; empty for all.")
    evidence: bool = Field(False, description="Return evidence and findings too.")


class MetricScores(BaseModel):
    """Scores of a pair by one metric, as `radreward score` writes them; null if a value is missing."""

    total: float | None = Field(description="Higher is better.")
    quality: float | None = Field(description="Correct share of the candidate, from 0 to 1.")
    errors: float | None = Field(description="Expected number of errors, not rounded.")
    sub_scores: dict[str, float | None]
    error_counts: dict[str, float | None] = Field(description="Expected errors by criterion.")
    status: str = Field(description='"ok", or the reason why the score is missing or limited.')
    evidence: Any = None
    findings: list[MarkedFinding] | None = None


class PairAnswer(BaseModel):
    """Scores of a pair by the name of the metric."""

    id: str | int
    scores: dict[str, MetricScores]
    texts: dict[Side, str] | None = Field(None, description="Normalized reports, as scored; with evidence only.")


class ScoreAnswer(BaseModel):
    """Scores in the order of the pairs."""

    pairs: list[PairAnswer]


class CriterionDescription(BaseModel):
    """A kind of error, or a score given by raters."""

    name: str
    description: str
    kind: CriterionKind
    weight: float = Field(description="Total lost per error, or gained per rating point.")


class CriteriaDescription(BaseModel):
    """Criteria of a metric, in the order of `error_counts`."""

    name: str
    max_total: float = Field(description="Total of a report without errors.")
    criteria: list[CriterionDescription]


class MetricDescription(BaseModel):
    """A metric of this service."""

    name: str
    title: str
    summary: str
    total_range: tuple[float | None, float | None] = Field(description="Of `total`; null if unbounded.")
    outputs: list[ScoreOutput] = Field(description="Outputs that the metric computes.")
    sub_scores: list[str] = Field(description="Names of `sub_scores`, in order.")
    criteria: CriteriaDescription | None = Field(description="Criteria of `error_counts`; null if it counts no errors.")


class HealthAnswer(BaseModel):
    """State of the service."""

    status: Literal["ok"] = "ok"


class ErrorAnswer(BaseModel):
    """An error in one line."""

    error: str
