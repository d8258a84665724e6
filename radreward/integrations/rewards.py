"""Rewards from any scorer, shared by the adapters of reinforcement learning libraries."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path

from radreward.score_outputs import ScoreOutput
from radreward.scorers import Scorer, load
from radreward.types import Scores

logger = logging.getLogger(__name__)


def loaded_scorer(scorer: Scorer | str | Path, output: ScoreOutput) -> Scorer:
    """Return a scorer, loaded if its name or folder is given, and check that it has an output.

    Raises:
        ValueError: If there is no such output.
        InputError: If the scorer is unknown or does not have this output.
    """
    loaded = scorer if isinstance(scorer, Scorer) else load(scorer)
    loaded.require_output(output)
    return loaded


def scorer_rewards(
    scorer: Scorer,
    references: Sequence[str],
    candidates: Sequence[str],
    missing_reward: float | None,
    output: ScoreOutput = "total",
) -> list[float | None]:
    """Return one reward per pair: an output of the scorer, negated if lower is better.

    Args:
        scorer: The scorer.
        references: Reference reports.
        candidates: One candidate per reference.
        missing_reward: Reward of a pair without a score. A warning states the number of such pairs and a reason.
        output: "total", "quality" or "errors".
    """
    scores = scorer.score(references, candidates)
    values = scorer.higher_is_better_output(scores, output).tolist()
    warn_unscored(values, scores)
    return finite_rewards(values, missing_reward)


def warn_unscored(values: Sequence[float], scores: Scores) -> None:
    """Log the number of values that are not finite, and the reason of the first."""
    reasons = [status for value, status in zip(values, scores.status, strict=True) if not math.isfinite(value)]
    if reasons:
        logger.warning("%d of %d completions have no score: %s.", len(reasons), len(values), reasons[0])


def finite_rewards(values: Sequence[float], missing_reward: float | None) -> list[float | None]:
    """Replace values that are not finite by `missing_reward`."""
    return [value if math.isfinite(value) else missing_reward for value in values]
