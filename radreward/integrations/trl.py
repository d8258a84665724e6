"""Scorers as reward functions of TRL, to train a report generator against any metric.

    from trl import GRPOTrainer
    from radreward.integrations.trl import trl_reward

    trainer = GRPOTrainer(model, reward_funcs=trl_reward("ratescore"), train_dataset=dataset, ...)

The dataset has the columns `prompt` and `reference`; the completion is the candidate.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from radreward.errors import InputError
from radreward.scorers import Scorer, load
from radreward.scorers.base import ScoreOutput

logger = logging.getLogger(__name__)

TRLReward = Callable[..., list[float | None]]
"""TRL's interface: prompts, completions and dataset columns by name, to one reward per completion."""


def trl_reward(
    scorer: Scorer | str,
    reference_column: str = "reference",
    missing_reward: float | None = None,
    output: ScoreOutput = "total",
) -> TRLReward:
    """Wrap a scorer as a reward function of TRL's trainers: its total, negated if lower is better, or its quality.

    Args:
        scorer: A scorer, or its name or folder.
        reference_column: Dataset column with the reference reports.
        missing_reward: Reward of a completion without a score, such as an empty one; None excludes it from its group.
            Such completions are counted in the log, with a reason.
        output: "total", or "quality": in [0, 1] for every reference and 1 for a report without errors, so that rewards
            of different prompts have one scale.

    Raises:
        ValueError: If there is no such output.
        InputError: If the scorer is unknown, or has no such output; when the function is called, if the column is
            missing or contains anything but texts.

    >>> reward = trl_reward("bleu-4")
    >>> reward(prompts=["Write."], completions=["No edema is seen now."], reference=["No edema is seen now."])
    [1.0]
    """
    loaded = load(scorer) if isinstance(scorer, str) else scorer
    loaded.require_output(output)

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        references = columns.get(reference_column)
        if references is None:
            raise InputError(
                f"Expected the dataset to have a column {reference_column!r} with reference reports but it has none."
            )
        if len(references) != len(completions) or not all(isinstance(text, str) for text in references):
            raise InputError(f"Expected the column {reference_column!r} to contain a text for each completion.")
        scores = loaded.score(list(references), [_completion_text(completion) for completion in completions])
        values = loaded.higher_is_better_output(scores, output).tolist()
        reasons = [status for value, status in zip(values, scores.status, strict=True) if not math.isfinite(value)]
        if reasons:
            logger.warning("%d of %d completions have no score: %s.", len(reasons), len(values), reasons[0])
        return [value if math.isfinite(value) else missing_reward for value in values]

    reward.__name__ = loaded.title or (scorer if isinstance(scorer, str) else type(scorer).__name__)
    return reward


def _completion_text(completion: Any) -> str:
    """Return the text of a completion, which TRL passes as a text or as chat messages."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message["content"]) for message in completion if message.get("role") == "assistant")
