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
from radreward.llm import ChatModel, LocalChatModel, OpenAIChatModel
from radreward.prompts.parsing import MAX_CHARACTERS
from radreward.scorers.base import STATUS_OK
from radreward.scorers.stateless import StatelessScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.text.sentence_splitter import split_sentences
from radreward.types import ChatRequest, ChatResponse, Message, Scores

SEVERITY_SCALE = ("no error", "no effect on care", "some effect on care", "would change care", "would harm the patient")
"""What the numbers 0 to 4 of a correction mean."""
MAX_TOKENS = 2048


class _JudgedPair(NamedTuple):
    total: float
    error_counts: tuple[float, ...]
    status: str
    evidence: Any


class LLMJudge(StatelessScorer):
    """Asks a chat model about each pair, once, and reads its answer; what cannot be read has no score, never a guess.

    Reports leave this machine only where `send_reports` says so; it is never saved, and has to be said each time.

    Args:
        model: A local folder or hub name of a language model; where none is given, the server that the environment
            names (see `OpenAIChatModel`).
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
        allow_remote: bool = False,
        device: str = "cpu",
        allow_download: bool = False,
        chat_model: ChatModel | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.chat_model = chat_model or _make_chat_model(model, allow_remote, device, allow_download)

    @abstractmethod
    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """What the model is told beforehand, and what it is asked; called for each pair."""

    @abstractmethod
    def parse_response(self, text: str, candidate: str) -> _JudgedPair:
        """The answer of one pair. Never raises."""

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"model": self.model}

    def code_version(self) -> str:
        """See `StatelessScorer.code`; who answers is hashed."""
        return f"{super().code_version()} {hashlib.sha256(self.chat_model.model_id.encode()).hexdigest()}"

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        return self._score_valid(references, candidates).total.tolist()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        requests = []
        for pair in zip(references, candidates, strict=True):
            system, user = self.build_prompt(*pair)
            turns = (Message("system", system), Message("user", user))
            requests.append(ChatRequest(turns, temperature=0.0, max_tokens=MAX_TOKENS))
        answers = self.chat_model.complete(requests)
        judged = [self._score_response(answer, text) for answer, text in zip(answers, candidates, strict=True)]
        total = torch.tensor([one.total for one in judged], dtype=torch.float32)
        status = tuple(one.status for one in judged)
        evidence = tuple(one.evidence for one in judged)
        if self.criteria is None:
            return Scores(total, None, None, status, evidence)
        counts = torch.tensor([one.error_counts for one in judged], dtype=torch.float32).view(-1, len(self.criteria))
        return Scores(total, self.criteria.quality(counts), counts, status, evidence)

    def _score_response(self, response: ChatResponse, candidate: str) -> _JudgedPair:
        if response.status != STATUS_OK:
            return self._unscored(f"no answer: {response.status}", None)
        return self.parse_response(response.text, candidate)

    def _unscored(self, status: str, evidence: Any) -> _JudgedPair:
        return _JudgedPair(math.nan, (math.nan,) * len(self.criteria or ()), status, evidence)


class ErrorCountJudge(LLMJudge):
    """Counts the errors of each criterion, with reasons, as G-Rad and CheXprompt ask for them.

    total = offset - Σ_j errors_j · weight_j, counts = errors (n, N), sub = quality (n, N); the evidence is what the
    model says for its numbers. The question is made of the criteria, in our own words: `radcliq` has the six kinds of
    errors of G-Rad, `radcliq-significance` the same twice, significant or not, as CheXprompt.

    Args:
        criteria: A preset, a YAML file, or criteria as `Criteria.to_dict` has them.
        model: See `LLMJudge`.
        send_reports: See `LLMJudge`.
        device: See `LLMJudge`.
        download: See `LLMJudge`.
        chat: See `LLMJudge`.

    Raises:
        CriteriaError: If the criteria cannot be used.
        InputError: As of `LLMJudge`.
    """

    config_name = "error_judge.json"

    def __init__(
        self,
        criteria: str | dict[str, Any] = "radcliq-significance",
        model: str = "",
        allow_remote: bool = False,
        device: str = "cpu",
        allow_download: bool = False,
        chat_model: ChatModel | None = None,
    ) -> None:
        known = load_criteria(criteria) if isinstance(criteria, str) else Criteria.from_dict(criteria)
        self.criteria, self.title = known, f"Chat judge ({known.name})"
        self.total_range = (None, known.max_total)
        self._criteria, self._template = known, RadReasonTemplate()
        super().__init__(model, allow_remote, device, allow_download, chat_model)

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {**super().settings(), "criteria": self._criteria.to_dict()}

    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `LLMJudge.question`."""
        pieces = self._template.render(reference, candidate, self._criteria)
        return pieces.instruction, pieces.reference + pieces.candidate

    def parse_response(self, text: str, candidate: str) -> _JudgedPair:
        """See `LLMJudge.read`: every criterion needs its number."""
        parsed = self._template.parse(text, self._criteria)
        evidence = {"reasoning": parsed.reasoning, "problem": parsed.format_error}
        counts = [value for value in parsed.values if value is not None]
        if len(counts) < len(self._criteria):
            tag, reason = next(
                (tag, reason) for tag, reason in zip(self._criteria.tags, parsed.parse_errors, strict=True) if reason
            )
            return self._unscored(f"no judgement: {tag}: {reason}", evidence)
        errors = dict(zip(self._criteria.tags, counts, strict=True))
        return _JudgedPair(
            self._criteria.max_total - self._criteria.weighted_errors(errors), tuple(counts), STATUS_OK, evidence
        )


