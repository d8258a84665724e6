"""Large language models as metrics: error counts by criteria, or line-by-line corrections."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from radreward.criteria import Criteria, load_criteria
from radreward.io.artifacts import fingerprint
from radreward.llm import ChatModel, LocalChatModel, OpenAIChatModel
from radreward.llm.messages import ChatRequest, ChatResponse, Message
from radreward.prompts.parsing import MAX_CHARACTERS
from radreward.scorers.generative import ParsedScore, parsed_scores
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Scores

_SEVERITY_SCALE = (
    "no error",
    "no effect on care",
    "some effect on care",
    "would change care",
    "would harm the patient",
)
"""Meanings of the severities 0 to 4."""
MAX_TOKENS = 2048


class LLMJudge(StatelessScorer):
    """A scorer that sends one request per pair to a chat model and parses the response.

    A pair with an unparsable response has no score and a status with the reason. Reports are sent to another machine
    only with `allow_remote`, which is never saved: pass it each time.

    Args:
        model: Local folder or Hub name of a language model; if empty, the server named by environment variables (see
            `OpenAIChatModel`).
        allow_remote: Allow a server that is not this machine.
        device: Device of a local model.
        allow_download: Download a local model from the Hub if needed.
        chat_model: Chat model to use instead of all of the above.

    Raises:
        InputError: If the model cannot be loaded, or the `openai` package is needed and not installed.
    """

    setting_names = ("model",)
    chunk_size = 32  # two requests per connection of `OpenAIChatModel`

    def __init__(
        self,
        model: str = "",
        allow_remote: bool = False,
        device: str = "auto",
        allow_download: bool = False,
        chat_model: ChatModel | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.chat_model = chat_model or _make_chat_model(model, allow_remote, device, allow_download)

    @abstractmethod
    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """Return the system message and the user message of a pair."""

    @abstractmethod
    def parse_response(self, text: str, candidate: str) -> ParsedScore:
        """Parse the response of one pair. Never raises."""

    def code_version(self) -> str:
        """See `StatelessScorer.code_version`. The version includes a hash of the model's id."""
        return f"{super().code_version()} {fingerprint(self.chat_model.model_id)}"

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        requests = []
        for pair in zip(references, candidates, strict=True):
            system, user = self.build_prompt(*pair)
            messages = (Message("system", system), Message("user", user))
            requests.append(ChatRequest(messages, temperature=0.0, max_tokens=MAX_TOKENS))
        responses = self.chat_model.complete(requests)
        rows = [self._score_response(response, text) for response, text in zip(responses, candidates, strict=True)]
        return parsed_scores(rows, self.criteria)

    def _score_response(self, response: ChatResponse, candidate: str) -> ParsedScore:
        if response.status != STATUS_OK:
            return self._unscored(f"no answer: {response.status}", None)
        return self.parse_response(response.text, candidate)

    def _unscored(self, status: str, evidence: Any) -> ParsedScore:
        return ParsedScore(math.nan, [math.nan] * len(self.criteria or ()), status, evidence)


