"""Findings of two reports, compared by rules where the rules read both; the rest is left to a scorer's own measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from radreward.criteria import finding_quality
from radreward.models.report_findings import ReportFindings
from radreward.text.fact_differences import DETAIL_WEIGHT, find_differences, omits_place
from radreward.text.fact_matching import FactMatch, match_facts
from radreward.text.facts import Fact, describe_fact
from radreward.text.lexicon import head_word
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.significance import UNKNOWN_WEIGHT, patient_weight

if TYPE_CHECKING:
    from torch import Tensor

_MINOR_WEIGHT = 0.1
"""Weight of details that differ without changing care."""
_OMITTED_PLACE_WEIGHT = 0.05
"""Weight of a place that only the reference states."""
_TIE_SHARE = 0.005
"""Largest share by which words alone lower a quality."""


class OpenFinding(NamedTuple):
    """A finding that the rules match with none of the other report."""

    words: str
    """Its standard words, or those of the report if the rules do not know them."""
    weight: float
    """Weight of its significance."""
    fact: Fact | None
    """The finding as the rules read it; None if they do not know its words."""


class FindingComparison(NamedTuple):
    """Weights of what the rules decide about two reports, and the findings that they leave open."""

    right: float
    wrong: float
    reference: tuple[OpenFinding, ...]
    candidate: tuple[OpenFinding, ...]

    def decided(self) -> tuple[float, float]:
        """Return the quality of what rules decide, and its share of the weight, both in [0, 1].

        They decide about all facts. One without a match is wrong, since `read_pairs` has searched the unread words of
        the other report for it.

        >>> scar, odd = OpenFinding("scar", 0.25, Fact("scar")), OpenFinding("odd lines", 0.25, None)
        >>> FindingComparison(0.5, 0.0, (scar,), ()).decided()
        (0.75, 1.0)
        >>> FindingComparison(0.5, 0.0, (scar,), (odd,)).decided()
        (0.75, 0.75)
        """
        open_findings = (*self.reference, *self.candidate)
        wrong = self.wrong + sum(finding.weight for finding in open_findings if finding.fact)
        undecided = sum(finding.weight for finding in open_findings if not finding.fact)
        decided = self.right + wrong
        return finding_quality(self.right, wrong), decided / (decided + undecided) if undecided else 1.0

    def quality(self, agreements: tuple[Sequence[float], Sequence[float]]) -> float:
        """Return `finding_quality`, given how far each open finding agrees with the other report.

        An open finding of weight w and agreement a adds w·(1 - a) to the wrong weight. One of the reference also adds
        w·a to the right weight.

        Args:
            agreements: In [0, 1], of the open findings of the reference, and of those of the candidate.

        >>> scar = OpenFinding("scar", 0.25, None)
        >>> FindingComparison(0.5, 0.0, (scar,), ()).quality(([1.0], []))
        1.0
        >>> FindingComparison(0.0, 0.0, (scar,), ()).quality(([0.0], []))
        0.5
        """
        right, wrong = self.right, self.wrong
        for finding, agreement in zip(self.reference, agreements[0], strict=True):
            right += finding.weight * agreement
            wrong += finding.weight * (1 - agreement)
        for finding, agreement in zip(self.candidate, agreements[1], strict=True):
            wrong += finding.weight * (1 - agreement)
        return finding_quality(right, wrong)

    def quality_by_similarity(self, similarities: Sequence[Sequence[float]]) -> float:
        """Return the quality if an open finding agrees with the most similar one of the other report.

        Two findings that the rules read are different, however similar their words are.

        Args:
            similarities: (m, n) in [0, 1], of m open findings of the reference and n of the candidate.

        >>> effusion, scar, water = Fact("effusion"), Fact("scar"), OpenFinding("water in the pleura", 0.25, None)
        >>> rest = OpenFinding("effusion", 0.5, effusion), OpenFinding("scar", 0.25, scar)
        >>> FindingComparison(0.0, 0.0, rest[:1], rest[1:]).quality_by_similarity([[0.9]])
        0.25
        >>> FindingComparison(0.0, 0.0, rest[:1], (water,)).quality_by_similarity([[1.0]])
        1.0
        """
        allowed = [
            [value * (own.fact is None or other.fact is None) for other, value in zip(self.candidate, row, strict=True)]
            for own, row in zip(self.reference, similarities, strict=True)
        ]
        best = [max(row, default=0.0) for row in allowed]
        best_of_candidate = [max(column) for column in zip(*allowed, strict=True)] or [0.0] * len(self.candidate)
        return self.quality((best, best_of_candidate))

    def quality_by_head_word(self) -> float:
        """Return the quality if an open finding agrees with one of the same head word, see `head_word`.

        Two findings that the rules read are different, as in `quality_by_similarity`.
        """
        heads = [[head_word(finding.words) for finding in side] for side in (self.reference, self.candidate)]
        unread = [
            {head for finding, head in zip(side, own, strict=True) if finding.fact is None}
            for side, own in zip((self.reference, self.candidate), heads, strict=True)
        ]

        def agreements(number: int) -> list[float]:
            every = set(heads[1 - number])
            findings = (self.reference, self.candidate)[number]
            return [
                float(head in (every if finding.fact is None else unread[1 - number]))
                for finding, head in zip(findings, heads[number], strict=True)
            ]

        return self.quality((agreements(0), agreements(1)))


def break_ties(quality: Tensor, similarity: Tensor) -> Tensor:
    """Return q·(1 - 0.005·(1 - s)): of two candidates with the same findings, the one in more similar words is better.

    Args:
        quality: (n,) qualities q.
        similarity: (n,) similarities s of all words in [0, 1]; unknown ones (NaN) count as 1.

    >>> import torch
    >>> break_ties(torch.tensor([1.0, 1.0, 0.5]), torch.tensor([1.0, 0.8, torch.nan]))
    tensor([1.0000, 0.9990, 0.5000])
    """
    return quality * (1 - _TIE_SHARE * (1 - similarity.nan_to_num(1.0)))


def compare_findings(
    reference: ReportFindings, candidate: ReportFindings, context: PatientContext = NO_CONTEXT
) -> FindingComparison:
    """Match the facts of two reports, see `match_facts`, and leave the other findings open, unless one is denied.

    Matched facts agree by a = 1 - ½ per detail that changes care - 0.1 per other detail that differs, see
    `find_differences`, - 0.05 if the candidate omits the place, see `omits_place`; at least 0. They add w·a to the
    right and (w + w')·(1 - a) to the wrong weight, where w and w' are the weights of the facts of the reference and of
    the candidate, see `patient_weight`. A finding that the other report denies is wrong, whatever that report says in
    other words.

    >>> left, right = Fact("effusion", location="left"), Fact("effusion", location="right")
    >>> compare_findings(ReportFindings((left, Fact("scar")), ()), ReportFindings((right,), ()))[:2]
    (0.25, 0.5)
    """
    right = wrong = 0.0
    unmatched: tuple[list[Fact], list[Fact]] = ([], [])
    for match in match_facts(reference.facts, candidate.facts):
        if match.reference and match.candidate:
            weights = [sum(patient_weight(fact, context) for fact in side) for side in match]
            agreement = _agreement(match)
            right += weights[0] * agreement
            wrong += sum(weights) * (1 - agreement)
            continue
        for side, other, facts in zip(unmatched, (candidate, reference), match, strict=True):
            for fact in facts:
                if other.denies(fact.finding):
                    wrong += patient_weight(fact, context)
                else:
                    side.append(fact)
    first, second = (
        (
            *(OpenFinding(describe_fact(fact), patient_weight(fact, context), fact) for fact in facts),
            *(OpenFinding(text, UNKNOWN_WEIGHT, None) for text in report.unread),
        )
        for facts, report in zip(unmatched, (reference, candidate), strict=True)
    )
    return FindingComparison(right, wrong, first, second)


def _agreement(match: FactMatch) -> float:
    """Return the agreement of matched facts, in [0, 1]."""
    weights: Iterator[float] = (
        DETAIL_WEIGHT if entry.changes_care else _MINOR_WEIGHT for entry in find_differences(match)
    )
    return max(0.0, 1 - sum(weights) - _OMITTED_PLACE_WEIGHT * omits_place(match))