_LINE = re.compile(r"\s*(\d{1,4}|new)\s*\|(.*)\|\s*([0-4])\s*", re.ASCII)


class LineEditJudge(LLMJudge):
    """Corrects the candidate line by line and grades each correction, as FineRadScore does; 0 is best.

    total = - Σ severity, from 0, no error, to 4 each. The evidence is the corrections: the line of the candidate, or
    new for what it leaves out, what it should say, and the severity.
    """

    config_name = "line_judge.json"
    title = "Chat judge (lines)"
    total_range = (None, 0.0)

    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `LLMJudge.question`."""
        grades = "\n".join(f"{grade}: {meaning}" for grade, meaning in enumerate(SEVERITY_SCALE))
        lines = "\n".join(f"{number}: {text}" for number, text in enumerate(split_sentences(candidate), 1))
        return (
            "You revise a candidate report of a chest radiograph so that it says what its reference says. Answer with "
            "one row for each line that has to change and for each statement that is missing, and with nothing else:\n"
            "<number of the line, or new> | <what it should say, empty to delete it> | <severity of the error>\n"
            "Other words for the same thing are no error. If nothing has to change, answer with the word none. "
            f"Severity:\n{grades}",
            f"Reference:\n{reference}\n\nCandidate, line by line:\n{lines}",
        )

    def parse_response(self, text: str, candidate: str) -> _JudgedPair:
        """See `LLMJudge.read`: every row has to be of the form that was asked for."""
        if len(text) > MAX_CHARACTERS:
            return self._unscored(f"no judgement: too long: {len(text)} characters", None)
        rows = [row for row in text.splitlines() if row.strip()]
        if [row.strip(" .").lower() for row in rows] == ["none"]:
            return _JudgedPair(0.0, (), STATUS_OK, [])
        found = [_LINE.fullmatch(row) for row in rows]
        if not rows or None in found:
            what = "empty" if not rows else f"not a row: {rows[found.index(None)][:40]!r}"
            return self._unscored(f"no judgement: {what}", None)
        last = len(split_sentences(candidate))
        evidence = [{"line": m[1], "correction": m[2].strip(), "severity": int(m[3])} for m in found if m]
        if wrong := [one for one in evidence if one["line"] != "new" and not 1 <= int(str(one["line"])) <= last]:
            return self._unscored(f"no judgement: no such line: {wrong[0]['line']}", evidence)
        return _JudgedPair(-float(sum(int(one["severity"]) for one in evidence)), (), STATUS_OK, evidence)


def _make_chat_model(model: str, allow_remote: bool, device: str, allow_download: bool) -> ChatModel:
    if model:
        return LocalChatModel(model, device=device, local_files_only=not allow_download)
    return OpenAIChatModel(allow_remote=allow_remote)
