"""Constructors refuse a setting that is none of its choices, also outside of the command line."""

from collections.abc import Callable
from typing import Any

import pytest

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.packing import pack_paths
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.models import Backbone
from radreward.models.log_probs import completion_log_probs
from radreward.models.reward_model import build_reward_model
from radreward.models.tiny_backbones import tiny_model
from radreward.modules.rollouts import RolloutConfig
from radreward.systems.ratescore.collator import EntityMatchCollator
from radreward.systems.ratescore.taggers.module import TaggerModule
from radreward.types import TokenPath

CALLS: dict[str, Callable[[Any], object]] = {
    "architecture": lambda value: build_reward_model(Backbone("tiny-bert"), RadCliQCriteria(), value),
    "pooling": lambda value: build_reward_model(Backbone("tiny-bert"), RadCliQCriteria(), pooling=value),
    "scheme": lambda value: TaggerModule(Backbone("tiny-bert"), value),
    "engine": lambda value: RolloutConfig(engine=value),
    "packing": lambda value: pack_paths([TokenPath((), ((1,),))], value),
    "packing of completions": lambda value: completion_log_probs(
        tiny_model("llama", causal_lm=True), [1], [[2]], packing=value
    ),
    "on_unpairable": lambda value: PairedReportDataModule(
        "groups.parquet", RadCliQCriteria(), RewardCollator(RadCliQCriteria()), on_unpairable=value
    ),
    "on_too_long": lambda value: EntityMatchCollator(RadCliQCriteria(), on_too_long=value),
}
"""Constructors and functions that take a choice, by the name of the setting."""


@pytest.mark.parametrize("name", CALLS)
def test_setting_that_is_no_choice_raises(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^Expected `{name.split()[0]}` to be .* or \w+ but got 'colour'\.$"):
        CALLS[name]("colour")
