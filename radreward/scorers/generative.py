"""Base class of scorers that parse the answers of a generative evaluator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import torch

from radreward.criteria import Criteria
from radreward.errors import InputError, check_choice
from radreward.io.hub import download_model, parse_hub_name
from radreward.models.generative_evaluator import (
    GeneratedAnswer,
    GenerativeEvaluator,
    find_evaluator_settings,
    load_generative_evaluator,
)
from radreward.models.marked_findings import MarkedFinding
from radreward.models.precision import require_fp32
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.scorers.base import Scorer
from radreward.scorers.explanation import Explanation, mark_explanation
from radreward.scorers.status import STATUS_OK, STATUS_TRUNCATED
from radreward.types import Scores, Side

UNPARSABLE_ANSWER = "unparsable answer"


class GenerativeScorer(Scorer):
    """Scorer that reads scores and error counts from answers of a language model. Subclasses define `parse_answer`.

    The sub-scores are the rewards -count · weight per criterion, (n, N). The error counts are (n, N). The evidence of a
    row is an `Explanation`. If the answer has no parsable score, the row gets NaN, and its status states the reason.
    Decoding is greedy, and equal pairs are answered once.

    Args:
        evaluator: The model and its prompts.
        on_too_long: "reject" prompts above the limit with a status, or "truncate" both reports, with the status
            "truncated".
        batch_size: Maximum number of answers that are decoded together.

    Raises:
        ValueError: If `on_too_long` is unknown.
        InputError: If the template of the evaluator is not a `template_class`.
    """

    template_class: type[GenerativeTemplate]
    returns_explanations = True

    def __init__(
        self,
        evaluator: GenerativeEvaluator,
        on_too_long: Literal["reject", "truncate"] = "reject",
        batch_size: int = 64,
    ) -> None:
        check_choice("on_too_long", on_too_long, ("reject", "truncate"))
        if not isinstance(evaluator.template, self.template_class):
            expected, actual = self.template_class.__name__, type(evaluator.template).__name__
            raise InputError(f"{self.title}: Expected an evaluator with a {expected} but got {actual}.")
        self.evaluator, self.on_too_long, self.batch_size = evaluator, on_too_long, batch_size
        self.criteria = evaluator.prompt_encoder.criteria
        self.device = next(evaluator.model.parameters()).device

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None,
        precision: Literal["fp32", "bf16"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
        model: str | None = None,
        batch_size: int = 64,
    ) -> Self:
        """Load the scorer of a saved evaluator.

        Args:
            folder: Folder of the evaluator; None if `model` names it.
            precision: Only fp32.
            on_too_long: See the class.
            device: Device of the model, see `radreward.devices.resolve_device`.
            allow_download: Allow the download of evaluator and backbone from the Hub.
            model: Folder of an evaluator or a run, as in `green:FOLDER`, or its name on the Hub.
            batch_size: See the class.

        Raises:
            InputError: If there is no such evaluator, or the precision is not supported.
        """
        require_fp32(precision, "a generative evaluator")
        path = Path(folder or model or "").expanduser()
        if (hub_name := parse_hub_name(str(path))) and not path.is_dir():
            path = download_model(hub_name, allow_download)
        if find_evaluator_settings(path / "model"):
            path = path / "model"
        return cls(load_generative_evaluator(path, device, allow_download), on_too_long, batch_size)

    @property
    def chunk_size(self) -> int:
        """See `Scorer.chunk_size`: the answers that are decoded together."""
        return self.batch_size

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`. Weights are saved in full precision."""
        self.evaluator.save(folder)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        return f"{self.evaluator.fingerprint()} {self.on_too_long}"

    def mark_findings(self, evidence: Explanation, texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return list(mark_explanation(evidence))

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        answers = self.evaluator.generate(references, candidates, self.on_too_long == "truncate", self.batch_size)
        parsed = [self._parse(answer) for answer in answers]
        return parsed_scores(parsed, self.evaluator.prompt_encoder.criteria, self.has_quality)

    def _parse(self, answer: GeneratedAnswer) -> ParsedScore:
        """Return the score of an answer, or of a pair that got none."""
        if answer.text is None:
            counts = [torch.nan] * len(self.evaluator.prompt_encoder.criteria)
            return ParsedScore(torch.nan, counts, answer.skip_reason or "skipped", None)
        parsed = self.parse_answer(answer)
        is_truncated = answer.truncated and parsed.status == STATUS_OK
        return parsed._replace(status=STATUS_TRUNCATED) if is_truncated else parsed

    @abstractmethod
    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """Return score, counts and explanation of an answer that has a text."""


class ParsedScore(NamedTuple):
    """Score of one answer of a language model."""

    total: float
    error_counts: list[float]
    status: str
    evidence: Any
    """See `radreward.types.Scores`."""
    quality: float = torch.nan
    """See `radreward.types.Scores`; NaN if the answer does not list the matches."""


def parsed_counts(values: Sequence[float | None]) -> list[float]:
    """Return the counts of an answer, with NaN for missing ones."""
    return [torch.nan if value is None else value for value in values]


def parsed_scores(parsed: Sequence[ParsedScore], criteria: Criteria | None, has_quality: bool = False) -> Scores:
    """Return the scores of n parsed answers with N criteria, or None if the answers count no errors."""
    scores = Scores(
        total=torch.tensor([entry.total for entry in parsed]),
        sub_scores=None,
        error_counts=None,
        status=tuple(entry.status for entry in parsed),
        evidence=tuple(entry.evidence for entry in parsed),
        quality=torch.tensor([entry.quality for entry in parsed]) if has_quality else None,
    )
    if criteria is None:
        return scores
    counts = torch.tensor([entry.error_counts for entry in parsed]).reshape(len(parsed), len(criteria))
    rewards = criteria.target_rewards(counts) + 0.0  # -0 becomes 0
    return scores._replace(sub_scores=rewards, error_counts=counts)
