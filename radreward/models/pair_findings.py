"""Findings of a pair of reports: a statement in other words is matched with a finding of the other report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from radreward.models.finding_classifier import POSSIBLE, FindingClassifier, Reading
from radreward.models.report_findings import ReportFindings, clauses_of, fact_in_other_words, read_findings
from radreward.text.fact_matching import match_facts
from radreward.text.facts import Fact
from radreward.text.findings import is_related
from radreward.text.sentence_parser import sentence_facts
from radreward.text.standard_wording import may_report_finding
from radreward.text.unstated import is_normal_or_past


class PairFindings(NamedTuple):
    """Findings of a reference and of its candidate."""

    reference: ReportFindings
    candidate: ReportFindings


def read_pairs(
    references: Sequence[str], candidates: Sequence[str], classifier: FindingClassifier
) -> list[PairFindings]:
    """Return the findings of each pair of reports, read by `read_findings` and completed from the other report.

    To recognize one given finding is easier than to choose among all. So for each finding without a match, the other
    report is searched for a sentence or a clause that may state it. Such words get the finding if

    - it is among the most probable ones, see `Reading.near`, and their probability of a finding is at least `POSSIBLE`,
    - the rules read none of them, or a part without a matched or a more probable finding, and
    - they do not call something normal.

    Args:
        references: References.
        candidates: The candidate of each.
        classifier: Classifier of the statements that the rules do not read.

    >>> from radreward.models.finding_classifier import embedded_classifier
    >>> other_words = "Lymph glands at both lung roots are swollen."
    >>> [(_, candidate)] = read_pairs(["Hilar adenopathy."], [other_words], embedded_classifier())
    >>> [(fact.finding, fact.location) for fact in candidate.facts]
    [('adenopathy', None)]
    """
    findings = read_findings((*references, *candidates), classifier)
    pairs = list(dict.fromkeys(zip(references, candidates, strict=True)))
    open_pairs = {pair: _OpenPair.of(findings[pair[0]], findings[pair[1]]) for pair in pairs}
    texts = set(chain.from_iterable(pair.texts() for pair in open_pairs.values()))
    readings = classifier.readings(texts - classifier.dismissed(sorted(texts), POSSIBLE))
    read = {pair: open_pair.read(readings) for pair, open_pair in open_pairs.items()}
    return [read[pair] for pair in zip(references, candidates, strict=True)]


class _Statement(NamedTuple):
    """A sentence, or a clause of it, that may mean a finding of the other report."""

    text: str
    sentence: str
    read: frozenset[str]
    """Findings that the rules read in it."""
    recognized: frozenset[str]
    """Findings without a match for which its sentence was taken before."""
    matched: frozenset[str] = frozenset()
    """Findings with a match for which the sentence of a clause was taken before."""

    @property
    def replaced(self) -> frozenset[str]:
        """Findings that it no longer states if it is taken for another one."""
        return self.read | self.recognized

    def overlaps(self, other: _Statement) -> bool:
        """Return True if a word belongs to both statements."""
        is_part = self.text != self.sentence and other.text != other.sentence
        return self.sentence == other.sentence and (self.text == other.text or not is_part)

    def means(self, finding: str, readings: Mapping[str, Reading]) -> bool:
        """Return True if it may mean a finding, rather than another one; without a reading, it reports none."""
        near = readings[self.text].near if self.text in readings else ()
        return finding in near and (self.read | self.matched).isdisjoint(near[: near.index(finding)])


class _OpenSide(NamedTuple):
    findings: ReportFindings
    unmatched: tuple[Fact, ...]
    """Findings without a match in the other report."""
    statements: tuple[_Statement, ...]
    """Statements whose findings have no match either, or are not read; none if the other report has no such finding."""

    def take(self, wanted: Iterable[Fact], readings: Mapping[str, Reading]) -> Iterator[tuple[_Statement, Fact]]:
        """Yield the statements that are taken for one of the findings of the other report, with what they state."""
        free = list(self.statements)
        for finding in (fact.finding for fact in wanted if not self.findings.denies(fact.finding)):
            ranked = [
                (readings[entry.text].near.index(finding), len(entry.text), entry)
                for entry in free
                if entry.means(finding, readings)
            ]
            stated = ((entry, fact_in_other_words(entry.text, finding)) for *_, entry in sorted(ranked))
            if taken := next(((entry, fact) for entry, fact in stated if fact and fact.positive), None):
                free = [entry for entry in free if not entry.overlaps(taken[0])]
                yield taken


class _OpenPair(NamedTuple):
    reference: _OpenSide
    candidate: _OpenSide

    @classmethod
    def of(cls, reference: ReportFindings, candidate: ReportFindings) -> _OpenPair:
        matches = match_facts(reference.facts, candidate.facts)
        unmatched = [
            tuple(fact for match in matches if not match[1 - number] for fact in match[number]) for number in (0, 1)
        ]
        sides = []
        for number, findings in enumerate((reference, candidate)):
            matched = {fact.finding for match in matches if all(match) for fact in match[number]}
            statements = _open_statements(findings, matched) if unmatched[1 - number] else ()
            sides.append(_OpenSide(findings, unmatched[number], tuple(statements)))
        return cls(*sides)

    def texts(self) -> Iterator[str]:
        """Yield the statements that may be taken for a finding of the other report."""
        for side in self:
            yield from (entry.text for entry in side.statements)

    def read(self, readings: Mapping[str, Reading]) -> PairFindings:
        """Return the findings of both reports with the statements that are taken for a finding of the other one."""
        candidate = list(self.candidate.take(self.reference.unmatched, readings))
        replaced = {finding for entry, _ in candidate for finding in entry.replaced}
        wanted = (fact for fact in self.candidate.unmatched if fact.finding not in replaced)
        reference = list(self.reference.take(wanted, readings))
        return PairFindings(
            _with_taken(self.reference.findings, reference), _with_taken(self.candidate.findings, candidate)
        )


def _open_statements(findings: ReportFindings, matched: Collection[str]) -> Iterator[_Statement]:
    """Yield the sentences, and the clauses of sentences, in which the rules read nothing, or no matched finding.

    Normal and past states are left out, and sentences of several findings and clauses, of which each may be
    taken by itself.
    """
    for sentence in (*findings.unread, *findings.possible, *findings.recognized, *findings.partly_read):
        recognized = frozenset(fact.finding for fact in findings.recognized.get(sentence, ()))
        matching = frozenset(own for own in recognized if any(is_related(own, other) for other in matched))
        texts = (sentence, *clauses_of(sentence))
        for text in (text for text in texts if not is_normal_or_past(text)):
            read = frozenset(fact.finding for fact in sentence_facts(text) if fact.is_stated)
            if len(read) > 1 and len(texts) > 1 and text == sentence:
                continue
            if any(is_related(own, other) for own in read for other in matched) or (matching and text == sentence):
                continue
            if read or may_report_finding(text):
                yield _Statement(text, sentence, read, recognized - matching, matching)


def _with_taken(findings: ReportFindings, taken: Iterable[tuple[_Statement, Fact]]) -> ReportFindings:
    recognized = defaultdict[str, tuple[Fact, ...]](tuple)
    replaced: set[str] = set()
    for entry, fact in taken:
        recognized[entry.sentence] += (fact,)
        replaced |= entry.replaced
    for sentence, facts in recognized.items():  # other clauses keep what they state
        before = (fact for fact in findings.recognized.get(sentence, ()) if fact.finding not in replaced)
        recognized[sentence] = (*before, *facts)
    return findings.with_recognized(recognized, replaced) if recognized else findings
