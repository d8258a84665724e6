"""Chat judge: requests, order of the pairs, repetitions, failed responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.systems.sentence_eval.judgement import SentenceScore, count_statuses
from radreward.systems.sentence_eval.judges import ChatJudge
from radreward.systems.sentence_eval.prompt import SentencePrompt
from radreward.text.sentence_splitter import split_sentences


class ScriptedModel(ChatModel):
    """Chat model whose response is a function of the sentence table and the seed."""

    model_id = "scripted"

    def __init__(self, respond: Callable[[str, int], str]) -> None:
        super().__init__()
        self.respond = respond
        self.num_requests = 0

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            text = self.respond(request.messages[-1].content, request.seed)
            status = "ok" if text else "no answer after 6 attempts: the server said 500"
            on_response(index, ChatResponse(text, "stop", 1, 1, status))
            self.num_requests += 1


def scored_table(table: str, score: str, match: str = "-") -> str:
    """Return the table as sent, with one score for every sentence."""
    return "\n".join(f"{line},{match},{score}" for line in table.split("\n")[1:])


def test_judge_averages_repetitions_in_the_order_of_the_pairs() -> None:
    references = ["No edema. Big heart.", "Clear.", ""]
    candidates = ["Mild edema.", "Clear. Clear.", "Nothing here."]
    model = ScriptedModel(lambda table, seed: scored_table(table, ["1", "1", "0.5"][seed]) + f"\noverall,{seed}")
    judge = ChatJudge(model, SentencePrompt(num_shots=1))
    judgements = judge.judge(*([split_sentences(text) for text in side] for side in (references, candidates)))
    assert model.num_requests == 9
    counts = [(len(entry.reference_scores), len(entry.candidate_scores)) for entry in judgements]
    assert counts == [(2, 1), (1, 2), (0, 1)]
    for entry in judgements:
        for score in (*entry.reference_scores, *entry.candidate_scores):
            assert score is not None
            assert score.score == pytest.approx(2.5 / 3)
        assert entry.overall == 1
        assert entry.status == "ok"
    assert judgements[0].format_errors == {"match without score": 9}


def test_judge_failed_response_does_not_affect_other_pairs() -> None:
    model = ScriptedModel(
        lambda table, seed: "" if seed == 1 or "gone" in table else scored_table(table, "0") + "\noverall,2"
    )
    judgements = ChatJudge(model).judge([["No edema."], ["It is gone."]], [["Edema."], ["Edema."]])
    assert judgements[0].reference_scores == (SentenceScore(0.0, (), (1.0, 0.0, 0.0, 0.0)),)
    reason = "no answer: no answer after 6 attempts: the server said 500"
    assert judgements[0].status == f"partial: 1 of 3 repetitions, the first because of {reason}"
    assert judgements[1].reference_scores == (None,)
    assert judgements[1].overall is None
    assert judgements[1].status == f"partial: 3 of 3 repetitions, the first because of {reason}"
    assert count_statuses(judgements) == {"partial": 2}


def test_judge_no_pairs_returns_no_judgements() -> None:
    assert ChatJudge(ScriptedModel(lambda table, seed: "")).judge([], []) == []


def test_judge_unequal_lengths_raises() -> None:
    with pytest.raises(ValueError, match="Expected one candidate per reference but got 1 and 0"):
        ChatJudge(ScriptedModel(lambda table, seed: "")).judge([["a"]], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"repetitions": 0}, "`repetitions` to be >= 1"), ({"temperature": 0.0}, "`temperature` to be > 0 with 3 rep")],
)
def test_chat_judge_invalid_option_raises(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChatJudge(ScriptedModel(lambda table, seed: ""), **options)


def test_judge_single_repetition_keeps_its_status() -> None:
    model = ScriptedModel(lambda table, seed: "I cannot.")
    [judgement] = ChatJudge(model, repetitions=1, temperature=0.0).judge([["a b."]], [["c d."]])
    assert judgement.status == "no judgement: the answer cannot be parsed"
    errors = {"format error: prose": 1, "format error: missing row": 2, "format error: no overall": 1}
    assert count_statuses([judgement]) == {"no judgement": 1, **errors}
