"""Statements that the rules do not read, and the findings that they are taken for."""

from __future__ import annotations

import copy

import pytest

from experiments.finding_classifier.statements import known_names
from radreward import load
from radreward.models.finding_classifier import FindingClassifier, embedded_classifier
from radreward.models.report_findings import read_findings
from radreward.text.fact_matching import match_facts
from radreward.text.sentence_parser import sentence_facts

FREE_AIR = "Gas between the liver and the right diaphragmatic dome."
ANEURYSM = "The aorta is abnormally wide along its downward course in the chest."


def test_names_are_classified_as_their_finding() -> None:
    known = known_names()
    readings = embedded_classifier().readings(list(known)[::37])
    right = [known[name] == reading.finding for name, reading in readings.items()]
    assert sum(right) / len(right) > 0.9


@pytest.mark.parametrize(("text", "finding"), [(FREE_AIR, "freeair"), (ANEURYSM, "aneurysm")])
def test_statement_in_other_words_is_taken_for_a_finding(text: str, finding: str) -> None:
    assert sentence_facts(text) == ()
    classifier = _certain_classifier()
    [taken] = read_findings([text], classifier).values()
    assert [fact.finding for fact in taken.facts] == [finding]
    assert taken.recognized == {text: taken.facts[:1]}
    assert taken.unread == ()


def test_finding_that_the_report_names_is_not_counted_twice() -> None:
    [findings] = read_findings([f"Free air is present. {FREE_AIR}"], _certain_classifier()).values()
    assert [fact.finding for fact in findings.facts] == ["freeair"]
    assert findings.unread == ()


def test_details_of_a_statement_in_other_words_are_read() -> None:
    text = "Large rim of gas around the collapsed left lung edge, bigger than before."
    [findings] = read_findings([text], _certain_classifier()).values()
    [fact] = findings.facts
    assert (fact.location, fact.change) == ("left", "worse")


def test_statement_without_a_certain_finding_remains_unread() -> None:
    classifier = _certain_classifier()
    list(classifier.network.parameters())[-1][1:] = 0.0
    list(classifier.network.parameters())[-2][1:] = 0.0
    [left] = read_findings([FREE_AIR], classifier).values()
    assert (left.facts, left.unread, left.recognized) == ((), (FREE_AIR,), {})


def test_statements_without_findings_are_not_taken_for_findings() -> None:
    texts = ["Frontal and lateral views were obtained.", "Clinical correlation is recommended.", "The film is rotated."]
    for findings in read_findings(texts, embedded_classifier()).values():
        assert findings.facts == ()
        assert findings.recognized == {}


@pytest.mark.parametrize("name", ["crimson", "ratescore", "sentence-eval", "entity-f1"])
def test_scorers_prefer_the_same_finding_in_other_words(name: str) -> None:
    reference = "Free air under the diaphragm."
    other = "Gas lies between the liver and the dome of the diaphragm."
    assert sentence_facts(other) == ()
    scores = load(name).score([reference] * 2, [other, "Right pneumothorax."])
    values = scores.total if scores.quality is None else scores.quality
    assert values[0] > values[1]


def test_recognized_facts_match_those_that_are_read() -> None:
    [taken] = read_findings([FREE_AIR], _certain_classifier()).values()
    assert [match.result for match in match_facts(sentence_facts("Free air."), taken.facts)] == ["matched"]


def _certain_classifier() -> FindingClassifier:
    """Return a classifier by which every statement reports a finding, the one of the classifier of the package."""
    shared = embedded_classifier()
    network = copy.deepcopy(shared.network)
    list(network.parameters())[-1][0] = -100.0
    return FindingClassifier(network, shared.findings, shared.encoder, {})
