"""Backbones, adapters, pooling, heads, reward models, calibration and decoding engines."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.models.backbone import Backbone
    from radreward.models.calibration import Calibration
    from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator
    from radreward.models.heads import MultiRewardHead
    from radreward.models.lora import LoRA
    from radreward.models.pooling import POOLINGS, Pooling
    from radreward.models.reward_artifact import RewardModelArtifact, load_reward_model, save_reward_model
    from radreward.models.reward_model import EvidenceRewardModel, PooledRewardModel, RewardModel, build_reward_model
    from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams
    from radreward.models.transformers_engine import TransformersEngine
    from radreward.models.vllm_engine import VLLMEngine

__all__ = [
    "Backbone",
    "Calibration",
    "Completion",
    "EvidenceRewardModel",
    "GenerativeEvaluator",
    "LoRA",
    "MultiRewardHead",
    "POOLINGS",
    "PooledRewardModel",
    "Pooling",
    "RewardModel",
    "RewardModelArtifact",
    "RolloutEngine",
    "SamplingParams",
    "TransformersEngine",
    "VLLMEngine",
    "build_reward_model",
    "load_generative_evaluator",
    "load_reward_model",
    "save_reward_model",
]

CONFIG = "config.json"
"""File that identifies the folder of a saved model."""

__getattr__ = lazy_exports(__name__)
