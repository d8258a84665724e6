"""Scorers as rewards, to train a report generator against any metric.

    from trl import GRPOTrainer
    from radreward.integrations.trl import reward_function

    trainer = GRPOTrainer(model, reward_funcs=reward_function("ratescore"), train_dataset=dataset, ...)

The dataset has the column `reference` beside `prompt`; what the generator writes is the candidate.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from radreward.errors import InputError
from radreward.scorers import Scorer, load

logger = logging.getLogger(__name__)

TRLReward = Callable[..., list[float | None]]
"""As TRL calls it: prompts, completions and columns of the dataset by name, to a reward of each completion."""


def trl_reward(
    scorer: Scorer | str, reference_column: str = "reference", missing_reward: float | None = None
) -> TRLReward:
    """A scorer as a reward function of TRL's trainers: the total, turned round where lower is better.

    Args:
        scorer: A scorer, or the name or folder of one.
        column: The column of the dataset that holds the reference reports.
        unscored: The reward of a completion that cannot be scored, such as an empty one; None leaves it out of its
            group, so that it is neither rewarded nor punished. Either way it is counted in the log, with the reason.

    Raises:
        InputError: If there is no such scorer; when the function is called, if the column is missing or holds
            something else than texts.

    >>> reward = reward_function("bleu-4")
    >>> reward(prompts=["Write."], completions=["No edema is seen now."], reference=["No edema is seen now."])
    [1.0]
    """
    chosen = load(scorer) if isinstance(scorer, str) else scorer
    sign = 1.0 if chosen.higher_is_better else -1.0

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        references = columns.get(reference_column)
        if references is None:
            raise InputError(
                f"Expected the column {reference_column!r} in the dataset, with reference reports, but it has none."
            )
        if len(references) != len(completions) or not all(isinstance(text, str) for text in references):
            raise InputError(f"Expected the column {reference_column!r} to hold a text for each completion.")
        scores = chosen.score(list(references), [_completion_text(completion) for completion in completions])
        totals = [sign * float(value) for value in scores.total]
        unread = [status for value, status in zip(totals, scores.status, strict=True) if not math.isfinite(value)]
        if unread:
            logger.warning("%d of %d completions have no score: %s.", len(unread), len(totals), unread[0])
        return [value if math.isfinite(value) else missing_reward for value in totals]

    reward.__name__ = chosen.title or (scorer if isinstance(scorer, str) else type(scorer).__name__)
    return reward


def _completion_text(completion: Any) -> str:
    """What was written: a text, or the turns of a chat, as TRL hands on either."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(turn["content"]) for turn in completion if turn.get("role") == "assistant")
