"""Features of the regressed overall score: numbers of sentences per score, of each report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

from radreward.systems.sentence_eval.judgement import (
    SCORE_ORDER,
    SentenceJudgement,
    SentenceScore,
    score_fractions,
    score_probabilities,
)
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.types import Side

FeatureSet = Literal["fractions", "findings"]
FEATURE_SETS: tuple[FeatureSet, ...] = get_args(FeatureSet)
_SENTENCE_COUNT_UNIT = 10.0
"""Divisor of the sentence counts, which gives them the scale of fractions."""
_INSIGNIFICANT_WHEN_FITTED = frozenset(
    {"cardiomegaly", "lvh", "la", "interstitial", "fibrosis", "peribronchial", "bronchiectasis"}
)
"""Findings that count as insignificant here, because the shipped regressor was fitted this way."""
_SCORE_NAMES = ("unmatched", "partial", "equal", "contradiction")


def feature_names(feature_set: FeatureSet) -> tuple[str, ...]:
    """Return the names of the features, as columns.

    Raises:
        ValueError: If the set is unknown.

    >>> feature_names("fractions")[:4]
    ('reference_unmatched', 'reference_partial', 'reference_equal', 'reference_contradiction')
    """
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"Expected `feature_set` to be {' or '.join(FEATURE_SETS)} but got {feature_set!r}.")
    kinds = ("",) if feature_set == "fractions" else ("", "abnormal_", "significant_")
    return tuple(f"{side}_{kind}{score}" for kind in kinds for side in Side for score in _SCORE_NAMES)


def feature_values(
    feature_set: FeatureSet, judgement: SentenceJudgement, reference: Sequence[str], candidate: Sequence[str]
) -> tuple[float, ...] | None:
    """Return the features of a report pair, given as sentences; None if no sentence of a report has a score.

    "fractions" are the eight features of the paper (Zhu et al., 2024, section III.B). They depend neither on the
    content nor on the number of the sentences. "findings" adds sixteen features: the number of sentences with each
    score among those that state an abnormal finding, and among those that state a clinically significant one. Findings
    are detected by the vocabulary of `radreward.text`.

    >>> judgement = SentenceJudgement((SentenceScore(0.0, ()),), (SentenceScore(0.0, ()),), None, "", {}, "ok")
    >>> values = feature_values("findings", judgement, ["Small pneumothorax."], ["Clear lungs."])
    >>> dict(zip(feature_names("findings"), values))["reference_significant_unmatched"]
    0.1
    """
    fractions = score_fractions(judgement)
    if fractions is None or feature_set == "fractions":
        return fractions
    sides = (judgement.reference_scores, reference), (judgement.candidate_scores, candidate)
    return fractions + tuple(
        value for significant in (False, True) for side in sides for value in _count_scores(*side, significant)
    )


def _count_scores(
    scores: Sequence[SentenceScore | None], sentences: Sequence[str], significant: bool
) -> tuple[float, ...]:
    """Return the number of sentences per score, of those with a finding or with a significant one, in feature units."""
    selected = [
        score_probabilities(score)
        for score, text in zip(scores, sentences, strict=True)
        if score is not None and _stated_findings(text)[significant]
    ]
    if not selected:
        return (0.0,) * len(SCORE_ORDER)
    return tuple(sum(column) / _SENTENCE_COUNT_UNIT for column in zip(*selected, strict=True))


@lru_cache(CACHED_SENTENCES)
def _stated_findings(text: str) -> tuple[bool, bool]:
    """Return two flags: if the sentence states a finding, and if it states a clinically significant finding."""
    findings = [FINDINGS[fact.finding] for fact in sentence_facts(text) if fact.positive]
    significant = (finding.is_significant and finding.key not in _INSIGNIFICANT_WHEN_FITTED for finding in findings)
    return bool(findings), any(significant)
