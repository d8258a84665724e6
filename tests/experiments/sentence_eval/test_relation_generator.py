"""Tests of sentence relations: scores derived from facts, and wordings held out for the test split."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from experiments.sentence_eval.relation_generator import generate_sentence_relations, uses_held_out_name
from experiments.sentence_eval.relation_score import ALL_CLEAR_FACT, relation_score
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import parse_sentence
from radreward.text.sentence_templates import FILLER_SENTENCES

EFFUSION = Fact("effusion", location="left", severity="mild")


@pytest.mark.parametrize(
    ("first_facts", "second_facts", "score"),
    [
        ([EFFUSION], [EFFUSION], 1),
        ([EFFUSION], [EFFUSION._replace(location="right")], 0.5),
        ([EFFUSION], [EFFUSION._replace(severity=None)], 0.5),
        ([EFFUSION], [EFFUSION._replace(change="worse")], 0.5),
        ([EFFUSION], [EFFUSION, Fact("scoliosis")], 0.5),
        ([EFFUSION], [Fact("effusion", "absent")], -1),
        ([EFFUSION, Fact("scoliosis")], [Fact("effusion", "absent")], -1),
        ([Fact("pneumonia")], [Fact("opacity", "absent")], -1),
        ([Fact("pneumonia", "absent")], [Fact("opacity")], None),
        ([Fact("pneumonia")], [Fact("opacity")], 0.5),
        ([EFFUSION], [Fact("scoliosis")], 0),
        ([EFFUSION], [Fact(FILLER_SENTENCES[0])], 0),
        ([Fact(FILLER_SENTENCES[0])], [Fact(FILLER_SENTENCES[0])], 1),
        ([ALL_CLEAR_FACT], [ALL_CLEAR_FACT], 1),
        ([ALL_CLEAR_FACT], [Fact("tension")], -1),
        ([ALL_CLEAR_FACT], [Fact("edema", "absent")], 0.5),
        ([ALL_CLEAR_FACT], [Fact("scoliosis")], None),
        ([Fact("organ: heart", "absent")], [Fact("organ: heart", "present", None, "dilated")], -1),
        ([Fact("organ: heart", "absent")], [Fact("organ: rib", "absent")], 0),
        ([Fact("heart disease")], [Fact("organ: heart", "absent")], None),
    ],
)
def test_relation_score_of_facts(first_facts: list[Fact], second_facts: list[Fact], score: float | None) -> None:
    assert relation_score(first_facts, second_facts) == score
    assert relation_score(second_facts, first_facts) == score


def test_relation_score_is_symmetric() -> None:
    rng = Random(0)
    facts = [sample_fact(key, rng) for key in sample_findings(rng, tuple(FINDINGS), 60)]
    for first, second in product(facts, facts):
        assert relation_score([first], [second]) == relation_score([second], [first])
    assert all(relation_score([fact], [fact]) == 1 for fact in facts)


def test_generate_sentence_relations_scores_agree_with_parsed_facts() -> None:
    """Check that facts parsed from completely parsed sentences give the same scores."""
    checked = 0
    for record in generate_sentence_relations(40, seed=5):
        parses = [parse_sentence(text.split(". ", 1)[-1]) for text in record.sentences]
        for first, second, score in record.pairs:
            if all(parse.is_complete and parse.facts for parse in (parses[first], parses[second])):
                assert relation_score(parses[first].facts, parses[second].facts) == score, record.sentences
                checked += 1
    assert checked > 300


def test_generate_sentence_relations_covers_scores_and_is_reproducible() -> None:
    records = list(generate_sentence_relations(30, seed=1))
    assert {score for record in records for *_, score in record.pairs} == {1.0, 0.5, 0.0, -1.0}
    assert records == list(generate_sentence_relations(30, seed=1))
    assert records != list(generate_sentence_relations(30, seed=2))
    assert all(0 <= first < second < len(record.sentences) for record in records for first, second, _ in record.pairs)


def test_generate_sentence_relations_holds_out_wordings() -> None:
    texts = {
        part: " ".join(t.lower() for r in generate_sentence_relations(250, 0, part) for t in r.sentences)
        for part in ("train", "test")
    }
    for wording in ("the study demonstrates ", "no radiographic evidence of ", "parenchymal opacity"):
        assert wording in texts["test"], wording
        assert wording not in texts["train"], wording
    assert "note made of " in texts["train"]
    assert uses_held_out_name("opacity", "parenchymal opacity")


def test_generate_sentence_relations_zero_count_raises() -> None:
    with pytest.raises(ValueError, match="Expected `count` to be >= 1"):
        generate_sentence_relations(0).__next__()
