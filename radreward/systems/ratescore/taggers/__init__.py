"""Entity taggers: sentences in, medical entities out."""

from radreward.systems.ratescore.taggers.artifact import load_tagger
from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
from radreward.systems.ratescore.taggers.neural import NeuralTagger
from radreward.systems.ratescore.taggers.rule_tagger import RuleTagger
from radreward.systems.ratescore.taggers.span_tagger import SpanTagger
from radreward.text.sentence_splitter import sentence_spans

__all__ = ["IOBTagger", "NeuralTagger", "RuleTagger", "SpanTagger", "Tagger", "load_tagger", "sentence_spans"]
