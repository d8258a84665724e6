"""LightningModules: siblings under one base."""

from radreward.modules.base import BaseModule, OptimizerSettings
from radreward.modules.reward import RewardModule

__all__ = ["BaseModule", "OptimizerSettings", "RewardModule"]
