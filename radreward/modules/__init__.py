"""LightningModules that serve any paper, and the folder of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.modules.base import BaseModule
    from radreward.modules.exporter import Exporter, MetricTable, Results
    from radreward.modules.generative import GenerativeExporter, GenerativeModule
    from radreward.modules.grpo import GRPOModule
    from radreward.modules.language_model import LanguageModelModule
    from radreward.modules.optimizer import AdamWConfig
    from radreward.modules.reward import RewardModule
    from radreward.modules.rollouts import RolloutConfig
    from radreward.modules.run_folder import RunFolder
    from radreward.modules.sft import SFTModule

__all__ = [
    "AdamWConfig",
    "BaseModule",
    "Exporter",
    "GRPOModule",
    "GenerativeExporter",
    "GenerativeModule",
    "LanguageModelModule",
    "MetricTable",
    "Results",
    "RewardModule",
    "RolloutConfig",
    "RunFolder",
    "SFTModule",
]

__getattr__ = lazy_exports(__name__)
