"""What two reports name in common: entities, and what is said of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from radreward.scorers.base import STATUS_OK
from radreward.scorers.stateless import StatelessScorer
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.text.lexicon import match_lexicon
from radreward.types import Entity, Scores

EntityTuple = tuple[str, ...]
STATUS_NO_TUPLES = "no entity in either report"
_SPACES = re.compile(r"[^\S\n]+")
"""Within a line: between lines sentences can end."""


class EntityF1(StatelessScorer):
    """F1 of what two reports name, after SPICE (Anderson et al., 2016), in [0, 1].

    The tagger's entities become a set of tuples: (type, head) for each, as (Abnormality, effusion), and (type, head,
    word) for each word of place, degree and form with it, as (Abnormality, effusion, left). 2 |A ∩ B| / (|A| + |B|)
    is the score; a report that names nothing has 0 beside one that does, and no score beside another. The evidence is
    what is missing from the candidate and what it says besides.

    Args:
        tagger: What finds the entities: `rules`, or the folder of a saved tagger.

    Raises:
        InputError: If there is no such tagger.

    >>> EntityF1().score(["Small left pleural effusion."], ["Left pleural effusion."]).total
    tensor([0.8000])
    """

    config_name = "entities.json"
    title = "Entity F1 (SPICE-like)"
    total_range = (0.0, 1.0)

    def __init__(self, tagger: str = "rules") -> None:
        self.tagger_name = tagger
        self.tagger = CachingTagger(load_tagger(tagger))
        super().__init__()

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"tagger": self.tagger_name}

    def code_version(self) -> str:
        """See `StatelessScorer.code`."""
        return super().code_version() + self.tagger.fingerprint()

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        return self._score_valid(references, candidates).total.tolist()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        texts = list(dict.fromkeys((*references, *candidates)))
        plain = [_SPACES.sub(" ", text) for text in texts]
        named = dict(zip(texts, map(_entity_tuples, self.tagger.tag_reports(plain)), strict=True))
        rows = [(named[one], named[other]) for one, other in zip(references, candidates, strict=True)]
        total = torch.tensor([set_f1(*row) for row in rows], dtype=torch.float32)
        status = tuple(STATUS_OK if one or other else STATUS_NO_TUPLES for one, other in rows)
        evidence = tuple({"missing": sorted(one - other), "besides": sorted(other - one)} for one, other in rows)
        return Scores(total, None, None, status, evidence)


def set_f1(first: set[Any], second: set[Any]) -> float:
    """2 |A ∩ B| / (|A| + |B|); NaN of two empty sets.

    >>> f1({1, 2}, {2, 3}), f1(set(), {1})
    (0.5, 0.0)
    """
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else float("nan")


def _entity_tuples(entities: Iterable[Entity]) -> set[EntityTuple]:
    found: set[EntityTuple] = set()
    for entity in entities:
        name = entity.name.lower()
        words = [name[atom.start : atom.end] for atom in match_lexicon(name)] or name.split()
        found.add((entity.type, words[-1]))
        found |= {(entity.type, words[-1], word) for word in words[:-1]}
    return found
