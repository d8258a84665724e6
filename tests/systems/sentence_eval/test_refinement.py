"""Refiners: the rules on examples and by their invariants, the chat model with scripted responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore, round_to_score
from radreward.systems.sentence_eval.refinement import ChatRefiner, RuleRefiner


def score(value: float, *matches: int) -> SentenceScore:
    return SentenceScore(value, matches)


def make_judgement(
    reference: Sequence[SentenceScore | None], candidate: Sequence[SentenceScore | None], explanation: str = ""
) -> SentenceJudgement:
    return SentenceJudgement(tuple(reference), tuple(candidate), 2.0, explanation, {}, "ok")


def test_rule_refiner_adds_sentences_after_their_predecessors() -> None:
    reference = ["One.", "Two.", "Three", "Four."]
    candidate = ["Four!", "Not two.", "One!", "Extra."]
    judgement = make_judgement(
        [score(1, 2), score(-1, 1), score(0), score(0.5, 0)], [score(0.5, 3), score(-1, 1), score(1, 0), score(0)]
    )
    [refined] = RuleRefiner().refine([reference], [candidate], [judgement])
    assert refined.text == "Four! One! Two. Three."
    assert refined.corrections == (
        *(("drop", "Not two.", -1), ("drop", "Extra.", 0)),
        *(("add", "Two.", -1), ("add", "Three", 0)),
    )
    assert refined.status == "ok"


def test_rule_refiner_adds_a_missing_first_sentence_at_the_start() -> None:
    judgement = make_judgement([score(0), score(1, 0)], [score(1, 1)])
    [refined] = RuleRefiner().refine([["One.", "Two."]], [["Two."]], [judgement])
    assert refined.text == "One. Two."


def test_rule_refiner_without_corrections_or_remaining_sentences() -> None:
    refined = RuleRefiner().refine(
        [["One."], ["One."], ["One."]],
        [["One."], ["Two."], ["Two."]],
        [
            make_judgement([score(1, 0)], [score(1, 0)]),
            make_judgement([None], [None]),
            make_judgement([None], [score(0)]),
        ],
    )
    assert [report.status for report in refined] == ["unchanged", "unchanged", "not refined: no sentence would be left"]
    assert [report.text for report in refined] == ["One.", "Two.", ""]


sentence_scores = st.none() | st.builds(
    SentenceScore,
    st.sampled_from([-1.0, -1 / 3, 0.0, 1 / 6, 0.25, 1 / 3, 0.5, 5 / 6, 1.0]),
    st.lists(st.integers(0, 4), max_size=3, unique=True).map(tuple),
)


@given(st.lists(sentence_scores, min_size=5, max_size=5), st.lists(sentence_scores, min_size=5, max_size=5))
def test_rule_refiner_keeps_positive_and_adds_other_sentences_in_order(
    reference_scores: list[SentenceScore | None], candidate_scores: list[SentenceScore | None]
) -> None:
    reference, candidate = [f"r{index}." for index in range(5)], [f"c{index}." for index in range(5)]
    judgement = make_judgement(reference_scores, candidate_scores)
    [refined] = RuleRefiner().refine([reference], [candidate], [judgement])
    words = refined.text.split()

    def is_positive(entry: SentenceScore | None) -> bool:
        return entry is None or round_to_score(entry.score) > 0

    retained = [text for text, entry in zip(candidate, candidate_scores, strict=True) if is_positive(entry)]
    added = [text for text, entry in zip(reference, reference_scores, strict=True) if not is_positive(entry)]
    assert [word for word in words if word[0] == "c"] == retained
    assert sorted(word for word in words if word[0] == "r") == added
    assert (refined.status == "unchanged") == (len(retained) == 5 and not added)


class ScriptedModel(ChatModel):
    """Chat model whose response is a function of the user's message."""

    model_id = "scripted"

    def __init__(self, respond: Callable[[str], ChatResponse]) -> None:
        super().__init__()
        self.respond = respond

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            on_response(index, self.respond(request.messages[-1].content))


@pytest.mark.parametrize(
    ("response", "text", "status"),
    [
        (ChatResponse("[Report]\nNo edema.", "stop", 1, 1, "ok"), "No edema.", "ok"),
        (ChatResponse("[Report]\nEdema.", "stop", 1, 1, "ok"), "Edema.", "unchanged"),
        (ChatResponse("[Report]\nNo ed", "length", 1, 1, "ok"), "", "not refined: truncated"),
        (ChatResponse("I cannot.", "stop", 1, 1, "ok"), "", "not refined: section missing: report"),
        (ChatResponse("", "", None, None, "not sent: no key"), "", "not refined: not sent: no key"),
    ],
)
def test_chat_refiner_sends_candidate_and_explanation_only(response: ChatResponse, text: str, status: str) -> None:
    requests: list[str] = []

    def respond(content: str) -> ChatResponse:
        requests.append(content)
        return response

    judgements = [make_judgement([], [], "It is denied."), make_judgement([], [], " ")]
    first, second = ChatRefiner(ScriptedModel(respond)).refine([["No edema."]] * 2, [["Edema."]] * 2, judgements)
    assert (first.text, first.status) == (text, status)
    assert second.status == "not refined: no explanation"
    assert requests == ["<report>\nEdema.\n</report>\n<remarks>\nIt is denied.\n</remarks>"]
