"""Findings that match, differ, are missed, are invented or are not read, for every scorer with evidence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from radreward.models.finding_classifier import embedded_classifier
from radreward.models.statement_comparison import UNMATCHED, ComparedStatement, FindingKind, compare_statements
from radreward.scorers.chexpert_labels import NO_FINDING
from radreward.scorers.crimson import JudgedFinding, UnreadStatement
from radreward.scorers.explanation import Explanation
from radreward.systems.er2score.statements import StatementEvidence
from radreward.systems.ratescore.quality import EQUAL_COSINE, UNRELATED_COSINE
from radreward.systems.ratescore.scorer import EntityMatch
from radreward.systems.sentence_eval.scorer import JudgedSentence
from radreward.text.entities import FINDING_TYPES
from radreward.types import Side

_IN_BOTH = frozenset({"matched", "differs", "contradicted"})
"""Kinds of a part that has a counterpart in the other report."""
_LIKELY = 0.5
"""Expected errors of a criterion from which a statement is marked."""


@dataclass(frozen=True, slots=True)
class MarkedFinding:
    """A part of a report, with the kind of its match in the other report."""

    side: Side
    """Report that states it."""
    kind: FindingKind
    text: str
    start: int | None = None
    """Offset of the first character in the normalized report; None if the evidence has no position."""
    end: int | None = None
    counterpart: str = ""
    """What the other report states on this finding; empty if nothing."""
    criterion: str = ""
    """Criteria of the errors in it, by their names; empty for evidence without criteria."""
    details: tuple[str, ...] = ()
    """Details that differ, as "severity"; empty if the rules do not read the finding."""

    @property
    def span(self) -> tuple[int, int]:
        """Start and end; (0, 0) without a position."""
        return self.start or 0, self.end or 0


def marked_findings(evidence: Any, texts: Mapping[Side, str]) -> list[MarkedFinding]:
    """Return the findings of a pair; none if the evidence has an unknown form, as that of a custom scorer.

    All scorers that read findings have the same ones where the rules decide, see `compare_statements`. Their evidence
    decides about statements that the rules do not read, and about findings that one of these may match. It adds
    criteria, and other statements with a counterpart or a likely error.

    Args:
        evidence: Evidence of one pair, see `Scores`.
        texts: Both reports, normalized by `normalize_report`.

    >>> evidence = {"missing": [("effusion", "worse")], "extra": []}
    >>> marked_findings(evidence, {Side.REFERENCE: "Effusion, worse.", Side.CANDIDATE: "Clear."})[0].kind
    'missed'
    """
    match evidence:
        case Explanation():
            return list(_from_explanation(evidence))
        case {"reference": dict() as reference, "candidate": dict() as candidate}:
            return list(_from_labels(reference, candidate))
        case {"missing": missing, "extra": extra, **rest} if not rest:
            return [
                MarkedFinding(side, UNMATCHED[side], part if isinstance(part, str) else ", ".join(map(str, part)))
                for side, parts in ((Side.REFERENCE, missing), (Side.CANDIDATE, extra))
                for part in parts
            ]
        case (StatementEvidence(), *_):
            return _complete(_from_statements(evidence), texts)
        case (JudgedSentence(), *_):
            return _complete(_from_sentences(evidence, texts), texts)
        case (EntityMatch(), *_):
            return _complete(_from_entities(evidence), texts)
        case (JudgedFinding() | UnreadStatement(), *_) | {"missing": _, "extra": _, "unread": _}:
            return _complete((), texts)
    return []


def _complete(judged: Iterable[MarkedFinding], texts: Mapping[Side, str]) -> list[MarkedFinding]:
    """Return the findings of the rules, completed by those of a scorer: by report, in text order.

    A finding without an error of its own has the criteria of its counterpart.
    """
    judged, compared = list(judged), compare_statements(texts, embedded_classifier())
    unread = {side: [entry.text for entry in compared if (entry.side, entry.kind) == (side, "unread")] for side in Side}
    found: list[MarkedFinding] = []
    for side in Side:
        statements = [entry for entry in compared if entry.side is side]
        starts, ends = [entry.start for entry in statements], [entry.end for entry in statements]
        own: list[list[MarkedFinding]] = [[] for _ in statements]
        for entry in (entry for entry in judged if entry.side is side):
            numbers = range(bisect_right(ends, entry.span[0]), bisect_left(starts, entry.span[1]))
            wrong = [number for number in numbers if statements[number].kind not in ("matched", None)]
            for number in numbers:  # the errors of a sentence are in those of its findings that do not match
                own[number].append(entry if number in (wrong or numbers) else replace(entry, criterion=""))
            if not numbers and (entry.kind in _IN_BOTH or entry.criterion):
                found.append(entry)
        for statement, entries in zip(statements, own, strict=True):
            found += _of_statement(statement, entries, unread[side.other])
    criteria = {(entry.side.other, entry.text): entry.criterion for entry in found}
    order = list(Side)
    return [
        replace(entry, criterion=entry.criterion or criteria.get((entry.side, entry.counterpart), ""))
        for entry in sorted(found, key=lambda entry: (order.index(entry.side), entry.span))
    ]


def _of_statement(
    statement: ComparedStatement, judged: Sequence[MarkedFinding], unread: Sequence[str]
) -> Iterator[MarkedFinding]:
    """Yield the findings of a statement.

    Args:
        statement: The statement, as the rules compare it.
        judged: What the scorer marks in it.
        unread: Statements of the other report that the rules do not read: if one is the counterpart of a finding or
            denial that the rules do not match, the scorer decides.
    """
    side, start, end, text, kind, counterpart, details, is_probable = statement
    if kind == "unread":
        judged = [entry for entry in judged if is_probable or entry.kind in _IN_BOTH or entry.criterion]
        for entry in judged:
            first, last = max(start, entry.span[0]), min(end, entry.span[1])
            yield replace(entry, text=text[first - start : last - start], start=first, end=last)
        if judged:
            return
    if kind not in _IN_BOTH:
        for entry in judged:
            other = entry.counterpart
            if other and entry.kind in _IN_BOTH and any(other in words or words in other for words in unread):
                kind, counterpart = entry.kind, other
    if kind:
        criterion = ", ".join(dict.fromkeys(entry.criterion for entry in judged if entry.criterion))
        yield MarkedFinding(side, kind, text, start, end, counterpart, criterion, details)


def _from_statements(statements: Sequence[StatementEvidence]) -> Iterator[MarkedFinding]:
    """Yield the statements with a likely error, and the pairs of counterparts of which neither has one.

    The counterpart of a statement that differs gets the same kind.
    """
    by_text = {(entry.side, entry.text): entry for entry in statements}
    for entry in statements:
        other = by_text.get((entry.side.other, entry.counterpart))
        partner = other if other and other.counterpart == entry.text else None
        own, others = _likely_kind(entry), _likely_kind(partner) if partner else None
        kind = own or ("differs" if others == "differs" else "matched" if partner and not others else None)
        if kind:
            criterion = ", ".join(_title(tag) for tag, value in entry.errors.items() if value >= _LIKELY)
            counterpart = entry.counterpart if kind in _IN_BOTH else ""
            yield MarkedFinding(entry.side, kind, entry.text, entry.start, entry.end, counterpart, criterion)


def _likely_kind(entry: StatementEvidence) -> FindingKind | None:
    """Return the kind of the most likely error in a statement, or None if none is likely."""
    tag, value = max(entry.errors.items(), key=lambda item: item[1], default=("", 0.0))
    return _error_kind(tag) if value >= _LIKELY else None


def _from_sentences(sentences: Iterable[JudgedSentence], texts: Mapping[Side, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per sentence; a sentence that occurs twice has two positions."""
    ends = dict.fromkeys(Side, 0)
    for sentence in sentences:
        start = texts[sentence.side].index(sentence.text, ends[sentence.side])
        end = ends[sentence.side] = start + len(sentence.text)
        kind = "contradicted" if sentence.score < 0 else _kind(sentence.side, sentence.score)
        yield MarkedFinding(sentence.side, kind, sentence.text, start, end, " ".join(sentence.matches))


