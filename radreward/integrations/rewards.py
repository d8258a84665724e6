"""Rewards of candidates from any scorer, shared by the interfaces of reinforcement learning libraries."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from radreward.scorers import Scorer
from radreward.scorers.base import ScoreOutput
from radreward.types import Scores

logger = logging.getLogger(__name__)


def scorer_rewards(
    scorer: Scorer,
    references: Sequence[str],
    candidates: Sequence[str],
    missing_reward: float | None,
    output: ScoreOutput = "total",
) -> list[float | None]:
    """Return a reward per pair: the total, negated if lower is better, or the quality.

    Args:
        scorer: The scorer.
        references: Reference reports.
        candidates: As many candidates.
        missing_reward: Reward of a pair without a score; such pairs are counted in the log, with a reason.
        output: "total" or "quality".
    """
    scores = scorer.score(references, candidates)
    return finite_rewards(scorer.higher_is_better_output(scores, output).tolist(), scores, missing_reward)


def finite_rewards(values: Sequence[float], scores: Scores, missing_reward: float | None) -> list[float | None]:
    """Replace values that are not finite by `missing_reward`, and log their number."""
    reasons = [status for value, status in zip(values, scores.status, strict=True) if not math.isfinite(value)]
    if reasons:
        logger.warning("%d of %d completions have no score: %s.", len(reasons), len(values), reasons[0])
    return [value if math.isfinite(value) else missing_reward for value in values]
