"""How well entities are found: precision, recall and F1 of whole entities, accuracy of words."""

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
    """Of one sentence, by type: entities predicted, known, predicted rightly, known that were found; (4, 5) int64.

    Args:
        predicted: What was found.
        known: What is there.
        overlap: Whether an entity is right if it shares a character with one of its type; otherwise both must have the
            same characters, as in CoNLL 2003 and seqeval.

    >>> edema = Entity("edema", "Disease", 3, 8)
    >>> found_entities([edema], [edema._replace(start=0)])[:, 2].tolist()
    [1, 1, 0, 0]
    """
    counts = torch.zeros(4, len(ENTITY_TYPES), dtype=torch.int64)
    for row, (ours, theirs) in enumerate(((predicted, target), (target, predicted))):
        for entity in ours:
            column = ENTITY_TYPES.index(entity.type)
            counts[row, column] += 1
            counts[2 + row, column] += any(_matches(entity, other, overlap) for other in theirs)
    return counts


def _matches(first: Entity, second: Entity, overlap: bool) -> bool:
    if first.type != second.type:
        return False
    if overlap:
        return first.start < second.end and second.start < first.end
    return (first.start, first.end) == (second.start, second.end)


def word_tags(text: str, entities: Sequence[Entity]) -> list[str]:
    """The IOB tag of each word of a sentence.

    >>> word_tags("no focal edema", [Entity("focal edema", "Disease", 3, 14)])
    ['O', 'B-Disease', 'I-Disease']
    """
    tags = []
    started: set[int] = set()
    for word in _WORD.finditer(text):
        at = next(
            (i for i, entity in enumerate(entities) if word.start() < entity.end and entity.start < word.end()), None
        )
        tags.append("O" if at is None else f"{'I' if at in started else 'B'}-{entities[at].type}")
        if at is not None:
            started.add(at)
    return tags


class EntityF1Metric(Metric):
    """Precision, recall and F1 of entities, over all types and by type, and the accuracy of words' IOB tags.

    precision = right / predicted, recall = found / known, F1 = 2 · precision · recall / (precision + recall), over all
    sentences at once; NaN where nothing was predicted or known. As `seqeval` computes them (RaTEScore, Table 5).

    Args:
        overlap: Whether an entity is right if it shares a character with one of its type; otherwise its characters
            must be the same.
        kwargs: As in `torchmetrics.Metric`.

    >>> scores = EntityScores()
    >>> scores.update(["edema"], [[Entity("edema", "Disease", 0, 5)]], [[Entity("edema", "Disease", 0, 5)]])
    >>> scores.compute()["f1"]
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
        """Add sentences.

        Raises:
            ValueError: If the three differ in length.
        """
        if not len(texts) == len(predicted) == len(target):
            raise ValueError(
                f"Expected as many predictions and known entities as sentences ({len(texts)}) "
                f"but got {len(predicted)} and {len(target)}."
            )
        for text, ours, theirs in zip(texts, predicted, target, strict=True):
            self.counts += entity_match_counts(ours, theirs, self.overlap).to(self.counts.device)
            pairs = list(zip(word_tags(text, ours), word_tags(text, theirs), strict=True))
            self.words += torch.tensor([sum(one == other for one, other in pairs), len(pairs)]).to(self.words.device)

    def compute(self) -> dict[str, Tensor]:
        """`precision`, `recall`, `f1`, `accuracy`, and the first three by type, as `f1/Disease`; float64."""
        values = _precision_recall_f1(self.counts.sum(1).double())
        values["accuracy"] = self.words[0].double() / self.words[1]
        for column, kind in enumerate(ENTITY_TYPES):
            values |= {
                f"{name}/{kind}": value for name, value in _precision_recall_f1(self.counts[:, column].double()).items()
            }
        return values


def _precision_recall_f1(counts: Tensor) -> dict[str, Tensor]:
    predicted, known, right, found = counts
    precision, recall = right / predicted, found / known
    # Where nothing was predicted but something known, or the other way round, F1 is 0 and not undefined.
    f1 = 2 * precision.nan_to_num() * recall.nan_to_num() / (precision.nan_to_num() + recall.nan_to_num())
    f1 = torch.where((predicted + known > 0) & f1.isnan(), torch.zeros_like(f1), f1)
    return {"precision": precision, "recall": recall, "f1": f1}
