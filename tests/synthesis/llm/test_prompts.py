"""Tests of the prompts for LLM writers, with any criteria."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.prompts.tags import wrap_in_tags
from radreward.synthesis.llm.prompts import (
    analysis_messages,
    injection_messages,
    reasoning_messages,
    tier_messages,
)
from radreward.synthesis.tiers import severity_tiers

ALL = [
    RadCliQCriteria(),
    RadCliQSignificanceCriteria(),
    MRScoreCriteria(),
    Criteria("own", [Criterion("tone", "Rude.")]),
]


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: str(criteria.name))
def test_prompts_list_every_criterion(criteria: Criteria) -> None:
    none = dict.fromkeys(criteria.tags, 0.0)
    for messages in (
        tier_messages(criteria, "Clear lungs.", severity_tiers(criteria)[0]),
        injection_messages(criteria, "Clear lungs.", none | {criteria.tags[0]: 1.0}, subtle=True),
        injection_messages(criteria, "Clear lungs.", none),
        analysis_messages(criteria, "Clear lungs.", "Edema."),
        reasoning_messages(criteria, "Clear lungs.", "Edema."),
        reasoning_messages(criteria, "Clear lungs.", "Edema.", none),
    ):
        assert [message.role for message in messages] == ["system", "user"]
        for criterion in criteria.criteria:
            assert f"- {criterion.tag}: {criterion.description}" in messages[0].content
        assert "<reference>\nClear lungs.\n</reference>" in messages[1].content


def test_prompts_state_required_errors() -> None:
    required = dict.fromkeys(RadCliQCriteria().tags, 0.0) | {"omission": 2.0}
    assert "exactly these errors: omission: 2." in injection_messages(RadCliQCriteria(), "A.", required)[1].content
    assert "omission: 2" in reasoning_messages(RadCliQCriteria(), "A.", "B.", required)[1].content
    assert (
        "without errors"
        in injection_messages(RadCliQCriteria(), "A.", dict.fromkeys(RadCliQCriteria().tags, 0.0))[1].content
    )


@given(st.text(st.sampled_from("<>/reference-2 \n"), max_size=60))
def test_wrap_in_tags_text_cannot_close_tag(text: str) -> None:
    wrapped = wrap_in_tags("reference", text)
    first, last = wrapped.split("\n", 1)[0], wrapped.rsplit("\n", 1)[1]
    assert last == first.replace("<", "</", 1)
    assert text.lower().count(last) == 0
    assert wrapped == f"{first}\n{text}\n{last}"
