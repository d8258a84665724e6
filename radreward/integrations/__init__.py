"""Adapters for other training frameworks."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.integrations.torchmetrics import ScorerMetric
    from radreward.integrations.trl import trl_criterion_rewards, trl_reward
    from radreward.integrations.verl import verl_batch_reward, verl_reward

__all__ = [
    "ScorerMetric",
    "trl_criterion_rewards",
    "trl_reward",
    "verl_batch_reward",
    "verl_reward",
]

__getattr__ = lazy_exports(__name__)
