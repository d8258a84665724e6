"""RadGraph F1, by the `radgraph` package."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from radreward.scorers.base import STATUS_OK
from radreward.scorers.stateless import StatelessScorer
from radreward.types import Scores


class RadGraphF1(StatelessScorer):
    """Mean of the F1 of entities and of relations that two reports have in common (Yu et al., 2023), in [0, 1].

    An entity is its words and label, a relation its two entities and its kind. F1 = 2 |A ∩ B| / (|A| + |B|) of the
    sets, and 0 where both are empty, as published: identical reports without relations have 0.5, the highest that
    there is for them. The sub-scores are the two F1, the evidence what only one of the reports has. The model is that
    of the `radgraph` package, which fetches it when it is first used.

    Args:
        model: The package's name of the model.

    Raises:
        InputError: If the package is not there.
    """

    config_name = "radgraph.json"
    packages = ("radgraph",)
    extra = "radgraph"
    title = "RadGraph F1"
    total_range = (0.0, 1.0)

    def __init__(self, model: str = "radgraph") -> None:
        super().__init__()
        self.model = model
        self._model: Any = None

    @property
    def sub_names(self) -> tuple[str, ...]:
        """Entities and relations."""
        return ("entities", "relations")

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"model": self.model}

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        return self._score_valid(references, candidates).total.tolist()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        texts = list(dict.fromkeys((*references, *candidates)))
        known = dict(zip(texts, self._annotate(texts), strict=True))
        rows = [(known[one], known[other]) for one, other in zip(references, candidates, strict=True)]
        sub = torch.tensor([[_f1(*sets) for sets in zip(one, other, strict=True)] for one, other in rows]).view(-1, 2)
        evidence = tuple(
            {"missing": sorted(map(str, one[0] - other[0])), "besides": sorted(map(str, other[0] - one[0]))}
            for one, other in rows
        )
        return Scores(sub.float().mean(1), sub.float(), None, (STATUS_OK,) * len(rows), evidence)

    def _annotate(self, texts: Sequence[str]) -> list[tuple[set[Any], set[Any]]]:
        """Entities and relations of each text."""
        if not texts:
            return []
        if self._model is None:
            from radgraph import RadGraph

            with contextlib.redirect_stdout(io.StringIO()):  # it prints where it runs
                self._model = RadGraph(model_type=self.model)
        found: Mapping[str, Any] = self._model(list(texts))
        return [_entity_and_relation_sets(found[str(place)]["entities"]) for place in range(len(texts))]


def _entity_and_relation_sets(entities: Mapping[str, Mapping[str, Any]]) -> tuple[set[Any], set[Any]]:
    named = {number: (str(entity["tokens"]), str(entity["label"])) for number, entity in entities.items()}
    relations = {
        (named[number], named[str(other)], kind)
        for number, entity in entities.items()
        for kind, other in entity["relations"]
    }
    return set(named.values()), relations


def _f1(one: set[Any], other: set[Any]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
