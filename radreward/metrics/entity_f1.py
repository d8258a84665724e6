"""Precision, recall and F1 of predicted entities, and accuracy of IOB tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from radreward.types import ENTITY_TYPES, Entity

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")


def entity_match_counts(predicted: Sequence[Entity], target: Sequence[Entity], overlap: bool = False) -> Tensor:
    """Count the entities of one sentence by type.

    Args:
        predicted: Predicted entities.
        target: Target entities.
        overlap: If True, entities of the same type match if they share a character. Otherwise, start and end must be
            equal, as in CoNLL 2003 and seqeval.

    Returns:
        (4, 5) int64: predicted, target, matched predicted and matched target entities of each type.

    >>> edema = Entity("edema", "Disease", 3, 8)
    >>> entity_match_counts([edema], [edema._replace(start=0)])[:, 2].tolist()
    [1, 1, 0, 0]
    """
    counts = torch.zeros(4, len(ENTITY_TYPES), dtype=torch.int64)
    for row, (entities, candidates) in enumerate(((predicted, target), (target, predicted))):
        for entity in entities:
            column = ENTITY_TYPES.index(entity.type)
            counts[row, column] += 1
            counts[2 + row, column] += any(_matches(entity, candidate, overlap) for candidate in candidates)
    return counts


def _matches(first: Entity, second: Entity, overlap: bool) -> bool:
    if first.type != second.type:
        return False
    if overlap:
        return first.start < second.end and second.start < first.end
    return (first.start, first.end) == (second.start, second.end)


def word_tags(text: str, entities: Sequence[Entity]) -> list[str]:
    """Return the IOB tag of each word of a sentence.

    >>> word_tags("no focal edema", [Entity("focal edema", "Disease", 3, 14)])
    ['O', 'B-Disease', 'I-Disease']
    """
    tags = []
    started: set[int] = set()
    for word in _WORD.finditer(text):
        index = next(
            (i for i, entity in enumerate(entities) if word.start() < entity.end and entity.start < word.end()), None
        )
        if index is None:
            tags.append("O")
        else:
            tags.append(f"{'I' if index in started else 'B'}-{entities[index].type}")
            started.add(index)
    return tags


class EntityF1Metric(Metric):
    """Precision, recall and F1 of entities, over all types and per type, and the accuracy of the words' IOB tags.

    precision = matched / predicted, recall = matched / target, F1 = 2 · precision · recall / (precision + recall),
    pooled over sentences; NaN without predicted or target entities. Equal to `seqeval` (RaTEScore, Table 5).

    Args:
        overlap: See `entity_match_counts`.
        kwargs: See `torchmetrics.Metric`.

    >>> metric = EntityF1Metric()
    >>> metric.update(["edema"], [[Entity("edema", "Disease", 0, 5)]], [[Entity("edema", "Disease", 0, 5)]])
    >>> metric.compute()["f1"]
    tensor(1., dtype=torch.float64)
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True
    counts: Tensor
    words: Tensor

    def __init__(self, overlap: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.overlap = overlap
        self.add_state("counts", torch.zeros(4, len(ENTITY_TYPES), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("words", torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")

    def update(
        self, texts: Sequence[str], predicted: Sequence[Sequence[Entity]], target: Sequence[Sequence[Entity]]
    ) -> None:
        """Add sentences with their predicted and target entities.

        Raises:
            ValueError: If the arguments have different lengths.
        """
        if not len(texts) == len(predicted) == len(target):
            raise ValueError(
                f"Expected as many predictions and targets as sentences ({len(texts)}) "
                f"but got {len(predicted)} and {len(target)}."
            )
        for text, predicted_entities, target_entities in zip(texts, predicted, target, strict=True):
            counts = entity_match_counts(predicted_entities, target_entities, self.overlap)
            self.counts += counts.to(self.counts.device)
            predicted_tags, target_tags = word_tags(text, predicted_entities), word_tags(text, target_entities)
            equal = sum(a == b for a, b in zip(predicted_tags, target_tags, strict=True))
            self.words += torch.tensor([equal, len(target_tags)]).to(self.words.device)

    def compute(self) -> dict[str, Tensor]:
        """Return () float64: `precision`, `recall`, `f1`, `accuracy`, and the first three per type (`f1/Disease`)."""
        values = _precision_recall_f1(self.counts.sum(1).double())
        values["accuracy"] = self.words[0].double() / self.words[1]
        for column, entity_type in enumerate(ENTITY_TYPES):
            by_type = _precision_recall_f1(self.counts[:, column].double())
            values |= {f"{name}/{entity_type}": value for name, value in by_type.items()}
        return values


def _precision_recall_f1(counts: Tensor) -> dict[str, Tensor]:
    predicted, target, matched_predicted, matched_target = counts
    precision, recall = matched_predicted / predicted, matched_target / target
    f1 = 2 * precision.nan_to_num() * recall.nan_to_num() / (precision.nan_to_num() + recall.nan_to_num())
    # F1 is 0, not undefined, if only one of the two sides has entities.
    f1 = torch.where((predicted + target > 0) & f1.isnan(), torch.zeros_like(f1), f1)
    return {"precision": precision, "recall": recall, "f1": f1}
