"""Which criteria a reasoning speaks of."""

from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQ
from radreward.prompts.criterion_mentions import discussed

CRITERIA = RadCliQ()


@given(st.sets(st.integers(0, len(CRITERIA) - 1)), st.sampled_from(["{}", "Step 1: {}.", "\n- **{}**: none", "<{}>"]))
def test_those_that_are_named_are_found_and_no_others(named: set[int], form: str) -> None:
    text = " ".join(form.format(CRITERIA.criteria[number].name.upper()) for number in sorted(named))
    assert discussed(text, CRITERIA) == tuple(number in named for number in range(len(CRITERIA)))
    tags = " ".join(CRITERIA.tags[number] for number in named)
    assert discussed(tags, CRITERIA) == discussed(text, CRITERIA)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert len(discussed(text, CRITERIA)) == len(CRITERIA)
