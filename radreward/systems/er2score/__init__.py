"""ER²Score: a reward model with one reward per criterion, trained by Margin Reward Enforcement."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.er2score.prompt import InstructionTemplate
    from radreward.systems.er2score.scorer import RewardModelScorer

__all__ = ["InstructionTemplate", "RewardModelScorer"]

__getattr__ = lazy_exports(__name__)
