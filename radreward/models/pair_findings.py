"""Findings of two reports, where what one report states helps to read what the other one says in other words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from radreward.models.finding_gate import FindingGate
from radreward.models.finding_names import SimilarName
from radreward.models.report_findings import ReportFindings, fact_in_other_words, read_findings
from radreward.text.fact_matching import match_facts
from radreward.text.facts import Fact
from radreward.text.findings import is_related

_CALLS_NORMAL = re.compile(r"\b(?:clear|(?:re-?)?expanded|gone|intact|normal|normally|removed|unremarkable)\b")
PairFindings = tuple[ReportFindings, ReportFindings]
"""Findings of a reference and of its candidate."""


def read_pairs(
    references: Sequence[str], candidates: Sequence[str], gate: FindingGate, recognize: bool = True
) -> list[PairFindings]:
    """Return the findings of each pair of reports, read by `read_findings` and then in the light of each other.

    If a finding of one report has no match, a statement of the other report is taken for it, provided that its name is
    among the most similar ones, see `SimilarName.near`. The rules must not read the statement, or read it in part,
    match none of its findings, and read none whose name is more similar. No statement is taken that calls something
    normal. To recognize one given finding is easier than to find the right one among all.

    Args:
        references: References.
        candidates: The candidate of each.
        gate: The gate.
        recognize: See `read_findings`.

    >>> from radreward.models.finding_gate import embedded_gate
    >>> other_words = "Lymph glands at both lung roots are swollen."
    >>> [(_, candidate)] = read_pairs(["Hilar adenopathy."], [other_words], embedded_gate(), recognize=False)
    >>> [(fact.finding, fact.location) for fact in candidate.facts]
    [('adenopathy', None)]
    """
    findings = read_findings((*references, *candidates), gate, recognize)
    pairs = list(dict.fromkeys(zip(references, candidates, strict=True)))
    open_pairs = {pair: _OpenPair.of(findings[pair[0]], findings[pair[1]]) for pair in pairs}
    statements = dict.fromkeys(chain.from_iterable(pair.statements() for pair in open_pairs.values()))
    names = gate.similar_names(statements)
    read = {pair: open_pair.read(names) for pair, open_pair in open_pairs.items()}
    return [read[pair] for pair in zip(references, candidates, strict=True)]


class _OpenSide(NamedTuple):
    findings: ReportFindings
    unmatched: tuple[Fact, ...]
    """Findings without a match in the other report."""
    statements: tuple[str, ...]
    """Statements whose findings have no match either, or are not read."""

    def takes(self, wanted: Iterable[Fact], names: Mapping[str, SimilarName]) -> Iterator[tuple[str, Fact]]:
        """Yield the statements that are taken for one of the findings of the other report, with what they state."""
        free = list(self.statements)
        for fact in wanted:
            if self.findings.denies(fact.finding):
                continue
            closest = self._closest(fact.finding, free, names)
            stated = ((text, fact_in_other_words(text, fact.finding)) for text in closest)
            if taken := next(((text, own) for text, own in stated if own and own.positive), None):
                free.remove(taken[0])
                yield taken

    def _closest(self, finding: str, statements: Iterable[str], names: Mapping[str, SimilarName]) -> list[str]:
        """Return the statements that may mean a finding rather than what is read in them, the most similar first."""

        def rank(text: str) -> int:
            return names[text].near.index(finding)

        def means(text: str) -> bool:
            near = names[text].near
            read = {fact.finding for fact in self.findings.partly_read.get(text, ())}
            return finding in near and not _CALLS_NORMAL.search(text.lower()) and read.isdisjoint(near[: rank(text)])

        return sorted(filter(means, statements), key=rank)


class _OpenPair(NamedTuple):
    reference: _OpenSide
    candidate: _OpenSide

    @classmethod
    def of(cls, reference: ReportFindings, candidate: ReportFindings) -> _OpenPair:
        matches = match_facts(reference.facts, candidate.facts)
        sides = []
        for number, findings in enumerate((reference, candidate)):
            matched = {fact.finding for match in matches if all(match) for fact in match[number]}
            unmatched = tuple(fact for match in matches if not match[1 - number] for fact in match[number])
            partly = (text for text, facts in findings.partly_read.items() if not _any_related(facts, matched))
            sides.append(_OpenSide(findings, unmatched, (*findings.unread, *partly)))
        return cls(*sides)

    def statements(self) -> Iterator[str]:
        """Yield the statements that may be taken for a finding of the other report."""
        for own, other in ((self.reference, self.candidate), (self.candidate, self.reference)):
            if other.unmatched:
                yield from own.statements

    def read(self, names: Mapping[str, SimilarName]) -> PairFindings:
        """Return the findings of both reports with the statements that are taken for a finding of the other one."""
        candidate = dict(self.candidate.takes(self.reference.unmatched, names))
        taken = {fact.finding for text in candidate for fact in self.candidate.findings.partly_read.get(text, ())}
        wanted = (fact for fact in self.candidate.unmatched if fact.finding not in taken)
        reference = dict(self.reference.takes(wanted, names))
        return self.reference.findings.with_recognized(reference), self.candidate.findings.with_recognized(candidate)


def _any_related(facts: Iterable[Fact], findings: Collection[str]) -> bool:
    return any(is_related(fact.finding, finding) for fact in facts for finding in findings)
