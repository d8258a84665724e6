"""Chat models as metrics: what they are asked, what is read of their answers, and what leaves the machine."""

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
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.llm_judge import ErrorCountJudge, LineEditJudge
from radreward.testing import ScorerConformance
from radreward.types import ChatRequest, ChatResponse

TAGS = RadCliQCriteria().tags


class Scripted(ChatModel):
    """Answers with a function of the question."""

    model_id = "scripted"

    def __init__(self, say: Callable[[str], str]) -> None:
        super().__init__()
        self.say = say
        self.asked: list[ChatRequest] = []

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            text = self.say(request.messages[-1].content)
            status = "ok" if text != "gone" else "no answer after 6 attempts"
            on_response(index, ChatResponse(text, "stop", 1, 1, status))
            self.asked.append(request)


def block(*counts: float, reasons: str = "Compared.") -> str:
    return f"<think>{reasons}</think>" + "".join(f"<{tag}>{n}</{tag}>" for tag, n in zip(TAGS, counts, strict=True))


def different_words(question: str) -> int:
    """Words of the candidate that the reference does not have, and the other way."""
    reference, candidate = re.split("candidate", question, maxsplit=1, flags=re.IGNORECASE)
    one, other = (Counter(re.findall(r"[a-z]{3,}", text.lower())) for text in (reference, candidate))
    return ((one - other) + (other - one)).total()


def test_errors_are_counted_by_the_criteria() -> None:
    chat = Scripted(
        lambda question: block(1, 0, 2, 0, 0, 0, reasons="Two missing.") if "edema" in question else block(*[0] * 6)
    )
    scorer = ErrorCountJudge("radcliq", chat_model=chat)
    scores = scorer.score(["No edema.", "Clear.", ""], ["Edema.", "Clear.", "Clear."])
    assert scores.total.tolist()[:2] == [-3, 0]
    assert scores.error_counts is not None
    assert scores.error_counts[0].tolist() == [1, 0, 2, 0, 0, 0]
    assert scores.evidence is not None
    assert scores.evidence[0] == {"reasoning": "Two missing.", "problem": None}
    assert scores.status == ("ok", "ok", "empty reference")
    assert len(chat.asked) == 2
    system, user = chat.asked[0].messages
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
def test_an_answer_that_cannot_be_read_gives_no_score(answer: str, status: str) -> None:
    scores = ErrorCountJudge("radcliq", chat_model=Scripted(lambda question: answer)).score(["Clear."], ["Clear."])
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
def test_lines_are_corrected_and_graded(answer: str, total: float, status: str) -> None:
    chat = Scripted(lambda question: answer)
    scores = LineEditJudge(chat_model=chat).score(["No effusion. Big heart."], ["Effusion. Clear lungs."])
    assert scores.status == (status,)
    assert scores.total.tolist() == pytest.approx([total], nan_ok=True)
    assert "1: Effusion.\n2: Clear lungs." in chat.asked[0].messages[-1].content


@given(st.text(alphabet="12new| \nx٣", max_size=40))
def test_any_answer_can_be_read(answer: str) -> None:
    judged = LineEditJudge(chat_model=Scripted(str)).parse_response(answer, "Effusion. Clear lungs.")
    assert math.isnan(judged.total) == (judged.status != "ok")
    assert math.isnan(judged.total) or judged.total <= 0


def test_reports_do_not_leave_the_machine_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://chat.invalid/v1")
    monkeypatch.setenv("OPENAI_MODEL", "judge")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    for name in ("g-rad", "chexprompt", "fineradscore"):
        scorer = load(name)
        with pytest.raises(InputError, match="expected `send_reports` to be true"):
            scorer.score(["Clear."], ["Clear."])
        scorer.save_pretrained(tmp_path / name)
        assert "send" not in next((tmp_path / name).iterdir()).read_text()
        assert load(tmp_path / name).fingerprint() == scorer.fingerprint()
        assert "secret" not in scorer.fingerprint()
        with monkeypatch.context() as changed:
            changed.setenv("OPENAI_MODEL", "another")
            other = load(name).fingerprint()
        assert other != scorer.fingerprint()
    with pytest.raises(InputError, match="nowhere"):
        load("chexprompt:./nowhere")


class TestErrorJudge(ScorerConformance):
    saves = False

    @staticmethod
    def scorer() -> Scorer:
        return _Unsaved(Scripted(lambda question: block(different_words(question), 0, 0, 0, 0, 0)))


class TestLineJudge(ScorerConformance):
    saves = False

    @staticmethod
    def scorer() -> Scorer:
        def say(question: str) -> str:
            return "new | what is missing | 1\n" * different_words(question) or "none"

        return _UnsavedLines(chat_model=Scripted(say))


class _Unsaved(ErrorCountJudge):
    """A scripted model cannot be loaded again."""

    def __init__(self, chat: ChatModel) -> None:
        super().__init__("radcliq", chat_model=chat)

    def save_pretrained(self, folder: str | Path) -> None:
        raise InputError("scripted")


class _UnsavedLines(LineEditJudge):
    def save_pretrained(self, folder: str | Path) -> None:
        raise InputError("scripted")
