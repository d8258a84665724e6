"""Findings of reports, in one record for every scorer that reads them: facts, and statements in other words."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from radreward.models.finding_classifier import (
    LIKELY,
    POSSIBLE,
    PROBABLE,
    FindingClassifier,
    Reading,
    embedded_classifier,
)
from radreward.text.described_facts import described_facts
from radreward.text.descriptors import find_descriptors
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, ancestors
from radreward.text.lexicon import lowercase_same_length, match_lexicon
from radreward.text.mentions import find_mentions
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.recognition import addresses_reader, reads_as_report
from radreward.text.report_reading import ReportReading, read_report
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import split_sentences
from radreward.text.unstated import is_normal_or_past

CERTAIN = 0.5
"""Lowest share of the most probable finding of a statement that is within `LIKELY` and is taken for it."""
_CLAUSE = re.compile(r"\s*[,;:]\s+|\s+(?:and|as well as|but|plus|which|while|whereas|with)\s+")
_MIN_WORDS = 3
"""Lowest number of words of a clause that may be taken for a finding."""
_CLAUSE_MARK = re.compile(r"\s*[,;:]\s+")
_PARTS = frozenset("BZ")
"""Categories of the lexicon: adjectives of body parts, and zones of the lungs."""
_SIDE = re.compile(r"(?:left|right|both|bilateral(?:ly)?|unilateral)(?:[ -]side[ds]?)?", re.IGNORECASE)
"""Zones that belong to anything."""
_NOTHING: Mapping[str, tuple[Fact, ...]] = MappingProxyType({})


class ReportFindings(NamedTuple):
    """The findings that a report states as present or possible."""

    facts: tuple[Fact, ...]
    """Those that the rules read or recognize, in an order that does not depend on the order of sentences."""
    unread: tuple[str, ...]
    """Distinct texts that report a finding in words that the rules do not know."""
    denied: frozenset[str] = frozenset()
    """Findings that the report denies, and states nowhere."""
    recognized: Mapping[str, tuple[Fact, ...]] = _NOTHING
    """Statements in other words that are taken for findings, and what they state; among `facts` if nothing else does.
    """
    partly_read: tuple[str, ...] = ()
    """Statements that state findings, and may state more than the rules read."""
    possible: tuple[str, ...] = ()
    """Statements that may report a finding, but do not count as such, see `POSSIBLE`."""

    def all_facts(self, read: Iterable[Fact]) -> tuple[Fact, ...]:
        """Return facts that the rules read in the report, absent ones too, and those that are recognized."""
        read = tuple(fact for fact in read if not fact.positive or fact in self.facts)
        return (*read, *(fact for fact in self.facts if fact not in read))

    def with_recognized(
        self, recognized: Mapping[str, tuple[Fact, ...]], replaced: Container[str] = ()
    ) -> ReportFindings:
        """Return these findings with further statements that are taken for findings, in place of some that are read.

        Args:
            recognized: Statements, and what they state.
            replaced: Findings that the rules read in their place.

        >>> findings = ReportFindings((Fact("collapse"),), ()).with_recognized({"": (Fact("scar"),)}, {"collapse"})
        >>> [fact.finding for fact in findings.facts]
        ['scar']
        """
        retained = [fact for fact in self.facts if fact.finding not in replaced]
        added = (fact for fact in chain.from_iterable(recognized.values()) if fact not in retained)
        return self._replace(
            facts=_in_order((*retained, *added)),
            unread=tuple(text for text in self.unread if text not in recognized),
            recognized={**self.recognized, **recognized},
        )

    def denies(self, finding: str) -> bool:
        """Return True if the report denies a finding, or a more general one.

        >>> ReportFindings((), (), frozenset({"opacity"})).denies("pneumonia")
        True
        """
        return not self.denied.isdisjoint(ancestors(finding))


def read_findings(reports: Iterable[str], classifier: FindingClassifier) -> dict[str, ReportFindings]:
    """Return the findings of each distinct report. The classifier reads the statements that the rules do not read.

    A statement whose probability is within `LIKELY` is taken for its most probable finding if this is `CERTAIN`, with
    the details that the rules read in it, or in its clause for which the same holds; if it has resolved, the statement
    is left out.

    Args:
        reports: Reports.
        classifier: Classifier of the statements that the rules do not read.

    >>> from radreward.models.finding_classifier import embedded_classifier
    >>> report = "Small left effusion. No edema. Feathery strands at the left base. Rotated film."
    >>> [findings] = read_findings([report], embedded_classifier()).values()
    >>> [fact.finding for fact in findings.facts], findings.unread
    (['effusion'], ('Feathery strands at the left base.',))
    """
    readings = {report: read_report(report) for report in reports}
    unread = list(dict.fromkeys(chain.from_iterable(reading.unread for reading in readings.values())))
    dismissed, impossible = classifier.dismissed(unread, PROBABLE), classifier.dismissed(unread, POSSIBLE)
    probable = classifier.readings(unread)
    certain = {text for text, found in probable.items() if found.share >= CERTAIN}
    normal = {text for text in certain if is_normal_or_past(text)}
    certain -= normal
    dismissed |= normal
    unlikely = normal | classifier.dismissed(unread, LIKELY)
    likely = [text for text in unread if text not in unlikely]  # in order, so that batches are the same in every run
    clauses = classifier.readings(chain.from_iterable(map(clauses_of, likely)))
    words = {
        text: next((part for part in clauses_of(text) if _is_certain(clauses[part], probable[text].finding)), text)
        for text in likely
    }
    stated = {text: fact_in_other_words(words[text], probable[text].finding) for text in likely}
    facts = {text: fact for text, fact in stated.items() if fact}
    resolved = {text for text, fact in facts.items() if not fact.positive}
    dismissed, impossible = dismissed | resolved, impossible | resolved
    recognized = {text: (fact,) for text, fact in facts.items() if fact.positive and text in certain}
    return {report: _findings(reading, dismissed, impossible, recognized) for report, reading in readings.items()}


def _findings(
    reading: ReportReading,
    dismissed: Container[str],
    impossible: Container[str],
    recognized: Mapping[str, tuple[Fact, ...]],
) -> ReportFindings:
    facts = tuple(fact for fact in reading.facts if fact.positive)
    names = {fact.finding for fact in facts}
    own = {text: recognized[text] for text in reading.unread if text in recognized}
    others = dict.fromkeys(fact for stated in own.values() for fact in stated if fact.finding not in names)
    facts = _in_order((*facts, *others))
    denied = {fact.finding for fact in reading.facts if not fact.positive and not fact.change}
    return ReportFindings(
        facts,
        tuple(text for text in dict.fromkeys(reading.unread) if text not in dismissed and text not in own),
        frozenset(denied.difference(*(ancestors(fact.finding) for fact in facts))),
        own,
        tuple(dict.fromkeys(entry.text for entry in reading.partly_read)),
        tuple(text for text in dict.fromkeys(reading.unread) if text in dismissed and text not in impossible),
    )


def _in_order(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: tuple(map(str, fact))))


def describes_finding(text: str, classifier: FindingClassifier) -> bool:
    """Return True if a sentence of a text is within `LIKELY`, and describes a known finding or names a body part.

    It describes a known finding if its most probable one is `CERTAIN`. A sentence about a disease that the vocabulary
    does not know often names a body part; the sides left and right are none. An everyday sentence may describe a
    finding: "Air has leaked from the tyre."

    >>> from radreward.models.finding_classifier import embedded_classifier
    >>> texts = "The backbone bends to the left.", "Arteriovenous malformation of the left lower lobe.", "The cat sat."
    >>> [describes_finding(text, embedded_classifier()) for text in texts]
    [True, True, False]
    """
    sentences = [entry for entry in split_sentences(text[:MAX_REPORT_CHARS]) if not addresses_reader(entry)]
    described = [
        sentence
        for sentence, found in classifier.readings(sentences).items()
        if found.share >= CERTAIN or _names_part(sentence)
    ]
    return len(classifier.dismissed(described, LIKELY)) < len(described)


def _names_part(sentence: str) -> bool:
    return any(
        match.category in _PARTS and not _SIDE.fullmatch(sentence, match.start, match.end)
        for match in match_lexicon(sentence)
    )


def is_report(text: str) -> bool:
    """Return True if a text has a word of a report, or describes a finding in other words.

    >>> is_report("Clear lungs."), is_report("The backbone bends slightly to the left."), is_report("The cat sat.")
    (True, True, False)
    """
    return reads_as_report(text) or describes_finding(text, embedded_classifier())


def fact_in_other_words(statement: str, finding: str) -> Fact | None:
    """Return what a statement states about a finding that it does not name, as if the name were its last word.

    A place may stand in any clause. A denial may belong to other words, as in "lucency without lung markings"; the
    finding is then present, as is one that cannot change in "no longer aligned". None if the statement names the
    finding, or a more general one, which the rules then read by themselves, or did not read since it is denied or only
    asked for.

    >>> fact_in_other_words("Large rim of air around the left lung.", "pneumothorax")[2:4]
    ('left', 'severe')
    >>> fact_in_other_words("On the right, the lines are close together.", "crowding").location
    'right'
    >>> fact_in_other_words("The former fluid is gone.", "effusion").change
    'resolved'
    >>> fact_in_other_words("No pneumothorax, slight volume loss.", "tension")
    """
    if any(fact.finding in ancestors(finding) and not fact.positive for fact in sentence_facts(statement)):
        return None
    if any(mention.finding in ancestors(finding) for mention in find_mentions(statement.lower())):
        return None
    name = FINDINGS[finding].plain_names[0]
    fact = _stated(f"{statement.rstrip(' .')} {name}.", finding)
    if not fact.location:
        as_subject = _stated(f"{name} {_without_clauses(statement)}.", finding)
        fact = fact._replace(location=as_subject.location, severity=fact.severity or as_subject.severity)
    fact = fact._replace(descriptors=tuple(word for word in fact.descriptors if word not in find_descriptors(name)))
    return fact if fact.positive or FINDINGS[finding].can_change else Fact(finding)


def clauses_of(sentence: str) -> list[str]:
    """Return the clauses of at least three words of a sentence, if there are several.

    >>> clauses_of("Air around the lung; a drain is present, unchanged.")
    ['Air around the lung.', 'a drain is present.']
    """
    clauses = [f"{clause}." for clause in _CLAUSE.split(sentence.rstrip(" .")) if len(clause.split()) >= _MIN_WORDS]
    return clauses if len(clauses) > 1 else []


def _is_certain(reading: Reading, finding: str) -> bool:
    return reading.finding == finding and reading.share >= CERTAIN


def _stated(text: str, finding: str) -> Fact:
    facts = described_facts(text)
    return next((fact for fact in facts if fact.finding == finding and fact.is_stated), Fact(finding))


def _without_clauses(statement: str) -> str:
    """Return a statement without marks between clauses, and with a pronoun for each name of a finding.

    >>> _without_clauses("At the base, beside the effusion, lines are close together.")
    'At the base beside the it lines are close together'
    """
    text = statement.rstrip(" .")
    for mention in reversed(find_mentions(lowercase_same_length(text))):
        text = f"{text[: mention.start]}it{text[mention.end :]}"
    return _CLAUSE_MARK.sub(" ", text)
