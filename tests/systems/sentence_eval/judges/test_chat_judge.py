"""The judge that asks a chat model: requests, alignment, repetitions, answers that are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.llm import ChatModel
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judges import ChatJudge, average_judgements, count_statuses, round_to_score
from radreward.systems.sentence_eval.prompt import SentencePrompt
from radreward.text.sentence_splitter import split_sentences
from radreward.types import ChatRequest, ChatResponse, SentenceJudgement, SentenceScore


class Scripted(ChatModel):
    """Answers with a function of the table that it is sent and of the seed."""

    model_id = "scripted"

    def __init__(self, say: Callable[[str, int], str]) -> None:
        super().__init__()
        self.say = say
        self.asked = 0

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            text = self.say(request.messages[-1].content, request.seed)
            status = "ok" if text else "no answer after 6 attempts: the server said 500"
            on_response(index, ChatResponse(text, "stop", 1, 1, status))
            self.asked += 1


def rows(table: str, score: str, match: str = "-") -> str:
    """The table as sent, every sentence with one score."""
    return "\n".join(f"{line},{match},{score}" for line in table.split("\n")[1:])


def test_repetitions_are_averaged_and_the_order_stays() -> None:
    reports = ["No edema. Big heart.", "Clear.", ""]
    predictions = ["Mild edema.", "Clear. Clear.", "Nothing here."]
    model = Scripted(lambda table, seed: rows(table, ["1", "1", "0.5"][seed]) + f"\noverall,{seed}")
    judge = ChatJudge(model, SentencePrompt(num_shots=1))
    found = judge.judge([split_sentences(text) for text in reports], [split_sentences(text) for text in predictions])
    assert model.asked == 9
    assert [(len(entry.reference_scores), len(entry.candidate_scores)) for entry in found] == [(2, 1), (1, 2), (0, 1)]
    for entry in found:
        for score in (*entry.reference_scores, *entry.candidate_scores):
            assert score is not None
            assert score.score == pytest.approx(2.5 / 3)
        assert entry.overall == 1
        assert entry.status == "ok"
    assert found[0].format_errors == {"match without score": 9}


def test_an_answer_that_is_missing_leaves_the_others() -> None:
    model = Scripted(lambda table, seed: "" if seed == 1 or "gone" in table else rows(table, "0") + "\noverall,2")
    found = ChatJudge(model).judge([["No edema."], ["It is gone."]], [["Edema."], ["Edema."]])
    assert found[0].reference_scores == (SentenceScore(0.0, (), (1.0, 0.0, 0.0, 0.0)),)  # 0 in all that answered
    reason = "no answer: no answer after 6 attempts: the server said 500"
    assert found[0].status == f"partial: 1 of 3 repetitions, the first because of {reason}"
    assert found[1].reference_scores == (None,)
    assert found[1].overall is None
    assert found[1].status == f"partial: 3 of 3 repetitions, the first because of {reason}"
    assert count_statuses(found) == {"partial": 2}


def test_no_pairs() -> None:
    assert ChatJudge(Scripted(lambda table, seed: "")).judge([], []) == []


def test_sides_of_other_lengths() -> None:
    with pytest.raises(ValueError, match="Expected as many originals as predictions but got 1 and 0"):
        ChatJudge(Scripted(lambda table, seed: "")).judge([["a"]], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"repetitions": 0}, "`repetitions` to be >= 1"), ({"temperature": 0.0}, "`temperature` to be > 0 with 3 rep")],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChatJudge(Scripted(lambda table, seed: ""), **options)


def test_one_repetition_keeps_its_status() -> None:
    model = Scripted(lambda table, seed: "I cannot.")
    [found] = ChatJudge(model, repetitions=1, temperature=0.0).judge([["a b."]], [["c d."]])
    assert found.status == "no judgement: nothing in the answer could be read"
    assert count_statuses([found]) == {
        "no judgement": 1,
        "problem: prose": 1,
        "problem: missing row": 2,
        "problem: no overall": 1,
    }


ENTRY = st.none() | st.builds(SentenceScore, st.sampled_from(SCORES), st.sets(st.integers(0, 3)).map(tuple), st.none())


@given(st.lists(st.tuples(ENTRY, st.none() | st.floats(0, 5)), min_size=1, max_size=5))
def test_average_is_the_mean_of_what_is_there(repetitions: list[tuple[SentenceScore | None, float | None]]) -> None:
    found = average_judgements(
        [SentenceJudgement((entry,), (), overall, "", {}, "ok") for entry, overall in repetitions]
    )
    given_ = [entry for entry, _ in repetitions if entry is not None]
    if given_:
        assert found.reference_scores[0] is not None
        assert found.reference_scores[0].score == pytest.approx(sum(entry.score for entry in given_) / len(given_))
        for place in range(4):
            named = sum(place in entry.matches for entry in given_)
            assert (place in found.reference_scores[0].matches) == (named > len(given_) / 2)
    else:
        assert found.reference_scores == (None,)
    rated = [overall for _, overall in repetitions if overall is not None]
    assert found.overall == (pytest.approx(sum(rated) / len(rated)) if rated else None)


def test_average_of_other_reports() -> None:
    one = SentenceJudgement((None,), (), None, "", {}, "ok")
    for wrong in ([], [one, one._replace(reference_scores=())]):
        with pytest.raises(ValueError, match="Expected judgements of one pair"):
            average_judgements(wrong)


@given(st.floats(-1, 1))
def test_nearest_score(value: float) -> None:
    found = round_to_score(value)
    assert found in SCORES
    assert all(abs(found - value) <= abs(score - value) for score in SCORES)
