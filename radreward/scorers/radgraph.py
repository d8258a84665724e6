"""RadGraph F1 by the `radgraph` package."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from radreward.metrics.text_overlap import set_f1
from radreward.scorers.base import STATUS_OK
from radreward.scorers.stateless import StatelessScorer
from radreward.types import Scores


class RadGraphF1(StatelessScorer):
    """Mean of the F1 of common entities and of common relations of two reports (Yu et al., 2023), in [0, 1].

    An entity is its words and label, a relation its two entities and its type. F1 = 2 |A ∩ B| / (|A| + |B|), 0 if both
    sets are empty, as published: identical reports without relations score 0.5. Sub-scores are the two F1; the evidence
    lists what only one of the reports has. The package downloads its model on first use.

    Args:
        model: The package's name of the model.

    Raises:
        InputError: If the package is not installed.
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
        """See `Scorer.sub_names`."""
        return ("entities", "relations")

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"model": self.model}

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        texts = list(dict.fromkeys((*references, *candidates)))
        annotations = dict(zip(texts, self._annotate(texts), strict=True))
        rows = [(annotations[r], annotations[c]) for r, c in zip(references, candidates, strict=True)]
        f1 = [[set_f1(*sets, if_empty=0.0) for sets in zip(ref, cand, strict=True)] for ref, cand in rows]
        sub_scores = torch.tensor(f1).view(-1, 2).float()
        evidence = tuple(
            {"missing": sorted(map(str, ref[0] - cand[0])), "extra": sorted(map(str, cand[0] - ref[0]))}
            for ref, cand in rows
        )
        return Scores(sub_scores.mean(1), sub_scores, None, (STATUS_OK,) * len(rows), evidence)

    def _annotate(self, texts: Sequence[str]) -> list[tuple[set[Any], set[Any]]]:
        """Return entities and relations of each text."""
        if not texts:
            return []
        if self._model is None:
            from radgraph import RadGraph

            with contextlib.redirect_stdout(io.StringIO()):  # the package prints the device
                self._model = RadGraph(model_type=self.model)
        annotations: Mapping[str, Any] = self._model(list(texts))
        return [_entity_and_relation_sets(annotations[str(index)]["entities"]) for index in range(len(texts))]


def _entity_and_relation_sets(entities: Mapping[str, Mapping[str, Any]]) -> tuple[set[Any], set[Any]]:
    by_number = {number: (str(entity["tokens"]), str(entity["label"])) for number, entity in entities.items()}
    relations = {
        (by_number[number], by_number[str(target)], relation_type)
        for number, entity in entities.items()
        for relation_type, target in entity["relations"]
    }
    return set(by_number.values()), relations
