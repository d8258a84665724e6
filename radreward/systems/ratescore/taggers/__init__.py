"""Entity taggers: sentences in, medical entities out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.ratescore.taggers.artifact import load_tagger
    from radreward.systems.ratescore.taggers.base import Tagger
    from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
    from radreward.systems.ratescore.taggers.hf_tagger import HFTagger
    from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
    from radreward.systems.ratescore.taggers.module import TaggerModule
    from radreward.systems.ratescore.taggers.neural import NeuralTagger
    from radreward.systems.ratescore.taggers.rule_tagger import RuleTagger
    from radreward.systems.ratescore.taggers.span_tagger import SpanTagger

__all__ = [
    "CachingTagger",
    "HFTagger",
    "IOBTagger",
    "NeuralTagger",
    "RuleTagger",
    "SpanTagger",
    "Tagger",
    "TaggerModule",
    "load_tagger",
]

__getattr__ = lazy_exports(__name__)
