"""Errors in words: as many as are known, about what the reports say."""

from random import Random

import pytest

from radreward.criteria import Criteria, Criterion, MRScore, RadCliQ, RadCliQSignificance
from radreward.synthesis.error_counting import count_errors, differences
from radreward.synthesis.fact_analysis_writer import FactAnalyses
from radreward.synthesis.pipeline import synthesize
from radreward.synthesis.report_styles import PlainWords
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.text.report_parser import annotate

PAIR = ("Increasing small left effusion. There is a nodule.", "Large right effusion. There is scoliosis.")
COUNTS = (1.0, 1.0, 1.0, 1.0, 0.0, 1.0)


def test_plain_words_name_the_finding() -> None:
    found = FactAnalyses(varied=False).write(*PAIR, COUNTS, RadCliQ(), Random(0))
    assert found.values == COUNTS
    assert found.explanation == (
        "Reference: mild left pleural effusion, worse; pulmonary nodule.\n"
        "Candidate: severe right pleural effusion; scoliosis."
    )
    assert found.errors == (
        ("scoliosis",),
        ("pulmonary nodule",),
        *(("pleural effusion",),) * 2,
        (),
        ("pleural effusion",),
    )
    assert found.matched == ("mild left pleural effusion, worse",)


def test_varied_words_say_what_is_wrong() -> None:
    found = FactAnalyses().write(*PAIR, COUNTS, RadCliQ(), Random(0))
    assert "left" in found.errors[2][0]
    assert "right" in found.errors[2][0]
    assert "worse" in found.errors[5][0]
    again = {FactAnalyses().write(*PAIR, COUNTS, RadCliQ(), Random(seed)) for seed in range(20)}
    assert len(again) > 10
    assert found == FactAnalyses().write(*PAIR, COUNTS, RadCliQ(), Random(0))


def test_significance_parts_the_errors() -> None:
    criteria = RadCliQSignificance()
    counts = count_errors(*(annotate(text).facts for text in PAIR))
    values = tuple(float(counts[tag]) for tag in criteria.tags)
    found = FactAnalyses(varied=False).write(*PAIR, values, criteria, Random(0))
    assert tuple(map(len, found.errors)) == tuple(map(int, values))
    assert "scoliosis" in found.errors[criteria.tags.index("insignificant_false_prediction")]


def test_what_is_not_known_so_is_counted_without_words() -> None:
    found = FactAnalyses().write(*PAIR, (3.0, *COUNTS[1:]), RadCliQ(), Random(0))
    assert found.errors[0] == ()
    assert found.values[0] == 3.0
    for criteria in (MRScore(), Criteria("one", [Criterion("tone", "Rude.")])):
        values = (1.0,) * len(criteria)
        assert FactAnalyses().write(*PAIR, values, criteria, Random(0)).errors == ((),) * len(criteria)


@pytest.mark.parametrize("length", ["plain", "report"])
def test_every_generated_error_is_put_in_words(length: str) -> None:
    criteria, writer = RadCliQSignificance(), FactAnalyses()
    for group in synthesize(criteria, 20, seed=5, length=length):  # type: ignore[arg-type]
        for candidate in group.candidates:
            values = tuple(criteria.values(candidate.errors or {}))
            found = writer.write(group.reference, candidate.text, values, criteria, Random(1))
            assert tuple(map(len, found.errors)) == tuple(map(int, values))
            for template in (GreenTemplate(), RadReasonTemplate()):
                read = template.parse(template.render_answer(found, criteria), criteria)
                assert (read.values, read.problem) == (values, None)


def test_differences_are_what_is_counted() -> None:
    facts = [annotate(text).facts for text in PAIR]
    counts = count_errors(*facts)
    found = differences(*facts).errors
    assert sum(counts.values()) == len(found)
    for entry in found:
        assert counts[f"{'' if entry.significant else 'in'}significant_{entry.tag}"] > 0


def test_plain_reports_have_one_to_four_findings() -> None:
    for group in synthesize(RadCliQ(), 40, seed=2, length="plain"):
        found = [fact for fact in annotate(group.reference).facts if fact.positive]
        assert 1 <= len(found) <= 4


def test_plain_words_are_the_first_and_the_likely() -> None:
    rng = PlainWords(0)
    assert {rng.choice("abcdef") for _ in range(100)} == {"a", "b", "c"}
    assert set(rng.choices("abc", (6, 2, 1), k=200)) == {"a", "b"}
