"""Tests of the wording of report generators: a sentence states exactly its facts."""

from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.elaborate_wording import (
    NORMAL_SUBJECTS,
    REGION_ORDER,
    SIGNS,
    TECHNIQUE_REMARKS,
    take_differentials,
    written_negation,
    written_normal,
    written_sentence,
)
from radreward.synthesis.fact_sampling import DIFFERENTIALS, sample_many_facts, with_doubts
from radreward.synthesis.grammar import joint_sentence, render_report
from radreward.synthesis.report_styles import StyleSampler, elaborate_style, large_style, mixed_style
from radreward.text.facts import Fact
from radreward.text.finding_states import STATES
from radreward.text.findings import FINDINGS, ancestors
from radreward.text.measurements import MEASURED_FINDINGS
from radreward.text.sentence_parser import parse_sentence, sentence_facts


def test_tables_name_findings_of_the_vocabulary() -> None:
    keys = {*SIGNS, *SIGNS.values(), *DIFFERENTIALS, *DIFFERENTIALS.values(), *STATES, *MEASURED_FINDINGS}
    assert keys <= FINDINGS.keys()
    assert all(sign in ancestors(finding) for finding, sign in SIGNS.items())
    assert {finding.region for finding in FINDINGS.values()} == set(REGION_ORDER)


@pytest.mark.parametrize("text", TECHNIQUE_REMARKS)
def test_technique_remark_states_no_finding(text: str) -> None:
    assert sentence_facts(text) == ()


def test_complete_sentences_parse_to_their_facts() -> None:
    wrong: list[str] = []
    count = 0
    for seed in range(150):
        for sentence in random_report_source(mixed_style)(Random(seed)).sentences:
            parsed = parse_sentence(sentence.text)
            if parsed.is_complete and sentence.facts:
                count += 1
                wrong += [sentence.text] if set(parsed.facts) != set(sentence.facts) else []
    assert count > 400
    assert len(wrong) < 0.01 * count, wrong


def _written_texts(fact: Fact) -> set[str]:
    sentences = (written_sentence(fact, Random(seed)) for seed in range(80))
    return {sentence.text for sentence in sentences if sentence}


def test_written_sentence_names_the_details_of_its_fact() -> None:
    nodule = _written_texts(Fact("nodule", location="left upper", severity="mild", size=6.0))
    assert all("6 mm" in text or "0.6 cm" in text for text in nodule)
    heart = _written_texts(Fact("cardiomegaly", severity="severe"))
    assert heart & {"The heart is markedly enlarged.", "The heart is severely enlarged."}
    assert not _written_texts(Fact("effusion", change="new"))


def test_sign_with_interpretation_is_one_finding() -> None:
    fact = Fact("pneumonia", "uncertain", "left lower")
    sentences = [written_sentence(fact, Random(seed)) for seed in range(40)]
    signs = [sentence for sentence in sentences if sentence and len(sentence.facts) == 2]
    assert signs
    for sentence in signs:
        assert not compare_facts([fact], sentence.facts).errors
        assert compare_facts([fact], sentence.facts).weights == compare_facts([fact], [fact]).weights


def test_take_differentials_pairs_doubts_about_one_place() -> None:
    pair = [Fact("atelectasis", "uncertain", "left lower"), Fact("pneumonia", "uncertain", "left lower")]
    facts = [*pair, Fact("scar")]
    [sentence] = take_differentials(facts, Random(0), "findings")
    assert (sentence.facts, facts) == (tuple(pair), [Fact("scar")])
    assert take_differentials([pair[0], pair[1]._replace(location="right lower")], Random(0), "findings") == []


def test_written_negation_parses_to_absent_findings() -> None:
    facts = tuple(Fact(key, "absent") for key in ("edema", "fracture", "nodule"))
    for seed in range(30):
        for count in (1, 2, 3):
            assert set(sentence_facts(written_negation(facts[:count], Random(seed)).text)) == set(facts[:count])


def test_joint_sentence_shares_the_name_of_both_sides() -> None:
    sides = [Fact("effusion", location="left", severity="mild"), Fact("effusion", location="right", severity="severe")]
    text = joint_sentence([*sides, Fact("scar", location="left upper", change="stable")], Random(3)).text
    assert sum(text.lower().count(name) for name in FINDINGS["effusion"].plain_names) == 1
    assert " left and " in text
    assert any(word in text for word in ("unchanged", "stable", "persistent"))


@pytest.mark.parametrize("count", range(9))
def test_sample_many_facts_has_the_requested_number(count: int) -> None:
    for seed in range(20):
        facts = sample_many_facts(Random(seed), count)
        assert len(facts) == len(set(facts)) == count
        assert len(with_doubts(facts, Random(seed))) >= count


@pytest.mark.parametrize("style", [large_style, elaborate_style])
def test_rewritten_reports_of_long_styles_have_no_error(style: StyleSampler) -> None:
    for seed in range(80):
        facts = sample_many_facts(Random(seed), seed % 9)
        first, second = (render_report(facts, Random(n), style(Random(n))) for n in (seed, seed + 1))
        comparison = compare_facts(first.facts, second.facts)
        assert not comparison.errors
        assert comparison.weights.wrong == 0.0


@pytest.mark.parametrize("keys", NORMAL_SUBJECTS)
def test_written_normal_parses_to_its_findings(keys: tuple[str, ...]) -> None:
    for seed in range(60):
        parsed = parse_sentence(written_normal(keys, Random(seed)).text)
        assert parsed.is_complete
        assert {(fact.finding, fact.polarity) for fact in parsed.facts} == {(key, "absent") for key in keys}


@pytest.mark.parametrize("keys", [("nodule", "consolidation"), ("effusion", "pneumothorax"), ("fracture", "ribfx")])
def test_written_negation_of_one_region_parses_to_absent_findings(keys: tuple[str, ...]) -> None:
    facts = tuple(Fact(key, "absent") for key in keys)
    texts = {written_negation(facts, Random(seed)).text for seed in range(200)}
    assert len(texts) > 15
    for text in texts:
        assert set(sentence_facts(text)) == set(facts), text
