"""Findings in the form of a body part and its state."""

from collections import Counter
from collections.abc import Mapping

import pytest

from radreward.text.findings import FINDINGS
from radreward.text.read_names import FINDING_OF_NOUN, FINDING_OF_STATE, READ_NAMES
from radreward.text.section_files import read_sections
from radreward.text.sentence_parser import parse_sentence, sentence_facts


def _by_key(findings: Mapping[tuple[str, str], str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the pairs of body part and word of each finding: one test per finding, because tests have a cost."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for pair, key in sorted(findings.items()):
        pairs.setdefault(key, []).append(pair)
    return sorted(pairs.items())


@pytest.mark.parametrize(("key", "pairs"), _by_key(FINDING_OF_STATE))
def test_every_state_is_read_and_denied(key: str, pairs: list[tuple[str, str]]) -> None:
    for part, state in pairs:
        verb = "are" if part.endswith(("s", "i", "hila")) and not part.endswith(("sulcus", "lus")) else "is"
        for sentence, polarity in (
            (f"The {part} {verb} {state}.", "present"),
            (f"The {part} {verb} not {state}.", "absent"),
        ):
            assert [(fact.finding, fact.polarity) for fact in sentence_facts(sentence)] == [(key, polarity)], sentence


@pytest.mark.parametrize(("key", "pairs"), _by_key(FINDING_OF_STATE))
def test_every_state_is_read_before_its_body_part(key: str, pairs: list[tuple[str, str]]) -> None:
    for part, state in pairs:
        sentence = f"Mildly {state} {part} is seen."
        assert [fact.finding for fact in sentence_facts(sentence)] == [key], sentence


@pytest.mark.parametrize(("key", "pairs"), _by_key(FINDING_OF_NOUN))
def test_every_noun_is_read_and_denied(key: str, pairs: list[tuple[str, str]]) -> None:
    for part, noun in pairs:
        for sentence, polarity in (
            (f"There is {noun} of the {part}.", "present"),
            (f"There is no {noun} of the {part}.", "absent"),
        ):
            assert [(fact.finding, fact.polarity) for fact in sentence_facts(sentence)] == [(key, polarity)], sentence


@pytest.mark.parametrize("key", sorted({*READ_NAMES.values()}))
def test_every_further_name_is_read(key: str) -> None:
    for name in (name for name, finding in READ_NAMES.items() if finding == key):
        assert [fact.finding for fact in sentence_facts(f"There is a mild {name}.")] == [key], name


def test_no_further_name_stands_twice_or_is_a_written_name() -> None:
    names = [name for line in read_sections("read_names.txt")["names"] for name in line.split(" | ")[1].split("; ")]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    plain = {"edema", "consolidations"}  # plurals and spellings that more than one finding could have
    written = {name.lower() for finding in FINDINGS.values() for name in finding.plain_names}
    assert written & set(names) - plain == set()


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
        ("The cardiothoracic ratio is 0.6.", [("ratio", None, None, "present")]),
        ("The cardiothoracic ratio is 0.44.", [("ratio", None, None, "absent")]),
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
