"""Revisers: the rules, by hand and by what must always hold; the chat model, by a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.llm import ChatModel
from radreward.systems.sentence_eval.judges import round_to_score
from radreward.systems.sentence_eval.refinement import ChatRefiner, RuleRefiner
from radreward.types import ChatRequest, ChatResponse, SentenceJudgement, SentenceScore


def score(value: float, *matches: int) -> SentenceScore:
    return SentenceScore(value, matches)


def judged(
    original: Sequence[SentenceScore | None], predicted: Sequence[SentenceScore | None], why: str = ""
) -> SentenceJudgement:
    return SentenceJudgement(tuple(original), tuple(predicted), 2.0, why, {}, "ok")


def test_sentences_go_where_the_reference_has_them() -> None:
    reference = ["One.", "Two.", "Three", "Four."]
    candidate = ["Four!", "Not two.", "One!", "Extra."]
    judgement = judged(
        [score(1, 2), score(-1, 1), score(0), score(0.5, 0)], [score(0.5, 3), score(-1, 1), score(1, 0), score(0)]
    )
    [revision] = RuleRefiner().refine([reference], [candidate], [judgement])
    assert revision.text == "Four! One! Two. Three."
    assert [entry[:2] for entry in revision.corrections] == [
        ("drop", "Not two."),
        ("drop", "Extra."),
        ("add", "Two."),
        ("add", "Three"),
    ]
    assert [entry.judged_score for entry in revision.corrections] == [-1, 0, -1, 0]
    assert revision.status == "ok"


def test_what_is_missing_at_the_beginning_stands_at_the_beginning() -> None:
    judgement = judged([score(0), score(1, 0)], [score(1, 1)])
    [revision] = RuleRefiner().refine([["One.", "Two."]], [["Two."]], [judgement])
    assert revision.text == "One. Two."


def test_nothing_to_correct_and_nothing_left() -> None:
    revisions = RuleRefiner().refine(
        [["One."], ["One."], ["One."]],
        [["One."], ["Two."], ["Two."]],
        [judged([score(1, 0)], [score(1, 0)]), judged([None], [None]), judged([None], [score(0)])],
    )
    assert [revision.status for revision in revisions] == [
        "unchanged",
        "unchanged",
        "not revised: nothing would be left",
    ]
    assert [revision.text for revision in revisions] == ["One.", "Two.", ""]


SCORES = st.none() | st.builds(
    SentenceScore,
    st.sampled_from([-1.0, -1 / 3, 0.0, 1 / 6, 0.25, 1 / 3, 0.5, 5 / 6, 1.0]),
    st.lists(st.integers(0, 4), max_size=3, unique=True).map(tuple),
)


@given(st.lists(SCORES, min_size=5, max_size=5), st.lists(SCORES, min_size=5, max_size=5))
def test_what_always_holds(original: list[SentenceScore | None], predicted: list[SentenceScore | None]) -> None:
    """Kept: what is met or has no score, in its order; added: what is contradicted or left out, in its order."""
    reference, candidate = [f"r{place}." for place in range(5)], [f"c{place}." for place in range(5)]
    [revision] = RuleRefiner().refine([reference], [candidate], [judged(original, predicted)])
    words = revision.text.split()

    def stays(entry: SentenceScore | None) -> bool:
        return entry is None or round_to_score(entry.score) > 0

    kept = [text for text, entry in zip(candidate, predicted, strict=True) if stays(entry)]
    added = [text for text, entry in zip(reference, original, strict=True) if not stays(entry)]
    assert [word for word in words if word[0] == "c"] == kept
    assert sorted(word for word in words if word[0] == "r") == added
    assert (revision.status == "unchanged") == (len(kept) == 5 and not added)


class Scripted(ChatModel):
    """Answers with a function of what the user says."""

    model_id = "scripted"

    def __init__(self, say: Callable[[str], ChatResponse]) -> None:
        super().__init__()
        self.say = say

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        for index, request in enumerate(requests):
            on_response(index, self.say(request.messages[-1].content))


@pytest.mark.parametrize(
    ("answer", "text", "status"),
    [
        (ChatResponse("[Report]\nNo edema.", "stop", 1, 1, "ok"), "No edema.", "ok"),
        (ChatResponse("[Report]\nEdema.", "stop", 1, 1, "ok"), "Edema.", "unchanged"),
        (ChatResponse("[Report]\nNo ed", "length", 1, 1, "ok"), "", "not revised: cut off"),
        (ChatResponse("I cannot.", "stop", 1, 1, "ok"), "", "not revised: no section: report"),
        (ChatResponse("", "", None, None, "not sent: no key"), "", "not revised: not sent: no key"),
    ],
)
def test_a_chat_model_revises(answer: ChatResponse, text: str, status: str) -> None:
    asked: list[str] = []

    def say(content: str) -> ChatResponse:
        asked.append(content)
        return answer

    first, second = ChatRefiner(Scripted(say)).refine(
        [["No edema."]] * 2, [["Edema."]] * 2, [judged([], [], "It is denied."), judged([], [], " ")]
    )
    assert (first.text, first.status) == (text, status)
    assert second.status == "not revised: no explanation"
    assert asked == ["<report>\nEdema.\n</report>\n<remarks>\nIt is denied.\n</remarks>"]  # never the reference