class ErrorCountJudge(LLMJudge):
    """Error counts by criteria with reasoning, after G-Rad and CheXprompt.

    total = max_total - Σ_j errors_j · weight_j, error counts (n, N), sub-scores = -errors_j · weight_j (n, N);
    the evidence is the model's reasoning. The prompt is built from the criteria and is not the published one: `radcliq`
    has the six error types of G-Rad, `radcliq-significance` has each as significant and insignificant, as CheXprompt.

    Args:
        criteria: A preset's name, the path of a YAML file, or the result of `Criteria.to_dict`; for other arguments see
            `LLMJudge`.

    Raises:
        CriteriaError: If the criteria are invalid.
        InputError: Like `LLMJudge`.
    """

    config_name = "error_count_judge.json"

    def __init__(
        self,
        criteria: str | dict[str, Any] = "radcliq-significance",
        model: str = "",
        allow_remote: bool = False,
        device: str = "auto",
        allow_download: bool = False,
        chat_model: ChatModel | None = None,
    ) -> None:
        self._criteria = load_criteria(criteria) if isinstance(criteria, str) else Criteria.from_dict(criteria)
        self.criteria, self.title = self._criteria, f"LLM judge ({self._criteria.name})"
        self.total_range = (None, self._criteria.max_total)
        self._template = RadReasonTemplate()
        super().__init__(model, allow_remote, device, allow_download, chat_model)

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {**super().settings(), "criteria": self._criteria.to_dict()}

    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `LLMJudge.build_prompt`."""
        segments = self._template.render(reference, candidate, self._criteria)
        return segments.instruction, segments.reference + segments.candidate

    def parse_response(self, text: str, candidate: str) -> ParsedScore:
        """See `LLMJudge.parse_response`. Every criterion needs a number."""
        parsed = self._template.parse(text, self._criteria)
        evidence = {"reasoning": parsed.reasoning, "format_error": parsed.format_error}
        counts = [value for value in parsed.values if value is not None]
        if len(counts) < len(self._criteria):
            errors = zip(self._criteria.tags, parsed.parse_errors, strict=True)
            tag, error = next((tag, error) for tag, error in errors if error)
            return self._unscored(f"no judgement: {tag}: {error}", evidence)
        total = self._criteria.max_total - self._criteria.weighted_errors(
            dict(zip(self._criteria.tags, counts, strict=True))
        )
        return ParsedScore(total, counts, STATUS_OK, evidence)


_CORRECTION = re.compile(r"\s*(\d{1,4}|new)\s*\|(.*)\|\s*([0-4])\s*", re.ASCII)


class LineEditJudge(LLMJudge):
    """Line-by-line corrections of the candidate with severities, after FineRadScore; 0 is best.

    total = -Σ severity, each from 0 (no error) to 4. The evidence lists the corrections: the line of the candidate, or
    "new" for an omission, the correct text and the severity.
    """

    config_name = "line_edit_judge.json"
    title = "LLM judge (line edits)"
    total_range = (None, 0.0)

    def build_prompt(self, reference: str, candidate: str) -> tuple[str, str]:
        """See `LLMJudge.build_prompt`."""
        grades = "\n".join(f"{grade}: {meaning}" for grade, meaning in enumerate(_SEVERITY_SCALE))
        lines = "\n".join(f"{number}: {text}" for number, text in enumerate(split_sentences(candidate), 1))
        return (
            "You revise a candidate report of a chest radiograph so that it says what its reference says. Answer with "
            "one row for each line that has to change and for each statement that is missing, and with nothing else:\n"
            "<number of the line, or new> | <what it should say, empty to delete it> | <severity of the error>\n"
            "Other words for the same thing are no error. If nothing has to change, answer with the word none. "
            f"Severity:\n{grades}",
            f"Reference:\n{reference}\n\nCandidate, line by line:\n{lines}",
        )

    def parse_response(self, text: str, candidate: str) -> ParsedScore:
        """See `LLMJudge.parse_response`. Every row must have the requested format."""
        if len(text) > MAX_CHARACTERS:
            return self._unscored(f"no judgement: too long: {len(text)} characters", None)
        rows = [row for row in text.splitlines() if row.strip()]
        if [row.strip(" .").lower() for row in rows] == ["none"]:
            return ParsedScore(0.0, [], STATUS_OK, [])
        matches = [_CORRECTION.fullmatch(row) for row in rows]
        if not rows or None in matches:
            reason = "empty" if not rows else f"not a row: {rows[matches.index(None)][:40]!r}"
            return self._unscored(f"no judgement: {reason}", None)
        num_lines = len(split_sentences(candidate))
        evidence = [{"line": m[1], "correction": m[2].strip(), "severity": int(m[3])} for m in matches if m]
        for correction in evidence:
            if correction["line"] != "new" and not 1 <= int(str(correction["line"])) <= num_lines:
                return self._unscored(f"no judgement: no such line: {correction['line']}", evidence)
        return ParsedScore(-float(sum(int(m[3]) for m in matches if m)), [], STATUS_OK, evidence)


def _make_chat_model(model: str, allow_remote: bool, device: str, allow_download: bool) -> ChatModel:
    if model:
        return LocalChatModel(model, device=device, local_files_only=not allow_download)
    return OpenAIChatModel(allow_remote=allow_remote)
