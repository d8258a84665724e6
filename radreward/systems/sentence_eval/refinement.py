"""Reports corrected by what a judge of sentences says of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from radreward.llm import ChatModel
from radreward.systems.sentence_eval.judges.base import round_to_score
from radreward.systems.sentence_eval.refinement_prompt import parse_refined_report, refinement_messages
from radreward.types import ChatRequest, SentenceJudgement, SentenceScore


class Correction(NamedTuple):
    """What is to be changed in a candidate."""

    action: Literal["drop", "add"]
    sentence: str
    judged_score: float
    """By which it is judged: -1 for a contradiction, 0 for what has no counterpart."""


class RefinedReport(NamedTuple):
    """A corrected report."""

    text: str
    """Empty where there is none."""
    corrections: tuple[Correction, ...]
    """What was changed, where rules did it."""
    status: str
    """"ok", "unchanged" where there was nothing to correct, or why there is no report."""


class ReportRefiner(ABC):
    """Corrects candidates; one abstract method."""

    @abstractmethod
    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """Corrected reports in the order and length of the input, all given as sentences.

        Called with judgements that have a score at least, or an explanation.
        """


class RuleRefiner(ReportRefiner):
    """Applies the corrections that a judge's scores list, without a language model.

    A sentence of the candidate that is judged a contradiction or without a counterpart is dropped; one of the reference
    that is contradicted or left out is added, behind the sentences that meet what stands before it in the reference.
    What is met, wholly or in part, stays, and so does what has no score. Scores between the categories, which are
    averages of repetitions, count as the nearest.

    The corrections are quoted from the reference, so this measures the judge: where its scores are right, every other
    metric must rise.

    >>> dropped, added, met = SentenceScore(-1.0, (0,)), SentenceScore(-1.0, (0,)), SentenceScore(1.0, (1,))
    >>> judgement = SentenceJudgement((added, met), (dropped, met), 2.0, "", {}, "ok")
    >>> [revision] = RuleReviser().revise([["No edema.", "Clear."]], [["Edema.", "Clear."]], [judgement])
    >>> revision.text, [correction.action for correction in revision.corrections]
    ('No edema. Clear.', ['drop', 'add'])
    """

    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """See `ReportRefiner.revise`."""
        return [_apply_corrections(*entry) for entry in zip(references, candidates, judgements, strict=True)]


def _apply_corrections(
    reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement
) -> RefinedReport:
    wrong = [place for place, score in enumerate(judgement.candidate_scores) if _is_wrong(score)]
    placed = {(place, -1): text for place, text in enumerate(candidate) if place not in wrong}
    corrections = [
        Correction("drop", candidate[place], _rounded_score(judgement.candidate_scores[place])) for place in wrong
    ]
    behind = -1
    for place, (text, score) in enumerate(zip(reference, judgement.reference_scores, strict=True)):
        if _is_wrong(score):
            placed[behind, place] = text
            corrections.append(Correction("add", text, _rounded_score(score)))
        elif score is not None:
            behind = max((match for match in score.matches if match not in wrong), default=behind)
    text = " ".join(_with_full_stop(placed[key]) for key in sorted(placed)) if corrections else " ".join(candidate)
    status = "ok" if corrections else "unchanged"
    return RefinedReport(text, tuple(corrections), status if text.strip() else "not revised: nothing would be left")


def _rounded_score(score: SentenceScore | None) -> float:
    return 1.0 if score is None else round_to_score(score.score)


def _is_wrong(score: SentenceScore | None) -> bool:
    return _rounded_score(score) <= 0


def _with_full_stop(sentence: str) -> str:
    """With a stop, so that the next sentence is another."""
    return sentence if sentence.endswith((".", "!", "?", ":")) else f"{sentence}."


class ChatRefiner(ReportRefiner):
    """Lets a chat model work the judge's explanation into the candidate; it does not see the reference.

    Args:
        model: Who is asked.
        max_tokens: The longest report.
    """

    def __init__(self, model: ChatModel, max_tokens: int = 2048) -> None:
        self.model, self.max_tokens = model, max_tokens

    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """See `ReportRefiner.revise`."""
        texts = [" ".join(sentences) for sentences in candidates]
        said = [place for place, judgement in enumerate(judgements) if judgement.explanation.strip()]
        answers = self.model.complete(
            [
                ChatRequest(
                    refinement_messages(texts[place], judgements[place].explanation), max_tokens=self.max_tokens
                )
                for place in said
            ]
        )
        found = dict(zip(said, answers, strict=True))
        revisions = []
        for place, text in enumerate(texts):
            if place not in found:
                revisions.append(RefinedReport("", (), "not revised: no explanation"))
                continue
            answer = found[place]
            report, problem = parse_refined_report(answer.text) if answer.status == "ok" else ("", answer.status)
            if problem is None and answer.finish_reason == "length":
                report, problem = "", "cut off"
            status = f"not revised: {problem}" if problem else "unchanged" if report == text else "ok"
            revisions.append(RefinedReport(report, (), status))
        return revisions
