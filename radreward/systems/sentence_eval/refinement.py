"""Refinement of reports by the judgement of their sentences (Zhu et al., 2024, section III.C)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore, round_to_score
from radreward.systems.sentence_eval.refinement_prompt import parse_refined_report, refinement_messages


class Correction(NamedTuple):
    """Correction of a candidate."""

    action: Literal["drop", "add"]
    sentence: str
    judged_score: float
    """Score of the sentence: -1 for a contradiction, 0 for no counterpart."""


class RefinedReport(NamedTuple):
    """Refined candidate."""

    text: str
    """Empty if there is no refined report."""
    corrections: tuple[Correction, ...]
    """Corrections of a `RuleRefiner`."""
    status: str
    """"ok", "unchanged" without corrections, or the reason why there is no refined report."""


class ReportRefiner(ABC):
    """Corrects candidates by their judgements."""

    @abstractmethod
    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """Return the refined candidates in the order of the input. Reports are given as sentences.

        Every judgement has at least one sentence score, or an explanation.
        """


class RuleRefiner(ReportRefiner):
    """Refiner that applies the sentence scores, without a language model.

    It drops the sentences of the candidate with the score -1 or 0. It adds the sentences of the reference with such a
    score after the counterparts of the sentences before them. All other sentences stay. Means of repetitions are
    rounded to the closest score.

    The added sentences are quoted from the reference, so this tests the judge: if its scores are right, every other
    metric improves.

    >>> dropped, added, equal = SentenceScore(-1.0, (0,)), SentenceScore(-1.0, (0,)), SentenceScore(1.0, (1,))
    >>> judgement = SentenceJudgement((added, equal), (dropped, equal), 2.0, "", {}, "ok")
    >>> [refined] = RuleRefiner().refine([["No edema.", "Clear."]], [["Edema.", "Clear."]], [judgement])
    >>> refined.text, [correction.action for correction in refined.corrections]
    ('No edema. Clear.', ['drop', 'add'])
    """

    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """Return the corrected candidates, see `ReportRefiner.refine`."""
        return [_apply_corrections(*entry) for entry in zip(references, candidates, judgements, strict=True)]


def _apply_corrections(
    reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement
) -> RefinedReport:
    wrong = [index for index, score in enumerate(judgement.candidate_scores) if _is_wrong(score)]
    # Position of a sentence: index in the candidate, then index in the reference for sentences added after it.
    positions = {(index, -1): text for index, text in enumerate(candidate) if index not in wrong}
    corrections = [
        Correction("drop", candidate[index], _rounded_score(judgement.candidate_scores[index])) for index in wrong
    ]
    insert_after = -1
    for index, (text, score) in enumerate(zip(reference, judgement.reference_scores, strict=True)):
        if _is_wrong(score):
            positions[insert_after, index] = text
            corrections.append(Correction("add", text, _rounded_score(score)))
        elif score is not None:
            insert_after = max((match for match in score.matches if match not in wrong), default=insert_after)
    if not corrections:
        return RefinedReport(" ".join(candidate), (), "unchanged")
    text = " ".join(_with_full_stop(positions[key]) for key in sorted(positions))
    return RefinedReport(text, tuple(corrections), "ok" if text.strip() else "not refined: no sentence would be left")


def _rounded_score(score: SentenceScore | None) -> float:
    return 1.0 if score is None else round_to_score(score.score)


def _is_wrong(score: SentenceScore | None) -> bool:
    return _rounded_score(score) <= 0


def _with_full_stop(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", ":")) else f"{sentence}."


class ChatRefiner(ReportRefiner):
    """Refiner that lets a chat model revise the candidate by the judge's explanation, without the reference.

    Args:
        model: The chat model.
        max_tokens: Maximum number of tokens of a refined report.
    """

    def __init__(self, model: ChatModel, max_tokens: int = 2048) -> None:
        self.model, self.max_tokens = model, max_tokens

    def refine(
        self,
        references: Sequence[Sequence[str]],
        candidates: Sequence[Sequence[str]],
        judgements: Sequence[SentenceJudgement],
    ) -> list[RefinedReport]:
        """Return the refined candidates, see `ReportRefiner.refine`."""
        texts = [" ".join(sentences) for sentences in candidates]
        explained = [index for index, judgement in enumerate(judgements) if judgement.explanation.strip()]
        requests = [
            ChatRequest(refinement_messages(texts[index], judgements[index].explanation), max_tokens=self.max_tokens)
            for index in explained
        ]
        refined = [RefinedReport("", (), "not refined: no explanation")] * len(texts)
        for index, response in zip(explained, self.model.complete(requests), strict=True):
            report, failure = parse_refined_report(response.text) if response.status == "ok" else ("", response.status)
            if failure is None and response.finish_reason == "length":
                report, failure = "", "truncated"
            status = f"not refined: {failure}" if failure else "unchanged" if report == texts[index] else "ok"
            refined[index] = RefinedReport(report, (), status)
        return refined
