"""Judgements of report pairs, sentence by sentence, and functions of their scores (Zhu et al., 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from radreward.data.relation_io import RELATION_SCORES

SCORE_ORDER = (0.0, 0.5, 1.0, -1.0)
"""Order of the scores in probabilities and features (section III.B)."""


class SentenceScore(NamedTuple):
    """Agreement of a sentence with the other report."""

    score: float
    """1 equal, 0.5 partial, -1 contradicted, 0 no counterpart. Means of repetitions lie between these values."""
    matches: tuple[int, ...]
    """Indices of the matching sentences in the other report."""
    probabilities: tuple[float, ...] | None = None
    """Probabilities of the scores in `SCORE_ORDER`: predicted by a model, or fractions of the repetitions; None if only
    `score` is available."""


class SentenceJudgement(NamedTuple):
    """Judgement of a report pair, sentence by sentence."""

    reference_scores: tuple[SentenceScore | None, ...]
    """(m) scores of the reference's sentences; None for a sentence without a score."""
    candidate_scores: tuple[SentenceScore | None, ...]
    """(n) scores of the candidate's sentences."""
    overall: float | None
    """From 0 (poor) to 5 (excellent); None if unavailable."""
    explanation: str
    """Reasoning; may be empty."""
    format_errors: dict[str, int]
    """Number of format errors of the answer by kind, see `radreward.systems.sentence_eval.parser.FORMAT_ERRORS`."""
    status: str
    """"ok", "partial: " with the missing part, or the reason why there is no judgement."""


def average_judgements(judgements: Sequence[SentenceJudgement]) -> SentenceJudgement:
    """Return the mean of repeated judgements of one report pair.

    For each sentence, repetitions without a score are ignored. The score of the sentence is the mean of the other
    repetitions. Its counterparts are the sentences that more than half of these repetitions match with it. Its
    probabilities are the fractions of these repetitions per score. The explanation comes from the repetition whose
    overall score is closest to the mean. The status is "ok" if all repetitions are "ok". Otherwise, it contains the
    number of failed repetitions and the first reason.

    Raises:
        ValueError: If there is no judgement, or they are of different reports.

    >>> first = SentenceJudgement((SentenceScore(1.0, (0,)),), (), 4.0, "good", {}, "ok")
    >>> second = SentenceJudgement((SentenceScore(0.5, (0,)),), (), 3.0, "fair", {"prose": 1}, "ok")
    >>> mean = average_judgements([first, first, second])
    >>> mean.reference_scores[0].score, mean.reference_scores[0].matches, mean.overall, mean.explanation
    (0.8333333333333334, (0,), 3.6666666666666665, 'good')
    >>> mean.reference_scores[0].probabilities
    (0.0, 0.3333333333333333, 0.6666666666666666, 0.0)
    """
    if len({(len(entry.reference_scores), len(entry.candidate_scores)) for entry in judgements}) != 1:
        raise ValueError("Expected at least one judgement, all of the same report pair.")
    rated = [(entry.overall, entry.explanation) for entry in judgements if entry.overall is not None]
    overall = sum(value for value, _ in rated) / len(rated) if rated else None
    closest = min(rated, key=lambda entry: abs(entry[0] - (overall or 0.0)), default=(None, judgements[0].explanation))
    format_errors: Counter[str] = Counter()
    for entry in judgements:
        format_errors.update(entry.format_errors)
    return SentenceJudgement(
        tuple(map(_average_scores, zip(*(entry.reference_scores for entry in judgements), strict=True))),
        tuple(map(_average_scores, zip(*(entry.candidate_scores for entry in judgements), strict=True))),
        overall,
        closest[1],
        dict(format_errors),
        _average_status(judgements),
    )


def _average_scores(repetitions: Sequence[SentenceScore | None]) -> SentenceScore | None:
    scores = [score for score in repetitions if score is not None]
    if not scores:
        return None
    counts = Counter(match for score in scores for match in score.matches)
    majority = sorted(match for match, count in counts.items() if 2 * count > len(scores))
    columns = zip(*(score_probabilities(score) for score in scores), strict=True)
    mean = tuple(sum(column) / len(scores) for column in columns) if len(scores) > 1 else scores[0].probabilities
    return SentenceScore(sum(score.score for score in scores) / len(scores), tuple(majority), mean)


def _average_status(judgements: Sequence[SentenceJudgement]) -> str:
    failed = [entry.status for entry in judgements if entry.status != "ok"]
    if not failed or len(judgements) == 1:
        return failed[0] if failed else "ok"
    return f"partial: {len(failed)} of {len(judgements)} repetitions, the first because of {failed[0]}"


def score_probabilities(score: SentenceScore) -> tuple[float, ...]:
    """Return the probabilities of the scores in `SCORE_ORDER`, one-hot if only the score is available.

    >>> score_probabilities(SentenceScore(1.0, (0,)))
    (0.0, 0.0, 1.0, 0.0)
    """
    return score.probabilities or tuple(float(value == score.score) for value in SCORE_ORDER)


def score_fractions(judgement: SentenceJudgement) -> tuple[float, ...] | None:
    """Return the fractions of the scores 0, 0.5, 1 and -1 among the reference sentences, then the candidate sentences.

    These eight numbers are the features of the regressed overall score (section III.B). Probabilities contribute their
    mean. Sentences without a score are ignored. The result is None if no sentence of a report has a score.

    >>> reference_scores = SentenceScore(1.0, ()), SentenceScore(0.0, ())
    >>> score_fractions(SentenceJudgement(reference_scores, (None, SentenceScore(-1.0, ())), None, "", {}, "ok"))
    (0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0)
    """
    sides = [
        [score_probabilities(score) for score in scores if score is not None]
        for scores in (judgement.reference_scores, judgement.candidate_scores)
    ]
    if not all(sides):
        return None
    return tuple(sum(column) / len(side) for side in sides for column in zip(*side, strict=True))


def round_to_score(value: float) -> float:
    """Return the score closest to a mean of repetitions. Of two equally close scores, return the lower one.

    >>> [round_to_score(value) for value in (5 / 6, 0.75, 1 / 3, -1 / 3, -1.0)]
    [1.0, 0.5, 0.5, 0.0, -1.0]
    """
    return min(RELATION_SCORES, key=lambda score: (abs(score - value), score))


def count_statuses(judgements: Sequence[SentenceJudgement]) -> dict[str, int]:
    """Return the number of pairs by status, then the total number of format errors by kind.

    >>> partial = SentenceJudgement((), (), 3.0, "", {"prose": 2}, "partial: no overall score")
    >>> count_statuses([partial, SentenceJudgement((), (), 1.0, "", {}, "ok")])
    {'partial': 1, 'ok': 1, 'format error: prose': 2}
    """
    counts = Counter(entry.status.split(":")[0] for entry in judgements)
    for entry in judgements:
        counts.update({f"format error: {name}": count for name, count in entry.format_errors.items()})
    return dict(counts)
