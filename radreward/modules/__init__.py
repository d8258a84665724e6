"""LightningModules that serve any paper, and the folder of a training run."""

from radreward.modules.agreement_metrics import render_metric_table, reward_agreement, total_agreement
from radreward.modules.base import BaseModule, MetricTable
from radreward.modules.checkpoints import checkpoint_callbacks, use_atomic_checkpoints
from radreward.modules.grpo import GRPOModule
from radreward.modules.language_model import LanguageModelModule
from radreward.modules.optimizer import AdamWConfig
from radreward.modules.predictions import ScoredCandidates
from radreward.modules.progress import PlainTextProgress, ProgressBar
from radreward.modules.reward import RewardModule
from radreward.modules.rollouts import RolloutConfig
from radreward.modules.run_folder import RunFolder
from radreward.modules.sft import SFTModule
from radreward.modules.tensorboard import log_hparams
from radreward.modules.trainer import RunTrainer

__all__ = [
    "AdamWConfig",
    "BaseModule",
    "GRPOModule",
    "LanguageModelModule",
    "MetricTable",
    "PlainTextProgress",
    "ProgressBar",
    "RewardModule",
    "RolloutConfig",
    "RunFolder",
    "RunTrainer",
    "SFTModule",
    "ScoredCandidates",
    "checkpoint_callbacks",
    "log_hparams",
    "render_metric_table",
    "reward_agreement",
    "total_agreement",
    "use_atomic_checkpoints",
]
