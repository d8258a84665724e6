"""Evaluators that explain: error counts of a reward model, with the statements in which it locates the errors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import read_config
from radreward.models.generative_evaluator import GeneratedAnswer
from radreward.models.marked_findings import MarkedFinding
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.scorers.base import Scorer
from radreward.scorers.explanation import Explanation, mark_explanation
from radreward.scorers.generative import ParsedScore, parsed_scores
from radreward.systems.er2score.scorer import EMBEDDED_DIR, RewardModelScorer
from radreward.systems.er2score.statements import StatementEvidence
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.green.scorer import parse_green_score
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.scorer import parse_radreason_score
from radreward.types import Scores, Side

_COUNTER = "counter"
"""Folder of the reward model inside the folder of an evaluator."""
_REASONS = {
    "false_prediction": "the reference does not state “{candidate}”",
    "omission": "the candidate leaves out “{reference}”",
    "incorrect_location": "the place in “{candidate}” differs from “{reference}”",
    "incorrect_severity": "the severity in “{candidate}” differs from “{reference}”",
    "incorrect_comparison": "the reference does not make the comparison in “{candidate}”",
    "omission_of_comparison": "the candidate leaves out the change in “{reference}”",
}
"""Reason for each of RadCliQ's six kinds of errors; the placeholders are statements of both reports."""
_CountedError = tuple[str, str, str]
"""Criterion of an error, and the statements of candidate and reference in which it shows."""


