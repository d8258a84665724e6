"""What every judge of sentences gives, and repetitions of it averaged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.types import SentenceJudgement, SentenceScore

SCORE_ORDER = (0.0, 0.5, 1.0, -1.0)
"""The scores in the order of the shares (section III.B)."""


class SentenceJudge(ABC):
    """Scores the sentences of pairs of reports."""

    @abstractmethod
    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """Judgements of pairs, given as sentences, in the order and length of the input.

        A pair that cannot be judged has None for its sentences, and its `status` says why.

        Raises:
            ValueError: If there are not as many originals as predictions.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes with anything that judgements depend on."""


def average_judgements(judgements: Sequence[SentenceJudgement]) -> SentenceJudgement:
    """Repetitions of one judgement as one: mean scores, over the repetitions that give one.

    A sentence has the counterparts that most of its repetitions name, and its chances tell how many gave which score.
    The explanation is that of the repetition whose overall score is the nearest to the mean; problems are added up.
    The status is "ok" where every repetition is; otherwise it counts those that are not, and gives the reason of the
    first.

    Raises:
        ValueError: If there is none, or they are not of the same reports.

    >>> one = SentenceJudgement((SentenceScore(1.0, (0,)),), (), 4.0, "good", {}, "ok")
    >>> other = SentenceJudgement((SentenceScore(0.5, (0,)),), (), 3.0, "fair", {"prose": 1}, "ok")
    >>> mean = average([one, one, other])
    >>> mean.original[0].score, mean.original[0].matches, mean.overall, mean.explanation
    (0.8333333333333334, (0,), 3.6666666666666665, 'good')
    >>> mean.original[0].chances
    (0.0, 0.3333333333333333, 0.6666666666666666, 0.0)
    """
    if not judgements or len({(len(entry.reference_scores), len(entry.candidate_scores)) for entry in judgements}) > 1:
        raise ValueError("Expected judgements of one pair of reports, one at least.")
    original = tuple(
        _average_scores(entries) for entries in zip(*(j.reference_scores for j in judgements), strict=True)
    )
    predicted = tuple(
        _average_scores(entries) for entries in zip(*(j.candidate_scores for j in judgements), strict=True)
    )
    rated = [(entry.overall, entry.explanation) for entry in judgements if entry.overall is not None]
    overall = sum(value for value, _ in rated) / len(rated) if rated else None
    nearest = min(rated, key=lambda entry: abs(entry[0] - (overall or 0.0)), default=(None, judgements[0].explanation))
    problems: Counter[str] = Counter()
    for entry in judgements:
        problems.update(entry.format_errors)
    return SentenceJudgement(original, predicted, overall, nearest[1], dict(problems), _average_status(judgements))


def _average_scores(entries: Sequence[SentenceScore | None]) -> SentenceScore | None:
    given = [entry for entry in entries if entry is not None]
    if not given:
        return None
    named = Counter(place for entry in given for place in entry.matches)
    matches = sorted(place for place, count in named.items() if 2 * count > len(given))
    columns = zip(*(score_probabilities(entry) for entry in given), strict=True)
    mean = tuple(sum(column) / len(given) for column in columns) if len(given) > 1 else given[0].probabilities
    return SentenceScore(sum(entry.score for entry in given) / len(given), tuple(matches), mean)


def score_probabilities(score: SentenceScore) -> tuple[float, ...]:
    """How likely the scores of `SHARED` are.

    >>> chances(SentenceScore(1.0, (0,)))
    (0.0, 0.0, 1.0, 0.0)
    """
    return score.probabilities or tuple(float(value == score.score) for value in SCORE_ORDER)


def score_fractions(judgement: SentenceJudgement) -> tuple[float, ...] | None:
    """The shares of the scores 0, 0.5, 1 and -1 among the m original, then among the n predicted sentences.

    The features of the overall score (Zhu et al., 2024, section III.B). Of repetitions, and of a model that gives
    chances, the mean share; a sentence without a score counts for nothing. None where a report has no score at all.

    >>> shares(SentenceJudgement((SentenceScore(1.0, ()), SentenceScore(0.0, ())), (None, SentenceScore(-1.0, ())),
    ...                          None, "", {}, "ok"))
    (0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0)
    """
    sides = [[score_probabilities(entry) for entry in side if entry is not None] for side in judgement[:2]]
    if not all(sides):
        return None
    return tuple(sum(column) / len(side) for side in sides for column in zip(*side, strict=True))


def _average_status(judgements: Sequence[SentenceJudgement]) -> str:
    bad = [entry.status for entry in judgements if entry.status != "ok"]
    if not bad or len(judgements) == 1:
        return bad[0] if bad else "ok"
    return f"partial: {len(bad)} of {len(judgements)} repetitions, the first because of {bad[0]}"


def round_to_score(value: float) -> float:
    """The score that a mean of repetitions is nearest to; of two as near, the lower.

    >>> [nearest_score(value) for value in (5 / 6, 0.75, 1 / 3, -1 / 3, -1.0)]
    [1.0, 0.5, 0.5, 0.0, -1.0]
    """
    return min(SCORES, key=lambda score: (abs(score - value), score))


def count_statuses(judgements: Sequence[SentenceJudgement]) -> dict[str, int]:
    """How many pairs have which outcome, and how often each problem came up, in all.

    >>> tally([SentenceJudgement((), (), 3.0, "", {"prose": 2}, "ok"), SentenceJudgement((), (), 1.0, "", {}, "ok")])
    {'ok': 2, 'problem: prose': 2}
    """
    counted: Counter[str] = Counter()
    for entry in judgements:
        counted[entry.status.split(":")[0]] += 1
    for entry in judgements:
        counted.update({f"problem: {name}": count for name, count in entry.format_errors.items()})
    return dict(counted)
