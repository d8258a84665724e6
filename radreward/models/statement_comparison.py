"""Statements of two reports, each with what the rules decide about it, the same for every scorer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import chain, groupby, islice
from typing import Generic, Literal, NamedTuple, TypeVar

from radreward.models.finding_classifier import POSSIBLE, FindingClassifier
from radreward.models.pair_findings import read_pairs
from radreward.models.report_findings import ReportFindings
from radreward.text.fact_differences import Detail, find_differences, omits_place
from radreward.text.fact_matching import FactMatch, is_included, match_facts
from radreward.text.fact_statements import FactStatement, report_statements
from radreward.text.facts import Fact
from radreward.text.findings import ancestors, is_related
from radreward.text.report_reading import read_report
from radreward.types import Side

T = TypeVar("T")
OMITTED_PLACE: Literal["omitted location"] = "omitted location"
"""A place that only the reference states: the finding is the same one, less precisely."""
FindingKind = Literal["matched", "differs", "contradicted", "missed", "invented", "unread"]
UNMATCHED: Mapping[Side, FindingKind] = {Side.REFERENCE: "missed", Side.CANDIDATE: "invented"}
"""Kind of a finding that only this report states."""


class ComparedStatement(NamedTuple):
    """A statement, and what the other report states on its findings."""

    side: Side
    """Report that contains it."""
    start: int
    end: int
    text: str
    kind: FindingKind | None
    """None for a denial without a counterpart."""
    counterpart: str = ""
    """Statements of the other report on the same findings; empty if there are none."""
    details: tuple[Detail | Literal["omitted location"], ...] = ()
    """Details that differ, and `OMITTED_PLACE`."""
    is_probable: bool = True
    """False for an unread statement that only may report a finding; no quality counts it."""


class _Judgement(NamedTuple):
    kind: FindingKind
    counterparts: Sequence[FactStatement] = ()
    details: tuple[Detail | Literal["omitted location"], ...] = ()


def compare_statements(reports: Mapping[Side, str], classifier: FindingClassifier) -> list[ComparedStatement]:
    """Return the statements with findings or denials of both reports, those of the reference first, in text order.

    Facts are matched by `match_facts`. A finding that the other report denies or calls resolved is contradicted, and so
    is the denial. A statement of several findings of different kinds differs. "unread" are statements without facts
    that may report a finding, see `POSSIBLE`; others without facts, such as most of the technique, are left out.

    Args:
        reports: Both reports, normalized by `normalize_report`.
        classifier: Classifier of the statements that the rules do not read.

    >>> from radreward.models.finding_classifier import embedded_classifier
    >>> texts = {Side.REFERENCE: "Left effusion. Scar. No edema.", Side.CANDIDATE: "Right effusion. Mild edema."}
    >>> [(entry.side, entry.kind, entry.details) for entry in compare_statements(texts, embedded_classifier())[:3]]
    [('reference', 'differs', ('location',)), ('reference', 'missed', ()), ('reference', 'contradicted', ())]
    """
    texts = reports[Side.REFERENCE], reports[Side.CANDIDATE]
    [pair] = read_pairs([texts[0]], [texts[1]], classifier)
    findings = {Side.REFERENCE: pair.reference, Side.CANDIDATE: pair.candidate}
    facts = {side: entry.all_facts(read_report(reports[side]).facts) for side, entry in findings.items()}
    matches = match_facts(facts[Side.REFERENCE], facts[Side.CANDIDATE])
    sides = [_ReportSide(side, reports[side], findings[side], matches) for side in Side]
    unread = [text for report in reports.values() for text in read_report(report).unread]
    possible = frozenset(unread) - classifier.dismissed(unread, POSSIBLE)
    compared: list[ComparedStatement] = []
    for own, other in (sides, sides[::-1]):
        for statement in own.statements:
            place = own.side, statement.start, statement.end, own.words(statement)
            if statement.sentence in possible and not statement.facts:
                is_probable = statement.sentence in own.findings.unread
                compared.append(ComparedStatement(*place, "unread", is_probable=is_probable))
            elif statement.facts:
                judgements = list(own.judge(statement, other))
                kind = _common_kind({entry.kind for entry in judgements})
                if kind == "contradicted":
                    judgements = [entry for entry in judgements if entry.kind == kind]
                counterparts = dict.fromkeys(chain.from_iterable(entry.counterparts for entry in judgements))
                words = " ".join(dict.fromkeys(other.words(entry) for entry in counterparts))
                details = tuple(dict.fromkeys(chain.from_iterable(entry.details for entry in judgements)))
                compared.append(ComparedStatement(*place, kind, words, details))
    return compared


def _common_kind(kinds: Set[FindingKind]) -> FindingKind | None:
    if len(kinds) < 2:
        return next(iter(kinds), None)
    return "contradicted" if "contradicted" in kinds else "differs"


def _with_recognized(statements: Iterable[FactStatement], findings: ReportFindings) -> Iterator[FactStatement]:
    """Yield the statements with what is recognized in their sentence, in place of findings that this replaces.

    In a sentence of several statements, what is recognized belongs to those without other findings, or to the first.
    """
    stated = {fact.finding for fact in findings.facts}
    for sentence, entries in groupby(statements, key=lambda entry: entry.sentence):
        recognized = findings.recognized.get(sentence, ())
        own = [
            entry._replace(facts=tuple(fact for fact in entry.facts if not fact.positive or fact.finding in stated))
            for entry in entries
        ]
        others = [entry for entry in own if not entry.facts] or own[:1]
        yield from (entry._replace(facts=(*entry.facts, *recognized)) if entry in others else entry for entry in own)


class _ReportSide:
    """Statements of a report, and the matches of their facts."""

    def __init__(self, side: Side, text: str, findings: ReportFindings, matches: Sequence[FactMatch]) -> None:
        self.side, self.text, self.findings, self.matches = side, text, findings, matches
        self.statements = list(_with_recognized(report_statements(text), findings))
        self._number = list(Side).index(side)
        stated = [(fact, entry) for entry in self.statements for fact in entry.facts if fact.is_stated]
        self._statements_of = cache(_Closest(stated).to)
        self._matches_of = cache(_Closest([(fact, match) for match in matches for fact in match[self._number]]).to)

    def words(self, statement: FactStatement) -> str:
        """Return the text of a statement."""
        return self.text[statement.start : statement.end]

    def judge(self, statement: FactStatement, other: _ReportSide) -> Iterator[_Judgement]:
        """Yield what the matches of each fact say about it; denials without a counterpart give nothing."""
        for fact in statement.facts:
            if fact.is_stated:
                for match in self._matches_of(fact):
                    yield self._judge_match(match, other)
            elif fact.finding in self.findings.denied:
                yield from self._judge_denial(fact.finding, other)

    def _judge_match(self, match: FactMatch, other: _ReportSide) -> _Judgement:
        own, others = match[self._number], match[other._number]
        if others:
            counterparts = tuple(chain.from_iterable(other._statements_of(fact)[:1] for fact in others))
            if match.result != "matched":
                return _Judgement("contradicted", counterparts)
            details = tuple(entry.detail for entry in find_differences(match))
            omitted = (OMITTED_PLACE,) if omits_place(match) else ()
            return _Judgement("differs" if details else "matched", counterparts, (*details, *omitted))
        denials = other._denials_of(own[0]) if other.findings.denies(own[0].finding) else ()
        return _denied(own[0], denials) if denials else _Judgement(UNMATCHED[self.side])

    def _judge_denial(self, denied: str, other: _ReportSide) -> Iterator[_Judgement]:
        """Yield a judgement per finding that only the other report states, else a match if it denies the same."""
        stated = [match[other._number] for match in self.matches if not match[self._number]]
        refuted = [facts[0] for facts in stated if denied in ancestors(facts[0].finding)]
        for fact in refuted:
            yield _denied(fact, other._statements_of(fact)[:1])
        if not refuted and denied in other.findings.denied:
            yield _Judgement("matched", other._denials_of(Fact(denied)))

    def _denials_of(self, stated: Fact) -> tuple[FactStatement, ...]:
        """Return the first statement that denies a finding, or a more general one."""
        names = self.findings.denied.intersection(ancestors(stated.finding))
        denying = (
            entry
            for entry in self.statements
            if any(fact.finding in names and not fact.is_stated for fact in entry.facts)
        )
        return tuple(islice(denying, 1))


def _denied(fact: Fact, counterparts: tuple[FactStatement, ...]) -> _Judgement:
    """Return the judgement of a finding that one report states and the other one denies; if resolved, both agree."""
    if fact.positive:
        return _Judgement("contradicted", counterparts)
    return _Judgement("differs", counterparts, ("change",))


class _Closest(Generic[T]):
    """Values by fact; they are looked up by a fact with fewer or more details."""

    def __init__(self, entries: Iterable[tuple[Fact, T]]) -> None:
        self._entries = defaultdict[str, list[tuple[Fact, T]]](list)
        for fact, value in entries:
            self._entries[fact.finding].append((fact, value))

    def to(self, fact: Fact) -> tuple[T, ...]:
        """Return what belongs to the closest facts about the finding or a related one; empty if there are none."""
        related = (entries for name, entries in self._entries.items() if is_related(name, fact.finding))
        found = [(_closeness(fact, other), value) for other, value in chain.from_iterable(related)]
        best = max((closeness for closeness, _ in found), default=0)
        return tuple(value for closeness, value in found if best and closeness == best)


def _closeness(fact: Fact, other: Fact) -> int:
    """Return how surely two facts about related findings are one, from 0 (they are not) to 4 (they are equal)."""
    if fact.undescribed == other.undescribed:
        return 4
    if fact.positive != other.positive:
        return 0
    return 3 if is_included(fact, other) or is_included(other, fact) else 1 + (fact.finding == other.finding)
