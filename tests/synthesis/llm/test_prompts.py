"""Tests of the prompts for LLM writers, with any criteria."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.llm.messages import Message
from radreward.prompts.tags import wrap_in_tags
from radreward.synthesis.llm.tasks import (
    ErrorAnalysisTask,
    ErrorInjection,
    GenerationTask,
    ReasoningTask,
    TieredCandidates,
)
from radreward.types import Candidate, ReportGroup

ALL = [
    RadCliQCriteria(),
    RadCliQSignificanceCriteria(),
    MRScoreCriteria(),
    Criteria("own", [Criterion("tone", "Rude.")]),
]


def messages_of(task: GenerationTask, errors: dict[str, float] | None = None) -> list[tuple[Message, ...]]:
    group = ReportGroup("a", "Clear lungs.", (Candidate("Edema.", errors),))
    return [request.messages for request in task.build_requests(group)]


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: str(criteria.name))
def test_prompts_list_every_criterion(criteria: Criteria) -> None:
    none = dict.fromkeys(criteria.tags, 0.0)
    for messages in (
        *messages_of(TieredCandidates(criteria)),
        *messages_of(ErrorInjection(criteria, 12)),
        *messages_of(ErrorAnalysisTask(criteria)),
        *messages_of(ReasoningTask(criteria)),
        *messages_of(ReasoningTask(criteria), none),
    ):
        assert [message.role for message in messages] == ["system", "user"]
        for criterion in criteria.criteria:
            assert f"- {criterion.tag}: {criterion.description}" in messages[0].content
        assert "<reference>\nClear lungs.\n</reference>" in messages[1].content


def test_prompts_state_required_errors() -> None:
    criteria = RadCliQCriteria()
    group = ReportGroup("a", "Clear lungs.", ())
    for request in ErrorInjection(criteria, 40).build_requests(group):
        required = {tag: count for tag, count in (request.required_errors or {}).items() if count}
        stated = ", ".join(f"{tag}: {count:g}" for tag, count in required.items())
        assert (f"exactly these errors: {stated}." if stated else "without errors") in request.messages[1].content
    errors = dict.fromkeys(criteria.tags, 0.0) | {"omission": 2.0}
    assert "omission: 2" in messages_of(ReasoningTask(criteria), errors)[0][1].content


@given(st.text(st.sampled_from("<>/reference-2 \n"), max_size=60))
def test_wrap_in_tags_text_cannot_close_tag(text: str) -> None:
    wrapped = wrap_in_tags("reference", text)
    first, last = wrapped.split("\n", 1)[0], wrapped.rsplit("\n", 1)[1]
    assert last == first.replace("<", "</", 1)
    assert text.lower().count(last) == 0
    assert wrapped == f"{first}\n{text}\n{last}"
