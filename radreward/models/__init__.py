"""Backbones, adapters, pooling, heads, reward models, calibration and decoding engines."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.models.attention import check_length
    from radreward.models.backbone import Backbone
    from radreward.models.calibration import Calibration
    from radreward.models.heads import MultiRewardHead
    from radreward.models.lora import LoRA
    from radreward.models.pooling import POOLINGS, Pooling
    from radreward.models.reward_artifact import (
        RewardModelArtifact,
        load_initial_weights,
        load_reward_model,
        save_reward_model,
    )
    from radreward.models.reward_model import PackingError, RewardModel, check_packing

__all__ = [
    "CONFIG",
    "POOLINGS",
    "Backbone",
    "Calibration",
    "LoRA",
    "MultiRewardHead",
    "PackingError",
    "Pooling",
    "RewardModel",
    "RewardModelArtifact",
    "check_length",
    "check_packing",
    "load_initial_weights",
    "load_reward_model",
    "save_reward_model",
]

CONFIG = "config.json"
"""File that identifies the folder of a saved model."""

__getattr__ = lazy_exports(__name__)
