"""Entity taggers: sentences in, medical entities out."""

from radreward.models.taggers.base import Tagger
from radreward.models.taggers.rules import RuleTagger
from radreward.models.taggers.saving import load_tagger
from radreward.models.taggers.sentences import sentences

__all__ = ["RuleTagger", "Tagger", "load_tagger", "sentences"]
