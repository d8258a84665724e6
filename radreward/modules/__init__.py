"""LightningModules, siblings under one base, and what a run leaves behind."""

from radreward.modules.agreement_metrics import Agreement, Judged, agreement, agreement_of_totals, table
from radreward.modules.base import BaseModule, Figures, OptimizerSettings
from radreward.modules.export import check_exportable, export
from radreward.modules.grpo import PolicyModule
from radreward.modules.progress import ProgressBar, ProgressLines
from radreward.modules.reward import RewardModule
from radreward.modules.rollout_logging import RolloutSettings
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.sft import AnalysisModule
from radreward.modules.tensorboard import log_settings
from radreward.systems.ratescore.taggers.module import EntityModule

__all__ = [
    "Agreement",
    "AnalysisModule",
    "BaseModule",
    "EntityModule",
    "Figures",
    "Judged",
    "OptimizerSettings",
    "PolicyModule",
    "ProgressBar",
    "ProgressLines",
    "RewardModule",
    "RolloutSettings",
    "RunFolder",
    "agreement",
    "agreement_of_totals",
    "check_exportable",
    "export",
    "log_settings",
    "table",
    "write_json",
]
