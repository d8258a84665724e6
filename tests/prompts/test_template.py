"""Shared prompt segments must not depend on the specific ones."""

from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import MRScoreCriteria, RadCliQCriteria
from radreward.prompts.template import TEMPLATES, template_class


@given(st.sampled_from(sorted(TEMPLATES)), st.text(), st.text(), st.text())
def test_render_shared_segments_depend_on_shared_texts_only(name: str, reference: str, first: str, second: str) -> None:
    template = template_class(name)()
    one, two = (template.render(reference, text, RadCliQCriteria()) for text in (first, second))
    assert one[:2] == two[:2]
    assert template.render(second, first, RadCliQCriteria()).instruction == one.instruction
    assert reference in one.reference
    assert first in one.candidate


def test_instruction_template_names_every_criterion() -> None:
    criteria = MRScoreCriteria()
    text = template_class("InstructionTemplate")().render("a", "b", criteria).instruction
    assert all(entry.name in text and entry.description in text for entry in criteria.criteria)
