"""Criteria mentioned in a text."""

from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria
from radreward.prompts.criterion_mentions import mentioned_criteria

CRITERIA = RadCliQCriteria()


@given(st.sets(st.integers(0, len(CRITERIA) - 1)), st.sampled_from(["{}", "Step 1: {}.", "\n- **{}**: none", "<{}>"]))
def test_mentioned_criteria_finds_exactly_the_named_ones(named: set[int], form: str) -> None:
    text = " ".join(form.format(CRITERIA.criteria[number].name.upper()) for number in sorted(named))
    assert mentioned_criteria(text, CRITERIA) == tuple(number in named for number in range(len(CRITERIA)))
    tags = " ".join(CRITERIA.tags[number] for number in named)
    assert mentioned_criteria(tags, CRITERIA) == mentioned_criteria(text, CRITERIA)


@given(st.text())
def test_mentioned_criteria_accepts_any_text(text: str) -> None:
    assert len(mentioned_criteria(text, CRITERIA)) == len(CRITERIA)
