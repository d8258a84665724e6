"""How often two judges of sentences, or a judge and a person, give the same score (Zhu et al., 2024, figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from radreward.metrics import confusion_matrix
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judges.base import round_to_score
from radreward.types import SentenceJudgement


def score_confusion_matrix(predicted: Sequence[SentenceJudgement], target: Sequence[SentenceJudgement]) -> Tensor:
    """How often each score of one meets each of the other: the table of which `cohen_kappa` is taken.

    Averages of repetitions count as the nearest score. A sentence that one of them gives no score counts for nothing.

    Args:
        judgements: Of one judge.
        truth: Of the other, of the same pairs in the same order.

    Returns:
        (4, 4) int64, rows of the truth, columns of the judgements, in the order of `SCORES`: -1, 0, 0.5, 1.

    Raises:
        ValueError: If they are not of the same pairs.

    >>> from radreward.types import SentenceScore
    >>> one = SentenceJudgement((SentenceScore(5 / 6, (0,)), None), (), None, "", {}, "ok")
    >>> other = SentenceJudgement((SentenceScore(0.5, (0,)), SentenceScore(1.0, (0,))), (), None, "", {}, "ok")
    >>> score_counts([one], [other])[2].tolist()
    [0, 0, 0, 1]
    """
    shapes = [
        [(len(entry.reference_scores), len(entry.candidate_scores)) for entry in side] for side in (predicted, target)
    ]
    if shapes[0] != shapes[1]:
        raise ValueError("Expected judgements of the same pairs, sentence by sentence.")
    pairs = [
        (round_to_score(ours.score), round_to_score(theirs.score))
        for one, other in zip(predicted, target, strict=True)
        for ours, theirs in zip(
            (*one.reference_scores, *one.candidate_scores),
            (*other.reference_scores, *other.candidate_scores),
            strict=True,
        )
        if ours is not None and theirs is not None
    ]
    table = torch.tensor(pairs, dtype=torch.float64).reshape(-1, 2)
    return confusion_matrix(table[:, 0], table[:, 1], SCORES)
