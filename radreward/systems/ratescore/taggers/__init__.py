"""Entity taggers: sentences in, medical entities out."""

from radreward.systems.ratescore.taggers.artifact import load_tagger
from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.iob_tagger import IobModel
from radreward.systems.ratescore.taggers.neural import NeuralTagger
from radreward.systems.ratescore.taggers.rule_tagger import RuleTagger
from radreward.systems.ratescore.taggers.span_tagger import SpanModel
from radreward.text.sentence_splitter import sentences

__all__ = ["IobModel", "NeuralTagger", "RuleTagger", "SpanModel", "Tagger", "load_tagger", "sentences"]
