"""Related sentences: what they state decides their scores, and tests are worded as training never is."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.relation_generator import generate_sentence_relations, uses_held_out_name
from radreward.synthesis.relation_score import ALL_CLEAR_FACT, relation_score
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import parse_sentence
from radreward.text.sentence_templates import FILLER_SENTENCES

EFFUSION = Fact("effusion", location="left", severity="mild")


@pytest.mark.parametrize(
    ("ours", "theirs", "score"),
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
def test_relation_score_of_facts(ours: list[Fact], theirs: list[Fact], score: float | None) -> None:
    assert relation_score(ours, theirs) == score
    assert relation_score(theirs, ours) == score


def test_relation_score_is_symmetric() -> None:
    rng = Random(0)
    facts = [sample_fact(key, rng) for key in sample_findings(rng, tuple(FINDINGS), 60)]
    for one, other in product(facts, facts):
        assert relation_score([one], [other]) == relation_score([other], [one])
    assert all(relation_score([fact], [fact]) == 1 for fact in facts)


def test_generate_sentence_relations_scores_agree_with_parsed_facts() -> None:
    """Facts that are read back from sentences that say nothing else give the same scores again."""
    checked = 0
    for record in generate_sentence_relations(40, seed=5):
        readings = [parse_sentence(text.split(". ", 1)[-1]) for text in record.sentences]
        for one, other, score in record.pairs:
            if all(reading.is_complete and reading.facts for reading in (readings[one], readings[other])):
                assert relation_score(readings[one].facts, readings[other].facts) == score, record.sentences
                checked += 1
    assert checked > 300


def test_generate_sentence_relations_covers_scores_and_is_reproducible() -> None:
    records = list(generate_sentence_relations(30, seed=1))
    assert {score for record in records for *_, score in record.pairs} == {1.0, 0.5, 0.0, -1.0}
    assert records == list(generate_sentence_relations(30, seed=1))
    assert records != list(generate_sentence_relations(30, seed=2))
    assert all(0 <= one < other < len(record.sentences) for record in records for one, other, _ in record.pairs)


def test_generate_sentence_relations_holds_out_wordings() -> None:
    texts = {
        part: " ".join(t.lower() for r in generate_sentence_relations(150, 0, part) for t in r.sentences)
        for part in ("train", "test")
    }
    for words in ("the study demonstrates ", "no radiographic evidence of ", "parenchymal opacity"):
        assert words in texts["test"], words
        assert words not in texts["train"], words
    assert "note made of " in texts["train"]
    assert uses_held_out_name("opacity", "parenchymal opacity")


def test_generate_sentence_relations_zero_count_raises() -> None:
    with pytest.raises(ValueError, match="Expected `count` to be >= 1"):
        generate_sentence_relations(0).__next__()
