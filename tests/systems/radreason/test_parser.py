"""Error descriptions in RadReason's reasoning steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.systems.radreason.parser import errors_per_step
from radreward.systems.radreason.prompt import RadReasonTemplate

CRITERIA = RadCliQCriteria()
word = (
    st.text("abc xyz:,-'", min_size=1).map(lambda text: " ".join(text.split())).filter(lambda text: text.strip("_* "))
)


@given(st.lists(st.lists(word, max_size=3), min_size=6, max_size=6))
def test_errors_per_step_are_inverse_of_render_answer(words: list[list[str]]) -> None:
    values = tuple(float(len(entry)) for entry in words)
    answer = RadReasonTemplate().render_answer(ErrorAnalysis(values, "", tuple(map(tuple, words)), ()), CRITERIA)
    reasoning = RadReasonTemplate().parse(answer, CRITERIA).reasoning
    assert errors_per_step(reasoning, CRITERIA) == tuple(map(tuple, words))


@given(st.none() | st.text() | st.text(st.sampled_from("step 1:*_;omission\n")))
def test_errors_per_step_never_raises(text: str | None) -> None:
    assert len(errors_per_step(text, CRITERIA)) == len(CRITERIA)


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        ("omission: A nodule.", ("A nodule",)),
        ("**Step 2: Omission:** a nodule; no errors", ("a nodule",)),
        ("- step 2. omission: none", ()),
        ("Step 2: omission", ()),
        ("The omission: a nodule", ()),
    ],
)
def test_criterion_name_starts_a_line(line: str, errors: tuple[str, ...]) -> None:
    assert errors_per_step(f"So.\n{line}", CRITERIA)[1] == errors
