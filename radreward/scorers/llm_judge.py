"""A chat model as the metric: it counts errors by criteria, or corrects the candidate line by line."""

from __future__ import annotations

import hashlib
import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from radreward.criteria import Criteria, load_criteria
from radreward.llm import ChatModel, LocalChat, ServerChat
from radreward.prompts.parsing import LONGEST
from radreward.scorers.base import OK
from radreward.scorers.stateless import PlainScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.text.sentence_splitter import split_sentences
from radreward.types import ChatAnswer, ChatRequest, Message, Scores

SEVERITIES = ("no error", "no effect on care", "some effect on care", "would change care", "would harm the patient")
"""What the numbers 0 to 4 of a correction mean."""
MOST_TOKENS = 2048


class _Judged(NamedTuple):
    total: float
    counts: tuple[float, ...]
    status: str
    evidence: Any


class ChatScorer(PlainScorer):
    """Asks a chat model about each pair, once, and reads its answer; what cannot be read has no score, never a guess.

    Reports leave this machine only where `send_reports` says so; it is never saved, and has to be said each time.

    Args:
        model: A local folder or hub name of a language model; where none is given, the server that the environment
            names (see `ServerChat`).
        send_reports: Allow a server that is not this machine.
        device: Where a local model runs.
        download: Whether a local model may be fetched from the hub.
        chat: Who is asked, in place of all these.

    Raises:
        InputError: If there is no such model, or the `openai` package that a server needs is not there.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        model: str = "",
        send_reports: bool = False,
        device: str = "cpu",
        download: bool = False,
        chat: ChatModel | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.chat = chat or _chat(model, send_reports, device, download)

    @abstractmethod
    def question(self, reference: str, candidate: str) -> tuple[str, str]:
        """What the model is told beforehand, and what it is asked; called for each pair."""

    @abstractmethod
    def read(self, text: str, candidate: str) -> _Judged:
        """The answer of one pair. Never raises."""

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {"model": self.model}

    def code(self) -> str:
        """See `PlainScorer.code`; who answers is hashed."""
        return f"{super().code()} {hashlib.sha256(self.chat.identity.encode()).hexdigest()}"

    def values(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `PlainScorer.values`."""
        return self.score_texts(references, candidates).total.tolist()

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        requests = []
        for pair in zip(references, candidates, strict=True):
            system, user = self.question(*pair)
            turns = (Message("system", system), Message("user", user))
            requests.append(ChatRequest(turns, temperature=0.0, max_tokens=MOST_TOKENS))
        answers = self.chat.complete(requests)
        judged = [self._judged(answer, text) for answer, text in zip(answers, candidates, strict=True)]
        total = torch.tensor([one.total for one in judged], dtype=torch.float32)
        status = tuple(one.status for one in judged)
        evidence = tuple(one.evidence for one in judged)
        if self.criteria is None:
            return Scores(total, None, None, status, evidence)
        counts = torch.tensor([one.counts for one in judged], dtype=torch.float32).view(-1, len(self.criteria))
        return Scores(total, self.criteria.quality(counts), counts, status, evidence)

    def _judged(self, answer: ChatAnswer, candidate: str) -> _Judged:
        if answer.status != OK:
            return self._none(f"no answer: {answer.status}", None)
        return self.read(answer.text, candidate)

    def _none(self, status: str, evidence: Any) -> _Judged:
        return _Judged(math.nan, (math.nan,) * len(self.criteria or ()), status, evidence)


