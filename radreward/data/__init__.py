"""Records, pairing, packing and batches of reports."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.data.base_datamodule import BaseDataModule
    from radreward.data.collators.base import Collator
    from radreward.data.collators.language_model import LanguageModelCollator
    from radreward.data.collators.reward import RewardCollator
    from radreward.data.collators.rollout import RolloutCollator
    from radreward.data.collators.sft import AnalysisWriter, CountsOnlyWriter, SFTCollator
    from radreward.data.entity_datamodule import EntityDataModule
    from radreward.data.paired_datamodule import PairedReportDataModule
    from radreward.data.prompt_encoder import PromptTooLongError
    from radreward.data.record_datamodule import RecordDataModule
    from radreward.data.records import read_groups, write_groups
    from radreward.data.relation_datamodule import RelationDataModule

__all__ = [
    "AnalysisWriter",
    "BaseDataModule",
    "Collator",
    "CountsOnlyWriter",
    "EntityDataModule",
    "LanguageModelCollator",
    "PairedReportDataModule",
    "PromptTooLongError",
    "RecordDataModule",
    "RelationDataModule",
    "RewardCollator",
    "RolloutCollator",
    "SFTCollator",
    "read_groups",
    "write_groups",
]

__getattr__ = lazy_exports(__name__)
