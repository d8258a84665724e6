"""Findings in the form of a body part and its state."""

import pytest

from radreward.text.findings import FINDINGS
from radreward.text.read_names import FINDING_OF_NOUN, FINDING_OF_STATE, READ_NAMES
from radreward.text.sentence_parser import parse_sentence, sentence_facts


@pytest.mark.parametrize(("part", "state"), sorted(FINDING_OF_STATE))
def test_every_state_is_read_and_denied(part: str, state: str) -> None:
    key = FINDING_OF_STATE[part, state]
    verb = "are" if part.endswith(("s", "i", "hila")) and not part.endswith(("sulcus", "lus")) else "is"
    for sentence, polarity in (
        (f"The {part} {verb} {state}.", "present"),
        (f"The {part} {verb} not {state}.", "absent"),
    ):
        assert [(fact.finding, fact.polarity) for fact in sentence_facts(sentence)] == [(key, polarity)], sentence


@pytest.mark.parametrize(("part", "state"), sorted(FINDING_OF_STATE))
def test_every_state_is_read_before_its_body_part(part: str, state: str) -> None:
    findings = [fact.finding for fact in sentence_facts(f"Mildly {state} {part} is seen.")]
    assert findings == [FINDING_OF_STATE[part, state]]


@pytest.mark.parametrize(("part", "noun"), sorted(FINDING_OF_NOUN))
def test_every_noun_is_read_and_denied(part: str, noun: str) -> None:
    key = FINDING_OF_NOUN[part, noun]
    for sentence, polarity in (
        (f"There is {noun} of the {part}.", "present"),
        (f"There is no {noun} of the {part}.", "absent"),
    ):
        assert [(fact.finding, fact.polarity) for fact in sentence_facts(sentence)] == [(key, polarity)], sentence


@pytest.mark.parametrize("name", READ_NAMES)
def test_every_further_name_is_read(name: str) -> None:
    assert [fact.finding for fact in sentence_facts(f"There is a mild {name}.")] == [READ_NAMES[name]]


def test_no_further_name_is_a_written_name_of_another_finding() -> None:
    written = {name.lower(): key for key, finding in FINDINGS.items() for name in finding.plain_names}
    assert {name for name, key in READ_NAMES.items() if written.get(name, key) != key} == set()


def test_every_key_is_a_finding() -> None:
    assert {*READ_NAMES.values(), *FINDING_OF_STATE.values(), *FINDING_OF_NOUN.values()} <= FINDINGS.keys()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Heart size remains mildly enlarged.", [("cardiomegaly", None, "mild", "present")]),
        ("The left hemidiaphragm is elevated.", [("elevdia", "left", None, "present")]),
        ("Elevated left hemidiaphragm.", [("elevdia", "left", None, "present")]),
        ("Mildly tortuous descending thoracic aorta.", [("tortuous", None, "mild", "present")]),
        ("Tortuous and calcified aorta.", [("tortuous", None, None, "present"), ("aorticcalc", None, None, "present")]),
        ("No enlarged hila.", [("hilar", None, None, "absent")]),
        ("Mild ectasia of the thoracic aorta.", [("tortuous", None, "mild", "present")]),
        ("The heart is normal and the aorta is tortuous.", [("tortuous", None, None, "present")]),
        ("The descending thoracic aorta is tortuous.", [("tortuous", None, None, "present")]),  # as of "aorta"
        ("The cardiothoracic ratio is 0.62.", [("ratio", None, None, "present")]),
        ("The cardiothoracic ratio is 0.44.", []),
        ("The dome of the diaphragm on the left stands too high.", [("elevdia", "left", None, "present")]),
        ("Fluid has collected in the right pleural space.", [("effusion", "right", None, "present")]),
        ("The sternum shows no break.", [("sternalfx", None, None, "absent")]),
        ("The heart may be enlarged.", []),  # a modal verb is no part of the form
        ("The heart and a nodule are enlarged.", [("nodule", None, None, "present")]),
        (
            "Consolidation close to both hila is more prominent.",
            [("consolidation", "bilateral perihilar", None, "present")],
        ),
        ("Lung volumes have decreased.", []),  # a change of the volumes, which may still be normal
    ],
)
def test_state_has_the_details_of_its_sentence(
    sentence: str, expected: list[tuple[str, str | None, str | None, str]]
) -> None:
    facts = parse_sentence(sentence).facts
    assert [(fact.finding, fact.location, fact.severity, fact.polarity) for fact in facts] == expected
