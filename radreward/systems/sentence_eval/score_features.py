"""What an overall score is predicted from: how many sentences of either report have which score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, get_args

from radreward.systems.sentence_eval.judges.base import SCORE_ORDER, score_fractions, score_probabilities
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import parse_sentence
from radreward.types import SentenceJudgement, SentenceScore

FeatureSet = Literal["shares", "findings"]
FEATURE_SETS: tuple[FeatureSet, ...] = get_args(FeatureSet)
SENTENCE_COUNT_UNIT = 10.0
"""Counts are in tens of sentences, so that they are of the size of shares."""
_SIDES = ("reference", "candidate")
_SCORES = ("alone", "partly", "same", "contrary")


def feature_names(feature_set: FeatureSet) -> tuple[str, ...]:
    """Names of the features, as columns.

    Raises:
        ValueError: If there is no such set.

    >>> feature_names("shares")[:4]
    ('reference_alone', 'reference_partly', 'reference_same', 'reference_contrary')
    """
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"Expected `features` to be {' or '.join(FEATURE_SETS)} but got {feature_set!r}.")
    kinds = ("",) if feature_set == "shares" else ("", "abnormal_", "urgent_")
    return tuple(f"{side}_{kind}{score}" for kind in kinds for side in _SIDES for score in _SCORES)


def feature_values(
    feature_set: FeatureSet, judgement: SentenceJudgement, reference: Sequence[str], candidate: Sequence[str]
) -> tuple[float, ...] | None:
    """The features of a pair of reports; None where a report has no score at all.

    "shares" are the eight of the paper (Zhu et al., 2024, section III.B). They tell a wrong sentence about a normal
    heart from one about a tumour as little as one wrong sentence of two from five of ten. "findings" adds sixteen: how
    many sentences have each score among those that state something abnormal, and among those that state something
    urgent or actionable, as our vocabulary reads them.

    Args:
        features: Which set.
        judgement: The scores of the sentences.
        original: The sentences of the reference.
        predicted: Those of the candidate.

    >>> judged = SentenceJudgement((SentenceScore(0.0, ()),), (SentenceScore(0.0, ()),), None, "", {}, "ok")
    >>> values = feature_values("findings", judged, ["Small pneumothorax."], ["Clear lungs."])
    >>> dict(zip(feature_names("findings"), values))["reference_urgent_alone"]
    0.1
    """
    found = score_fractions(judgement)
    if found is None or feature_set == "shares":
        return found
    sides = (judgement.reference_scores, reference), (judgement.candidate_scores, candidate)
    kinds: tuple[Callable[[str], bool], ...] = (_states_finding, _states_significant_finding)
    return found + tuple(value for states in kinds for side in sides for value in _count_scores(*side, states))


def _count_scores(
    scores: Sequence[SentenceScore | None], sentences: Sequence[str], selects: Callable[[str], bool]
) -> tuple[float, ...]:
    """How many of some sentences have each score, in tens."""
    kept = [
        score_probabilities(entry)
        for entry, text in zip(scores, sentences, strict=True)
        if entry is not None and selects(text)
    ]
    return (
        tuple(sum(column) / SENTENCE_COUNT_UNIT for column in zip(*kept, strict=True))
        if kept
        else (0.0,) * len(SCORE_ORDER)
    )


def _states_finding(text: str) -> bool:
    return _stated_findings(text)[0]


def _states_significant_finding(text: str) -> bool:
    return _stated_findings(text)[1]


@lru_cache(100_000)
def _stated_findings(text: str) -> tuple[bool, bool]:
    """Whether a sentence states a finding, and one that matters for the patient's care."""
    stated = [FINDINGS[fact.finding] for fact in parse_sentence(text).facts if fact.positive]
    return bool(stated), any(finding.is_significant for finding in stated)
