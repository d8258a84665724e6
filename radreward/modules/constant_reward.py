"""Warning of a policy that cannot learn, because all its answers to a prompt get the same reward."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from lightning.pytorch import Callback, Trainer

from radreward.modules.rollouts import RolloutBatch
from radreward.types import RolloutPromptBatch

logger = logging.getLogger(__name__)

_CONSTANT_STEPS = 20
"""Number of steps with equal rewards before the warning."""


class ConstantRewardWarning(Callback):
    """A warning, with the share of identical answers, if rewards are constant over `_CONSTANT_STEPS` steps.

    Rewards are constant if all completions of each prompt get the same reward, so that all advantages are 0.
    Answers are identical if they state the same counts.
    """

    def __init__(self) -> None:
        self._answers: Counter[tuple[float | None, ...]] = Counter()
        self._steps = 0

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: Any, outputs: Any, batch: RolloutPromptBatch, batch_idx: int
    ) -> None:
        """Count the answers of a batch with constant rewards, and warn once per series of such batches."""
        rollout_batch: RolloutBatch = pl_module.rollout_batch
        if rollout_batch.estimate.advantages.any():
            self._answers.clear()
            self._steps = 0
            return
        self._answers.update(answer.values for group in rollout_batch.parsed for answer in group)
        self._steps += 1
        if self._steps == _CONSTANT_STEPS:
            ((counts, number),) = self._answers.most_common(1)
            logger.warning(
                "All completions of each prompt had the same reward in the last %d steps, so the policy did not "
                "learn: %.0f %% of its answers state the counts %s. Raise the temperature, lower the learning rate, "
                "or balance the prompts with data.balance_errors.",
                _CONSTANT_STEPS,
                100 * number / self._answers.total(),
                ", ".join("none" if value is None else f"{value:g}" for value in counts),
            )
