"""What an overall score is predicted from: how many sentences of either report have which score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, get_args

from radreward.systems.sentence_eval.judges.base import SHARED, chances, shares
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import read
from radreward.types import SentenceJudgement, SentenceScore

FeatureSet = Literal["shares", "findings"]
FEATURE_SETS: tuple[FeatureSet, ...] = get_args(FeatureSet)
TEN = 10.0
"""Counts are in tens of sentences, so that they are of the size of shares."""
_SIDES = ("reference", "candidate")
_SCORES = ("alone", "partly", "same", "contrary")


def feature_names(features: FeatureSet) -> tuple[str, ...]:
    """Names of the features, as columns.

    Raises:
        ValueError: If there is no such set.

    >>> feature_names("shares")[:4]
    ('reference_alone', 'reference_partly', 'reference_same', 'reference_contrary')
    """
    if features not in FEATURE_SETS:
        raise ValueError(f"Expected `features` to be {' or '.join(FEATURE_SETS)} but got {features!r}.")
    kinds = ("",) if features == "shares" else ("", "abnormal_", "urgent_")
    return tuple(f"{side}_{kind}{score}" for kind in kinds for side in _SIDES for score in _SCORES)


def feature_values(
    features: FeatureSet, judgement: SentenceJudgement, original: Sequence[str], predicted: Sequence[str]
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
    found = shares(judgement)
    if found is None or features == "shares":
        return found
    sides = (judgement.original, original), (judgement.predicted, predicted)
    kinds: tuple[Callable[[str], bool], ...] = (_abnormal, _urgent)
    return found + tuple(value for states in kinds for side in sides for value in _counts(*side, states))


def _counts(
    entries: Sequence[SentenceScore | None], texts: Sequence[str], states: Callable[[str], bool]
) -> tuple[float, ...]:
    """How many of some sentences have each score, in tens."""
    kept = [chances(entry) for entry, text in zip(entries, texts, strict=True) if entry is not None and states(text)]
    return tuple(sum(column) / TEN for column in zip(*kept, strict=True)) if kept else (0.0,) * len(SHARED)


def _abnormal(text: str) -> bool:
    return _states(text)[0]


def _urgent(text: str) -> bool:
    return _states(text)[1]


@lru_cache(100_000)
def _states(text: str) -> tuple[bool, bool]:
    """Whether a sentence states a finding, and one that matters for the patient's care."""
    stated = [FINDINGS[fact.finding] for fact in read(text).facts if fact.positive]
    return bool(stated), any(finding.matters for finding in stated)
