"""Tables of two judges' scores, against a loop and scikit-learn."""

from __future__ import annotations

from random import Random

import pytest
from sklearn.metrics import cohen_kappa_score

from radreward.metrics import cohen_kappa
from radreward.systems.sentence_eval.agreement import score_confusion_matrix
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judges import average_judgements, round_to_score
from radreward.types import SentenceJudgement, SentenceScore


def judgement(rng: Random, sizes: tuple[int, int]) -> SentenceJudgement:
    sides = [
        tuple(None if rng.random() < 0.1 else SentenceScore(rng.choice(SCORES), ()) for _ in range(size))
        for size in sizes
    ]
    return SentenceJudgement(sides[0], sides[1], 3.0, "", {}, "ok")


def test_averages_count_as_the_nearest_score() -> None:
    rng = Random(1)
    sizes = [(rng.randint(0, 6), rng.randint(0, 6)) for _ in range(40)]
    judged = [average_judgements([judgement(rng, size) for _ in range(3)]) for size in sizes]
    truth = [judgement(rng, size) for size in sizes]
    ours, theirs = [], []
    for one, other in zip(judged, truth, strict=True):
        for left, right in zip(
            one.reference_scores + one.candidate_scores, other.reference_scores + other.candidate_scores, strict=True
        ):
            if left is not None and right is not None:
                ours.append(str(round_to_score(left.score)))
                theirs.append(str(right.score))
    counts = score_confusion_matrix(judged, truth)
    assert int(counts.sum()) == len(ours)
    assert float(cohen_kappa(counts)) == pytest.approx(cohen_kappa_score(ours, theirs))


def test_other_pairs() -> None:
    rng = Random(0)
    with pytest.raises(ValueError, match="of the same pairs"):
        score_confusion_matrix([judgement(rng, (1, 2))], [judgement(rng, (2, 1))])
    assert score_confusion_matrix([], []).sum() == 0