class ErrorJudge(ChatScorer):
    """Counts the errors of each criterion, with reasons, as G-Rad and CheXprompt ask for them.

    total = offset - Σ_j errors_j · weight_j, counts = errors (n, N), sub = quality (n, N); the evidence is what the
    model says for its numbers. The question is made of the criteria, in our own words: `radcliq` has the six kinds of
    errors of G-Rad, `radcliq-significance` the same twice, significant or not, as CheXprompt.

    Args:
        criteria: A preset, a YAML file, or criteria as `Criteria.to_dict` has them.
        model: See `ChatScorer`.
        send_reports: See `ChatScorer`.
        device: See `ChatScorer`.
        download: See `ChatScorer`.
        chat: See `ChatScorer`.

    Raises:
        CriteriaError: If the criteria cannot be used.
        InputError: As of `ChatScorer`.
    """

    file = "error_judge.json"

    def __init__(
        self,
        criteria: str | dict[str, Any] = "radcliq-significance",
        model: str = "",
        send_reports: bool = False,
        device: str = "cpu",
        download: bool = False,
        chat: ChatModel | None = None,
    ) -> None:
        known = load_criteria(criteria) if isinstance(criteria, str) else Criteria.from_dict(criteria)
        self.criteria, self.title = known, f"Chat judge ({known.name})"
        self.range = (None, known.offset)
        self._known, self._template = known, RadReasonTemplate()
        super().__init__(model, send_reports, device, download, chat)

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {**super().settings(), "criteria": self._known.to_dict()}

    def question(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `ChatScorer.question`."""
        pieces = self._template.render(reference, candidate, self._known)
        return pieces.instruction, pieces.reference + pieces.candidate

    def read(self, text: str, candidate: str) -> _Judged:
        """See `ChatScorer.read`: every criterion needs its number."""
        parsed = self._template.parse(text, self._known)
        evidence = {"reasoning": parsed.reasoning, "problem": parsed.problem}
        counts = [value for value in parsed.values if value is not None]
        if len(counts) < len(self._known):
            tag, reason = next(
                (tag, reason) for tag, reason in zip(self._known.tags, parsed.reasons, strict=True) if reason
            )
            return self._none(f"no judgement: {tag}: {reason}", evidence)
        errors = dict(zip(self._known.tags, counts, strict=True))
        return _Judged(self._known.offset - self._known.penalty(errors), tuple(counts), OK, evidence)


_LINE = re.compile(r"\s*(\d{1,4}|new)\s*\|(.*)\|\s*([0-4])\s*", re.ASCII)


class LineJudge(ChatScorer):
    """Corrects the candidate line by line and grades each correction, as FineRadScore does; 0 is best.

    total = - Σ severity, from 0, no error, to 4 each. The evidence is the corrections: the line of the candidate, or
    new for what it leaves out, what it should say, and the severity.
    """

    file = "line_judge.json"
    title = "Chat judge (lines)"
    range = (None, 0.0)

    def question(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `ChatScorer.question`."""
        grades = "\n".join(f"{grade}: {meaning}" for grade, meaning in enumerate(SEVERITIES))
        lines = "\n".join(f"{number}: {text}" for number, text in enumerate(split_sentences(candidate), 1))
        return (
            "You revise a candidate report of a chest radiograph so that it says what its reference says. Answer with "
            "one row for each line that has to change and for each statement that is missing, and with nothing else:\n"
            "<number of the line, or new> | <what it should say, empty to delete it> | <severity of the error>\n"
            "Other words for the same thing are no error. If nothing has to change, answer with the word none. "
            f"Severity:\n{grades}",
            f"Reference:\n{reference}\n\nCandidate, line by line:\n{lines}",
        )

    def read(self, text: str, candidate: str) -> _Judged:
        """See `ChatScorer.read`: every row has to be of the form that was asked for."""
        if len(text) > LONGEST:
            return self._none(f"no judgement: too long: {len(text)} characters", None)
        rows = [row for row in text.splitlines() if row.strip()]
        if [row.strip(" .").lower() for row in rows] == ["none"]:
            return _Judged(0.0, (), OK, [])
        found = [_LINE.fullmatch(row) for row in rows]
        if not rows or None in found:
            what = "empty" if not rows else f"not a row: {rows[found.index(None)][:40]!r}"
            return self._none(f"no judgement: {what}", None)
        last = len(split_sentences(candidate))
        evidence = [{"line": m[1], "correction": m[2].strip(), "severity": int(m[3])} for m in found if m]
        if wrong := [one for one in evidence if one["line"] != "new" and not 1 <= int(str(one["line"])) <= last]:
            return self._none(f"no judgement: no such line: {wrong[0]['line']}", evidence)
        return _Judged(-float(sum(int(one["severity"]) for one in evidence)), (), OK, evidence)


def _chat(model: str, send_reports: bool, device: str, download: bool) -> ChatModel:
    if model:
        return LocalChat(model, device=device, local_files_only=not download)
    return ServerChat(send_reports=send_reports)
