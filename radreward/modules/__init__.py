"""LightningModules, siblings under one base, and what a run leaves behind."""

from radreward.modules.agreement_metrics import (
    Agreement,
    ScoredCandidates,
    render_metric_table,
    reward_agreement,
    total_agreement,
)
from radreward.modules.base import AdamWConfig, BaseModule, MetricTable
from radreward.modules.export import export, require_reward_collator
from radreward.modules.grpo import GRPOModule
from radreward.modules.progress import PlainTextProgress, ProgressBar
from radreward.modules.reward import RewardModule
from radreward.modules.rollout_logging import RolloutConfig
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.sft import SFTModule
from radreward.modules.tensorboard import log_hparams
from radreward.systems.ratescore.taggers.module import TaggerModule

__all__ = [
    "Agreement",
    "SFTModule",
    "BaseModule",
    "TaggerModule",
    "MetricTable",
    "ScoredCandidates",
    "AdamWConfig",
    "GRPOModule",
    "ProgressBar",
    "PlainTextProgress",
    "RewardModule",
    "RolloutConfig",
    "RunFolder",
    "reward_agreement",
    "total_agreement",
    "require_reward_collator",
    "export",
    "log_hparams",
    "render_metric_table",
    "write_json",
]
