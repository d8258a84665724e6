import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria.error_counting import compare_facts, count_errors
from radreward.synthesis.fact_sampling import ALL_SIZES, sample_fact
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.perturbations.fact_edits import other_sizes, with_other_severity
from radreward.text.facts import Fact
from radreward.text.measurements import MEASURED_FINDINGS, is_same_size, parse_size
from radreward.text.sentence_parser import parse_sentence


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("There is a 6 mm nodule in the left upper lobe.", 6.0),
        ("A 1.2-cm nodule is seen.", 12.0),
        ("A nodule measuring 1.2 x 0.8 cm is seen.", 12.0),
        ("A mass measures up to 41 mm.", 41.0),
        ("A 3 by 4.5 cm spiculated left mass.", 45.0),
        ("Left nodule, unchanged.", None),
        ("A nodule 3 cm from the hilum.", None),
        ("Endotracheal tube tip 4 cm above the carina. Nodule.", None),
    ],
)
def test_sizes_are_read(text: str, size: float | None) -> None:
    assert {fact.size for fact in parse_sentence(text).facts if fact.finding in MEASURED_FINDINGS} == {size}


def test_other_findings_have_no_size() -> None:
    assert parse_sentence("A 2 cm left effusion.").facts[0].size is None


@given(st.sampled_from(sorted(MEASURED_FINDINGS)), st.integers(0, 2**32))
def test_stated_sizes_are_read_back(finding: str, seed: int) -> None:
    rng = Random(seed)
    sentence = fact_sentence(sample_fact(finding, rng), rng)
    assert parse_sentence(sentence.text).facts == sentence.facts


@given(st.text(max_size=60))
def test_any_text_has_a_positive_size_or_none(text: str) -> None:
    size = parse_size(text)
    assert size is None or (math.isfinite(size) and size >= 0)


@given(st.sampled_from(range(1, 100)), st.sampled_from(range(1, 100)))
def test_margins_are_those_of_the_guideline(first: int, second: int) -> None:
    small, large = min(first, second), max(first, second)
    if large < 30:  # nodules: 2 mm below 6 mm, 4 mm from there on
        expected = large - small <= (2 if small < 6 else 4)
    else:  # masses: 20 %; from a nodule to a mass is always another size
        expected = small >= 30 and (large - small) / large <= 0.2
    assert is_same_size(float(first), float(second)) == is_same_size(float(second), float(first)) == expected


def test_another_size_is_one_significant_error_of_severity() -> None:
    nodule = Fact("nodule", location="left upper", severity="mild", size=6.0)
    for stated, expected in (
        (nodule._replace(size=9.0), 0),
        (nodule._replace(size=16.0), 1),
        (nodule._replace(size=16.0, severity="moderate"), 1),
        (nodule._replace(size=None), 0),
    ):
        counts = count_errors([nodule], [stated])
        assert sum(counts.values()) == counts["significant_incorrect_severity"] == expected
        assert (compare_facts([nodule], [stated]).weights.wrong > 0) == bool(expected)


@pytest.mark.parametrize("size", ALL_SIZES)
def test_other_sizes_differ(size: float) -> None:
    assert other_sizes(size)
    for changed in with_other_severity(Fact("mass", severity="mild", size=size)):
        assert changed.size is not None
        assert not is_same_size(size, changed.size)
        assert changed.severity == ("mild" if changed.size < 10 else "moderate" if changed.size < 30 else "severe")