class ExplainedCounts(Scorer):
    """Whole numbers of errors with reasons, in the layout of a generative evaluator, from a reward model's evidence.

    The expected errors of all criteria, rounded to a whole number, are assigned one by one to the criterion and
    statement with the most remaining evidence, so that every counted error has a reason.

    Args:
        counter: An `EvidenceRewardModel` with RadCliQ's criteria with significance.

    Raises:
        InputError: If it is another model.

    Attributes:
        config_name: Name of the JSON file that identifies a saved evaluator.
        template: Layout of the answers.
    """

    config_name: ClassVar[str]
    template: ClassVar[GenerativeTemplate]
    criteria: Criteria
    requires_report = True
    returns_explanations = True

    def __init__(self, counter: RewardModelScorer) -> None:
        if not counter.has_evidence or counter.artifact.model.criteria.tags != RadCliQSignificanceCriteria().tags:
            raise InputError(
                f"{self.title}: Expected a model with `architecture: evidence`, a calibration and the criteria "
                "radcliq-significance, which locates its errors."
            )
        self.counter = counter
        self.device, self.precision = counter.device, counter.precision

    @abstractmethod
    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """Return score, counts and explanation of an answer."""

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32", "bf16"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
    ) -> Self:
        """Load a saved evaluator, or one with the shipped reward model. For the arguments, see `RewardModelScorer`.

        Raises:
            InputError: If a file is missing or invalid.
        """
        if folder is not None:
            read_config(Path(folder, cls.config_name), (), files=[_COUNTER])
            folder = Path(folder, _COUNTER)
        counter = RewardModelScorer.from_pretrained(
            folder or EMBEDDED_DIR, precision, on_too_long, device, allow_download
        )
        return cls(counter)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`. Weights are saved in full precision."""
        with atomic_folder(folder, {self.config_name}, self.config_name) as scratch:
            self.counter.save_pretrained(scratch / _COUNTER)
            write_model_settings(scratch / self.config_name, {}, [_COUNTER])

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        return fingerprint(type(self).__name__, _REASONS, self.counter.fingerprint())

    def write_answer(self, statements: Sequence[StatementEvidence], expected: Mapping[str, float]) -> str:
        """Return the answer about the statements of a pair of reports with these expected errors by criterion."""
        return self.template.render_answer(analyze_statements(statements, expected, self.criteria), self.criteria)

    def mark_findings(self, evidence: Explanation, texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return list(mark_explanation(evidence))

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        scores = self.counter.score(references, candidates)
        parsed = [
            self._parse(statements, dict(zip(scores.count_names or (), counts, strict=True)), status)
            for statements, counts, status in zip(
                scores.evidence or (), _rows(scores.error_counts), scores.status, strict=True
            )
        ]
        return parsed_scores(parsed, self.criteria, self.has_quality)

    def _parse(self, statements: Any, expected: Mapping[str, float], status: str) -> ParsedScore:
        """Return the score of a pair, with the reward model's status. A pair that is too long has no score."""
        if statements is None:
            return ParsedScore(math.nan, [math.nan] * len(self.criteria), status, None)
        answer = GeneratedAnswer(self.write_answer(statements, expected), "stop", None, False)
        return self.parse_answer(answer)._replace(status=status)


class ExplainedRadReason(ExplainedCounts):
    """Counts of RadCliQ's six kinds of errors with reasons; the total is -Σ counts, 0 at best.

    >>> scores = ExplainedRadReason.from_pretrained().score(["Small left effusion."], ["Small left effusion."])
    >>> scores.total.item(), scores.evidence[0].errors
    (0.0, {})
    """

    config_name = "radreason_counter.json"
    title = "RadReason (evidence of a reward model)"
    criteria = RadCliQCriteria()
    total_range = (None, criteria.max_total)
    template = RadReasonTemplate()

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `ExplainedCounts.parse_answer`."""
        return parse_radreason_score(answer, self.template, self.criteria)


class ExplainedGreen(ExplainedCounts):
    """GREEN (Eq. 1) of the errors that a reward model finds, and of the statements that match without an error.

    >>> ExplainedGreen.from_pretrained().score(["Large pneumothorax."], ["Large pneumothorax."]).total.item()
    1.0
    """

    config_name = "green_counter.json"
    title = "GREEN (evidence of a reward model)"
    criteria = RadCliQSignificanceCriteria()
    total_range = (0.0, 1.0)
    has_quality = True
    template = GreenTemplate()

    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """See `ExplainedCounts.parse_answer`."""
        return parse_green_score(answer, self.template, self.criteria)


def analyze_statements(
    statements: Sequence[StatementEvidence], expected: Mapping[str, float], criteria: Criteria
) -> ErrorAnalysis:
    """Return whole numbers of errors with reasons, and the statements that match.

    `expected` has the errors by criterion with significance. `criteria` are the criteria of RadCliQ, with or without
    significance.
    """
    errors = allot_errors(statements, round(sum(expected.values())))
    texts: dict[str, list[str]] = {tag: [] for tag in criteria.tags}
    for tag, candidate, reference in errors:
        kind = tag.split("_", 1)[1]
        reason = _REASONS[kind].format(candidate=candidate, reference=reference)
        texts[tag if tag in texts else kind].append(reason)
    wrong = {text for _, *pair in errors for text in pair}
    counterparts = {entry.text: entry.counterpart for entry in statements if entry.side == "candidate"}
    matched = tuple(
        entry.text
        for entry in statements
        if entry.side == "reference"
        and counterparts.get(entry.counterpart) == entry.text
        and not {entry.text, entry.counterpart} & wrong
    )
    return ErrorAnalysis(
        tuple(float(len(texts[tag])) for tag in criteria.tags),
        f"Expected errors: {sum(expected.values()):.1f}.",
        tuple(map(tuple, texts.values())),
        matched,
    )


def allot_errors(statements: Sequence[StatementEvidence], count: int) -> list[_CountedError]:
    """Return `count` errors. Each is the criterion and the pair of statements with the most remaining evidence.

    An error subtracts 1 from the evidence of its criterion and statements.

    >>> statement = StatementEvidence("candidate", "Edema.", 0, 6, {"significant_false_prediction": 0.9}, "Clear.")
    >>> allot_errors([statement], 1)
    [('significant_false_prediction', 'Edema.', 'Clear.')]
    """
    left: dict[_CountedError, float] = {}
    for error, value in _errors_with_evidence(statements):
        left[error] = left.get(error, 0.0) + value
    chosen = []
    for _ in range(count if left else 0):
        error = max(left, key=lambda key: left[key])
        chosen.append(error)
        left[error] -= 1
    return chosen


def _errors_with_evidence(statements: Sequence[StatementEvidence]) -> Iterator[tuple[_CountedError, float]]:
    """Yield the evidence of each criterion with the statements of candidate and reference in which it shows."""
    for entry in statements:
        pair = (entry.text, entry.counterpart) if entry.side == "candidate" else (entry.counterpart, entry.text)
        for tag, value in entry.errors.items():
            yield (tag, *pair), value


def _rows(values: Any) -> list[list[float]]:
    return [] if values is None else values.tolist()
