"""Tests of LLM judges: prompts, parsing of responses, and consent to send reports."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.llm_judge import ErrorCountJudge, LineEditJudge
from radreward.testing import ScorerConformance

TAGS = RadCliQCriteria().tags


class ScriptedChatModel(ChatModel):
    """A chat model whose response is a function of the user message."""

    model_id = "scripted"

    def __init__(self, respond: Callable[[str], str]) -> None:
        super().__init__()
        self.respond = respond
        self.requests_sent: list[ChatRequest] = []

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            text = self.respond(request.messages[-1].content)
            status = "ok" if text != "gone" else "no answer after 6 attempts"
            on_response(index, ChatResponse(text, "stop", 1, 1, status))
            self.requests_sent.append(request)


def block(*counts: float, reasons: str = "Compared.") -> str:
    return f"<think>{reasons}</think>" + "".join(f"<{tag}>{n}</{tag}>" for tag, n in zip(TAGS, counts, strict=True))


def different_words(user_message: str) -> int:
    """Return the number of words that only one of the reports contains."""
    reference, candidate = re.split("candidate", user_message, maxsplit=1, flags=re.IGNORECASE)
    reference_words, candidate_words = (
        Counter(re.findall(r"[a-z]{3,}", text.lower())) for text in (reference, candidate)
    )
    return ((reference_words - candidate_words) + (candidate_words - reference_words)).total()


def test_error_count_judge_counts_by_criteria() -> None:
    chat = ScriptedChatModel(
        lambda user_message: (
            block(1, 0, 2, 0, 0, 0, reasons="Two missing.") if "edema" in user_message else block(*[0] * 6)
        )
    )
    scorer = ErrorCountJudge("radcliq", chat_model=chat)
    scores = scorer.score(["No edema.", "Clear.", ""], ["Edema.", "Clear.", "Clear."])
    assert scores.total.tolist()[:2] == [-3, 0]
    assert scores.error_counts is not None
    assert scores.error_counts[0].tolist() == [1, 0, 2, 0, 0, 0]
    assert scores.evidence is not None
    assert scores.evidence[0] == {"reasoning": "Two missing.", "format_error": None}
    assert scores.status == ("ok", "ok", "empty reference")
    assert len(chat.requests_sent) == 2
    system, user = chat.requests_sent[0].messages
    assert all(criterion.description in system.content for criterion in RadCliQCriteria().criteria)
    assert user.content.index("No edema.") < user.content.index("Edema.\n")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("gone", "no answer: no answer after 6 attempts"),
        ("I cannot.", "no judgement: "),
        (
            block(1, 0, 2, 0, 0, 0).replace("<false_prediction>1", "<false_prediction>one"),
            "no judgement: false_prediction: no",
        ),
    ],
)
def test_unparsable_answer_gives_no_score(answer: str, status: str) -> None:
    scores = ErrorCountJudge("radcliq", chat_model=ScriptedChatModel(lambda user_message: answer)).score(
        ["Clear."], ["Clear."]
    )
    assert scores.status[0].startswith(status)
    assert math.isnan(scores.total[0])
    assert scores.error_counts is not None
    assert scores.error_counts.isnan().all()


@pytest.mark.parametrize(
    ("answer", "total", "status"),
    [
        ("None.", 0, "ok"),
        ("1 | No effusion. | 3\nnew | Big heart. | 1\n", -4, "ok"),
        ("2 | | 4", -4, "ok"),
        ("3 | | 4", math.nan, "no judgement: no such line: 3"),
        ("1 | No effusion. | 7", math.nan, "no judgement: not a row: '1 | No effusion. | 7'"),
        ("Sure!\n1 | a | 2", math.nan, "no judgement: not a row: 'Sure!'"),
        ("", math.nan, "no judgement: empty"),
        ("gone", math.nan, "no answer: no answer after 6 attempts"),
        ("1" * 200_000, math.nan, "no judgement: too long: 200000 characters"),
    ],
)
def test_line_edit_judge_sums_severities(answer: str, total: float, status: str) -> None:
    chat = ScriptedChatModel(lambda user_message: answer)
    scores = LineEditJudge(chat_model=chat).score(["No effusion. Big heart."], ["Effusion. Clear lungs."])
    assert scores.status == (status,)
    assert scores.total.tolist() == pytest.approx([total], nan_ok=True)
    assert "1: Effusion.\n2: Clear lungs." in chat.requests_sent[0].messages[-1].content


@given(st.text(alphabet="12new| \nx٣", max_size=40))
def test_line_edit_judge_parses_any_answer(answer: str) -> None:
    result = LineEditJudge(chat_model=ScriptedChatModel(str)).parse_response(answer, "Effusion. Clear lungs.")
    assert math.isnan(result.total) == (result.status != "ok")
    assert math.isnan(result.total) or result.total <= 0


def test_remote_server_requires_consent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://chat.invalid/v1")
    monkeypatch.setenv("OPENAI_MODEL", "judge")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for name in ("g-rad", "chexprompt", "fineradscore"):
        scorer = load(name)
        with pytest.raises(InputError, match="Expected `allow_remote` to be true"):
            scorer.score(["Clear."], ["Clear."])
        scorer.save_pretrained(tmp_path / name)
        assert "remote" not in next((tmp_path / name).iterdir()).read_text()
        assert load(tmp_path / name).fingerprint() == scorer.fingerprint()
        assert "secret" not in scorer.fingerprint()
        with monkeypatch.context() as patch:
            patch.setenv("OPENAI_MODEL", "another")
            fingerprint = load(name).fingerprint()
        assert fingerprint != scorer.fingerprint()
    with pytest.raises(InputError, match="nowhere"):
        load("chexprompt:./nowhere")


class TestErrorCountJudge(ScorerConformance):
    can_save = False

    @staticmethod
    def scorer() -> Scorer:
        chat = ScriptedChatModel(lambda user_message: block(different_words(user_message), 0, 0, 0, 0, 0))
        return _UnsavableErrorJudge("radcliq", chat_model=chat)


class TestLineEditJudge(ScorerConformance):
    can_save = False

    @staticmethod
    def scorer() -> Scorer:
        def respond(user_message: str) -> str:
            return "new | what is missing | 1\n" * different_words(user_message) or "none"

        return _UnsavableLineJudge(chat_model=ScriptedChatModel(respond))


class _Unsavable(Scorer):
    """A judge with a scripted model, which cannot be saved."""

    def save_pretrained(self, folder: str | Path) -> None:
        raise InputError("scripted")


class _UnsavableErrorJudge(_Unsavable, ErrorCountJudge):
    pass


class _UnsavableLineJudge(_Unsavable, LineEditJudge):
    pass
