"""Findings that match, differ, are missed, are invented or are not read, from the evidence of a scorer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from radreward.models.finding_gate import embedded_gate
from radreward.scorers.chexpert_labels import NO_FINDING
from radreward.scorers.crimson import JudgedFinding, UnreadStatement
from radreward.scorers.explanation import Explanation
from radreward.systems.er2score.statements import StatementEvidence, contradicts
from radreward.systems.ratescore.quality import EQUAL_COSINE, UNRELATED_COSINE
from radreward.systems.ratescore.scorer import EntityMatch
from radreward.systems.sentence_eval.scorer import JudgedSentence
from radreward.text.entities import FINDING_TYPES
from radreward.types import ENTITY_TYPES, Side

FindingKind = Literal["matched", "differs", "contradicted", "missed", "invented", "unread"]
_IN_BOTH = frozenset({"matched", "differs", "contradicted"})
"""Kinds of a part that has a counterpart in the other report."""
_LIKELY = 0.5
"""Expected errors of a criterion from which a statement is marked."""
_OTHER_TYPES = frozenset(ENTITY_TYPES) - FINDING_TYPES
"""Types of entities that are no findings: body parts, and what a report denies or calls normal."""
_UNMATCHED: dict[Side, FindingKind] = {Side.REFERENCE: "missed", Side.CANDIDATE: "invented"}


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


def marked_findings(evidence: Any, texts: Mapping[Side, str]) -> list[MarkedFinding]:
    """Return the findings of a pair; none if the evidence has an unknown form, as that of a custom scorer.

    Args:
        evidence: Evidence of one pair, see `Scores`.
        texts: Both reports, normalized by `normalize_report`.

    >>> evidence = {"missing": [("Abnormality", "effusion")], "extra": []}
    >>> marked_findings(evidence, {Side.REFERENCE: "Effusion.", Side.CANDIDATE: "Clear."})[0].kind
    'missed'
    """
    match evidence:
        case Explanation():
            return list(_from_explanation(evidence))
        case {"missing": missing, "extra": extra}:
            unmatched = {Side.REFERENCE: missing, Side.CANDIDATE: extra}
            return [
                MarkedFinding(side, _UNMATCHED[side], _joined(part))
                for side, parts in unmatched.items()
                for part in parts
                if isinstance(part, str) or part[0] not in _OTHER_TYPES
            ]
        case {"reference": dict() as reference, "candidate": dict() as candidate}:
            return list(_from_labels(reference, candidate))
        case (StatementEvidence(), *_):
            return list(_from_statements(evidence))
        case (JudgedSentence(), *_):
            return list(_from_sentences(evidence, texts))
        case (EntityMatch(), *_):
            return list(_from_entities(evidence))
        case (JudgedFinding() | UnreadStatement(), *_):
            return list(_from_judged_findings(evidence))
    return []


def _from_statements(statements: Sequence[StatementEvidence]) -> Iterator[MarkedFinding]:
    """Yield the statements with a likely error, the pairs of counterparts of which neither has one, and unread ones.

    The counterpart of a statement that differs, or that contradicts it, gets the same kind.
    """
    by_text = {(entry.side, entry.text): entry for entry in statements}
    for entry in statements:
        other = by_text.get((entry.side.other, entry.counterpart))
        partner = other if other and other.counterpart == entry.text else None
        kind = _statement_kind(entry, partner)
        if kind is None:
            continue
        both = kind in _IN_BOTH
        criterion = _likely_criteria(entry) or (_likely_criteria(partner) if partner else "")
        yield MarkedFinding(
            entry.side, kind, entry.text, entry.start, entry.end, entry.counterpart if both else "", criterion
        )


def _statement_kind(entry: StatementEvidence, partner: StatementEvidence | None) -> FindingKind | None:
    """Return the kind of a statement; None if no error is likely in it and its match is unknown.

    Args:
        entry: The statement.
        partner: The statement of the other report, if each is the counterpart of the other.
    """
    own = _likely_kind(entry)
    others = _likely_kind(partner) if partner else None
    if own == "differs" or (own is None and others == "differs"):
        return "differs"
    if own or others:
        return "contradicted" if partner and contradicts(entry.text, partner.text) else own
    if partner:
        return "matched"
    return "unread" if entry.is_unread else None


def _likely_kind(entry: StatementEvidence) -> FindingKind | None:
    """Return the kind of the most likely error in a statement, or None if none is likely."""
    tag, value = max(entry.errors.items(), key=lambda item: item[1], default=("", 0.0))
    return _error_kind(tag) if value >= _LIKELY else None


def _likely_criteria(entry: StatementEvidence) -> str:
    return ", ".join(_title(tag) for tag, value in entry.errors.items() if value >= _LIKELY)


def _from_sentences(sentences: Iterable[JudgedSentence], texts: Mapping[Side, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per sentence; a sentence that occurs twice has two positions.

    Without a counterpart, only a sentence that reports a finding is marked: nothing is missed or invented in a denial.
    """
    sentences = list(sentences)
    reporting = embedded_gate().reporting(sentence.text for sentence in sentences)
    ends = dict.fromkeys(Side, 0)
    for sentence in sentences:
        start = texts[sentence.side].index(sentence.text, ends[sentence.side])
        end = ends[sentence.side] = start + len(sentence.text)
        kind = "contradicted" if sentence.score < 0 else _kind(sentence.side, sentence.score)
        if kind in _IN_BOTH or sentence.text in reporting:
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
    return "differs" if agreement > 0 else _UNMATCHED[side]


def _from_labels(reference: Mapping[str, str], candidate: Mapping[str, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per label of a report; the value in the other report may differ, as positive and negative.

    A label that only one report has is marked if it says that the report states a finding.
    """
    labels = {Side.REFERENCE: reference, Side.CANDIDATE: candidate}
    for side, own in labels.items():
        other = labels[side.other]
        for label, value in own.items():
            kind: FindingKind = "matched" if other.get(label) == value else "contradicted"
            kind = kind if label in other else _UNMATCHED[side]
            if kind in _IN_BOTH or (value != "negative" and label != NO_FINDING):
                yield MarkedFinding(side, kind, f"{_title(label)}: {value}", counterpart=other.get(label, ""))


def _from_judged_findings(findings: Iterable[JudgedFinding | UnreadStatement]) -> Iterator[MarkedFinding]:
    """Yield a finding per report that states it; a match differs if a detail does, whether it changes care or not."""
    for entry in findings:
        if isinstance(entry, UnreadStatement):
            yield MarkedFinding(entry.side, "unread", entry.text)
            continue
        texts = {Side.REFERENCE: entry.reference, Side.CANDIDATE: entry.candidate}
        if entry.result != "matched":
            side = Side.REFERENCE if entry.result == "missed" else Side.CANDIDATE
            yield MarkedFinding(side, _UNMATCHED[side], texts[side], counterpart=texts[side.other])
            continue
        for side, text in texts.items():
            kind: FindingKind = "differs" if entry.wrong_details else "matched"
            yield MarkedFinding(
                side, kind, text, counterpart=texts[side.other], criterion=", ".join(entry.wrong_details)
            )


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


def _joined(part: Any) -> str:
    return part if isinstance(part, str) else ", ".join(map(str, part))
