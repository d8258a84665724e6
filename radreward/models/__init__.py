"""Backbones, adapters, pooling, heads, calibration."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy

if TYPE_CHECKING:
    from radreward.models.attention import check_length
    from radreward.models.backbone import Backbone
    from radreward.models.calibration import Calibration
    from radreward.models.heads import MultiRewardHead
    from radreward.models.lora import LoRA
    from radreward.models.pooling import POOLINGS, Pooling
    from radreward.models.reward_artifact import SavedModel, load_model, save_model, start_from
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
    "SavedModel",
    "check_length",
    "check_packing",
    "load_model",
    "save_model",
    "start_from",
]

CONFIG = "config.json"
"""The file by which the folder of a saved model is known."""

__getattr__ = lazy(__name__)
