"""Findings that match, differ, are missed, are invented or are not read, as a page marks them in both reports."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from radreward.models.finding_classifier import embedded_classifier
from radreward.models.statement_comparison import UNMATCHED, ComparedStatement, FindingKind, compare_statements
from radreward.types import Side

IN_BOTH = frozenset({"matched", "differs", "contradicted"})
"""Kinds of a part that has a counterpart in the other report."""


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


def complete_findings(texts: Mapping[Side, str], judged: Iterable[MarkedFinding] = ()) -> list[MarkedFinding]:
    """Return the findings of the rules, completed by those of a scorer: by report, in text order.

    All scorers that read findings have the same ones where the rules decide, see `compare_statements`. What a scorer
    judges decides about statements that the rules do not read, and about findings that one of these may match. It adds
    criteria, and other statements with a counterpart or a likely error. A finding without an error of its own has the
    criteria of its counterpart.

    Args:
        texts: Both reports, normalized by `normalize_report`.
        judged: What the scorer marks by itself.

    >>> texts = {Side.REFERENCE: "Effusion.", Side.CANDIDATE: "Clear lungs."}
    >>> [(finding.text, finding.kind) for finding in complete_findings(texts)]
    [('Effusion.', 'missed')]
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
            if not numbers and (entry.kind in IN_BOTH or entry.criterion):
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
        judged = [entry for entry in judged if is_probable or entry.kind in IN_BOTH or entry.criterion]
        for entry in judged:
            first, last = max(start, entry.span[0]), min(end, entry.span[1])
            yield replace(entry, text=text[first - start : last - start], start=first, end=last)
        if judged:
            return
    if kind not in IN_BOTH:
        for entry in judged:
            other = entry.counterpart
            if other and entry.kind in IN_BOTH and any(other in words or words in other for words in unread):
                kind, counterpart = entry.kind, other
    if kind:
        criterion = ", ".join(dict.fromkeys(entry.criterion for entry in judged if entry.criterion))
        yield MarkedFinding(side, kind, text, start, end, counterpart, criterion, details)


def unmatched_parts(evidence: Mapping[str, Iterable[str | Sequence[object]]]) -> list[MarkedFinding]:
    """Return the parts that are missing in the candidate, and those that it has in addition.

    >>> unmatched_parts({"missing": [("effusion", "worse")], "extra": []})[0].text
    'effusion, worse'
    """
    return [
        MarkedFinding(side, UNMATCHED[side], part if isinstance(part, str) else ", ".join(map(str, part)))
        for side, field in ((Side.REFERENCE, "missing"), (Side.CANDIDATE, "extra"))
        for part in evidence[field]
    ]


def kind_by_agreement(side: Side, agreement: float) -> FindingKind:
    """Return the kind of a part of a report that agrees with the other report: 1 fully, 0 not at all."""
    if agreement >= 1:
        return "matched"
    return "differs" if agreement > 0 else UNMATCHED[side]


def kind_of_error(tag: str) -> FindingKind:
    """Return the kind of a finding with an error of this criterion.

    >>> [kind_of_error(tag) for tag in ("omission", "false_prediction", "incorrect_severity")]
    ['missed', 'invented', 'differs']
    """
    if "missing" in tag or "omission" in tag:
        return "missed"
    return "invented" if "false" in tag else "differs"


def criterion_name(tag: str) -> str:
    """Return the tag of a criterion in words."""
    return tag.replace("_", " ")
