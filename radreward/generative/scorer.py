"""Models that judge in text as scorers: GREEN and RadReason. Every score has its reasons as evidence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import torch

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.generative.evaluator import TEMPLATES, GeneratedAnswer, GenerativeEvaluator, load_generative_evaluator
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.scorers.base import STATUS_OK, STATUS_TRUNCATED, Scorer
from radreward.types import Explanation as Explanation
from radreward.types import Scores

UNPARSABLE_ANSWER = "unreadable answer"


class GenerativeScorer(Scorer):
    """Asks a model about each pair of reports, and reads counts and score from its answer.

    sub = the quality of each criterion, -count · weight (n, N); counts (n, N); the evidence of a row is an
    `Explanation`. A row whose answer has no score to read has NaN and a status that says why: never a guess. Equal
    pairs are asked once, candidates of one reference beside one another, by the likeliest token each time.

    Args:
        explainer: The model and how it is asked.
        too_long: Reject prompts over the limit with a status, or cut both reports, with the status "truncated".
        batch_size: Most answers that are decoded together.

    Raises:
        ValueError: If `too_long` is unknown.
        InputError: If the model answers in another layout.
    """

    template_class: type[GenerativeTemplate]
    returns_explanations = True

    def __init__(
        self,
        evaluator: GenerativeEvaluator,
        on_too_long: Literal["reject", "truncate"] = "reject",
        batch_size: int = 64,
    ) -> None:
        if on_too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {on_too_long!r}.")
        if not isinstance(evaluator.template, self.template_class):
            given = type(evaluator.template).__name__
            raise InputError(
                f"{self.title}: Expected a model that answers by {self.template_class.__name__} but got {given}."
            )
        self.evaluator, self.on_too_long, self.batch_size = evaluator, on_too_long, batch_size
        self.judged: Criteria = evaluator.prompt_encoder.criteria
        self.criteria = self.judged

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None,
        precision: Literal["fp32", "int8"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
        model: str | None = None,
        batch_size: int = 64,
    ) -> Self:
        """The scorer of a saved model.

        Args:
            folder: Where it is; where `model` names it, None.
            precision: fp32 only.
            too_long: See the class.
            device: Where it shall run.
            download: Whether a backbone that is not on this machine may be fetched from the hub.
            model: The folder of a model or of a run, as of `green:FOLDER`.
            batch_size: See the class.

        Raises:
            InputError: If there is no such model, or another precision is asked for.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for a model that writes but got {precision}.")
        path = Path(folder or model or "").expanduser()
        inside = path / "model"
        found = inside if any((inside / name).is_file() for name in TEMPLATES) else path
        return cls(load_generative_evaluator(found, device, allow_download), on_too_long, batch_size)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; weights are written in full precision."""
        self.evaluator.save(folder)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        return f"{self.evaluator.fingerprint()} {self.on_too_long}"

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        cut = self.on_too_long == "truncate"
        answers = self.evaluator.generate(references, candidates, cut, self.batch_size)
        read = [self._skipped(answer) if answer.text is None else self.parse_answer(answer) for answer in answers]
        counts = torch.tensor([entry.counts for entry in read]).reshape(len(read), len(self.judged))
        status = [
            STATUS_TRUNCATED if entry.status == STATUS_OK and answer.truncated else entry.status
            for entry, answer in zip(read, answers, strict=True)
        ]
        return Scores(
            torch.tensor([entry.total for entry in read]),
            self.judged.quality(counts) + 0.0,  # -0 is 0
            counts,
            tuple(status),
            tuple(entry.evidence for entry in read),
        )

    def _skipped(self, answer: GeneratedAnswer) -> ParsedScore:
        return ParsedScore(torch.nan, [torch.nan] * len(self.judged), answer.skip_reason or "not asked", None)

    @abstractmethod
    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """Score, counts and evidence of an answer that there is."""


class ParsedScore(NamedTuple):
    """An answer as a row of scores."""

    total: float
    counts: list[float]
    status: str
    evidence: Explanation | None


def parsed_counts(values: Sequence[float | None]) -> list[float]:
    """Return the counts of an answer, NaN for those it does not give."""
    return [torch.nan if value is None else value for value in values]
