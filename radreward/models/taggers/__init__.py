"""Entity taggers: sentences in, medical entities out."""

from radreward.data.sentences import sentences
from radreward.models.taggers.base import Tagger
from radreward.models.taggers.iob import IobModel
from radreward.models.taggers.neural import NeuralTagger
from radreward.models.taggers.rules import RuleTagger
from radreward.models.taggers.saving import load_tagger
from radreward.models.taggers.spans import SpanModel

__all__ = ["IobModel", "NeuralTagger", "RuleTagger", "SpanModel", "Tagger", "load_tagger", "sentences"]
