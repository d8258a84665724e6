"""LightningModules, siblings under one base, and what a run leaves behind."""

from radreward.modules.agreement import Agreement, Judged, agreement, agreement_of_totals, table
from radreward.modules.analysis import AnalysisModule
from radreward.modules.base import BaseModule, Figures, OptimizerSettings
from radreward.modules.completions import RolloutSettings
from radreward.modules.entities import EntityModule
from radreward.modules.export import check_exportable, export
from radreward.modules.figures import log_settings
from radreward.modules.policy import PolicyModule
from radreward.modules.progress import ProgressBar, ProgressLines
from radreward.modules.reward import RewardModule
from radreward.modules.run import RunFolder, write_json

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