def _from_entities(matches: Iterable[EntityMatch]) -> Iterator[MarkedFinding]:
    """Yield a finding per entity that is not only a body part; the cosine thresholds are those of the quality.

    An entity that one report states and the other one denies is contradicted; a denial without a match is not marked.
    """
    for match in matches:
        entity, side = match.entity, match.side
        if entity.type == "Anatomy":
            continue
        kind = _kind(side, (match.cosine - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE))
        if kind not in _IN_BOTH:
            if entity.type in FINDING_TYPES:
                yield MarkedFinding(side, kind, entity.name, entity.start, entity.end)
            continue
        if (entity.type in FINDING_TYPES) != (match.match.type in FINDING_TYPES):
            kind = "contradicted"
        yield MarkedFinding(side, kind, entity.name, entity.start, entity.end, match.match.name)


def _kind(side: Side, agreement: float) -> FindingKind:
    if agreement >= 1:
        return "matched"
    return "differs" if agreement > 0 else UNMATCHED[side]


def _from_labels(reference: Mapping[str, str], candidate: Mapping[str, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per label of a report; the value in the other report may differ, as positive and negative.

    A label that only one report has is marked if it stands for a finding.
    """
    labels = {Side.REFERENCE: reference, Side.CANDIDATE: candidate}
    for side, own in labels.items():
        other = labels[side.other]
        for label, value in own.items():
            kind: FindingKind = "matched" if other.get(label) == value else "contradicted"
            kind = kind if label in other else UNMATCHED[side]
            if kind in _IN_BOTH or (value != "negative" and label != NO_FINDING):
                yield MarkedFinding(side, kind, f"{_title(label)}: {value}", counterpart=other.get(label, ""))


def _from_explanation(explanation: Explanation) -> Iterator[MarkedFinding]:
    for text in explanation.matched_findings:
        yield MarkedFinding(Side.REFERENCE, "matched", text)
    for tag, descriptions in explanation.errors.items():
        kind = _error_kind(tag)
        for text in descriptions:
            side = Side.REFERENCE if kind == "missed" else Side.CANDIDATE
            yield MarkedFinding(side, kind, text, criterion=_title(tag))


def _error_kind(tag: str) -> FindingKind:
    """Return the kind of a finding with an error of this criterion."""
    if "missing" in tag or "omission" in tag:
        return "missed"
    return "invented" if "false" in tag else "differs"


def _title(tag: str) -> str:
    return tag.replace("_", " ")
