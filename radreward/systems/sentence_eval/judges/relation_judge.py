"""A judge of sentences that needs no chat model: how the sentences of two reports relate, two by two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from radreward.systems.sentence_eval.artifact import SHIPPED, SavedRelations, load_relations, save_relations
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judges.base import SHARED, SentenceJudge
from radreward.systems.sentence_eval.prompt import sentence_ids
from radreward.types import SentenceJudgement, SentenceScore

EMBEDDED: Literal["embedded"] = "embedded"
WINDOW = 64
"""Pairs of reports whose sentences are held at a time."""
_ORDER = [SCORES.index(score) for score in SHARED]
_NONE, _PARTLY, _SAME, _CONTRARY = range(4)


class RelationJudge(SentenceJudge):
    """Scores every sentence by the sentences of the other report, with a model that was trained on known relations.

    The model tells how likely two sentences say the same, partly the same, the contrary, or nothing of each other. For
    a sentence and all those of the other report: it is met to the highest chance of the same; else contradicted to the
    highest chance of that, among sentences that do not say the same; else met in part; else alone. With one sentence in
    the other report these are just the chances of the two. The score is the likeliest; the chances are kept beside it.

    Every distinct sentence is encoded once, and every two are compared once, however many reports have them. As each
    sentence is read by itself, no sentence can tell the judge how to score another.

    Args:
        saved: The model.
        name: By which it is known; empty for one that is not in the package.
    """

    def __init__(self, saved: SavedRelations, name: Literal["embedded", ""] = "") -> None:
        self.saved, self.name = saved, name

    @classmethod
    def from_pretrained(
        cls, folder: str | Path = EMBEDDED, device: str = "cpu", download: bool = False
    ) -> RelationJudge:
        """The judge of a folder, or the one in the package.

        Args:
            folder: `embedded`, or where `save_pretrained` or a run wrote one.
            device: Where it runs.
            download: Whether a backbone that is not on this machine may be fetched from the hub.

        Raises:
            InputError: If a file is missing or broken; names file and field.
        """
        if str(folder) == EMBEDDED:
            return cls(load_relations(SHIPPED, device, download), EMBEDDED)
        return cls(load_relations(folder, device, download))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write settings and trained weights; of the backbone its name is kept."""
        save_relations(self.saved, folder)

    def fingerprint(self) -> str:
        """See `SentenceJudge.fingerprint`."""
        return self.saved.fingerprint()

    def judge(
        self, originals: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """See `SentenceJudge.judge`."""
        if len(originals) != len(predictions):
            raise ValueError(
                f"Expected as many originals as predictions but got {len(originals)} and {len(predictions)}."
            )
        return [
            judgement
            for begin in range(0, len(originals), WINDOW)
            for judgement in self._window(originals[begin : begin + WINDOW], predictions[begin : begin + WINDOW])
        ]

    @torch.inference_mode()
    def _window(
        self, originals: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        texts = [text for side in (originals, predictions) for report in side for text in report]
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        wanted = dict.fromkeys(
            _pair(rows[one], rows[other])
            for original, predicted in zip(originals, predictions, strict=True)
            for one in original
            for other in predicted
        )
        relations = self.saved.relations
        logits = relations.logits(relations.encode(list(rows)), list(wanted))
        known = dict(zip(wanted, logits.softmax(1)[:, _ORDER], strict=True))
        return [
            self._judgement([rows[text] for text in original], [rows[text] for text in predicted], known)
            for original, predicted in zip(originals, predictions, strict=True)
        ]

    def _judgement(
        self, original: Sequence[int], predicted: Sequence[int], known: Mapping[tuple[int, int], Tensor]
    ) -> SentenceJudgement:
        if not original or not predicted:  # nothing to compare with: what is said has no counterpart
            alone = SentenceScore(0.0, ())
            sides = (alone,) * len(original), (alone,) * len(predicted)
            return SentenceJudgement(*sides, 0.0, _explained(*sides), {}, "ok")
        table = torch.stack([known[_pair(one, other)] for one in original for other in predicted])
        table = table.view(len(original), len(predicted), 4)
        sides = _scores(table), _scores(table.transpose(0, 1))
        means = [sum(entry.score for entry in side) / len(side) for side in sides]
        return SentenceJudgement(*sides, 5 * max(0.0, sum(means) / 2), _explained(*sides), {}, "ok")


def _pair(one: int, other: int) -> tuple[int, int]:
    """Exchanging two sentences changes nothing."""
    return (one, other) if one <= other else (other, one)


def combined(table: Tensor) -> Tensor:
    """(m, 4) chances of the scores of m sentences, from those of each and the n of the other report.

    Args:
        table: (m, n, 4) chances of the scores of `SHARED`, n >= 1.

    >>> table = torch.tensor([[[0.2, 0.1, 0.7, 0.0]]])
    >>> torch.allclose(combined(table), table[:, 0])
    True
    """
    rest = torch.ones_like(table[..., 0])  # what is left of each pair's chances
    left = torch.ones_like(table[:, 0, 0])
    found = torch.zeros_like(table[:, 0])
    for place in (_SAME, _CONTRARY, _PARTLY):
        chance = (table[..., place] / rest.clamp_min(1e-9)).clamp(0, 1).amax(1)
        found[:, place] = left * chance
        left = left - found[:, place]
        rest = rest - table[..., place]
    found[:, _NONE] = left
    return found


def _scores(table: Tensor) -> tuple[SentenceScore, ...]:
    """The scores of m sentences; their counterparts are those that are likelier related than not."""
    chances = combined(table)
    best = chances.argmax(1).tolist()
    nearest = table[..., _NONE].argmin(1, keepdim=True)
    related = (table.argmax(2) != _NONE).scatter(1, nearest, True)  # what has a score has a counterpart
    return tuple(
        SentenceScore(
            SHARED[place],
            tuple(at for at, other in enumerate(others) if other) if place != _NONE else (),
            tuple(values),
        )
        for place, others, values in zip(best, related.tolist(), chances.tolist(), strict=True)
    )


def _explained(original: Sequence[SentenceScore], predicted: Sequence[SentenceScore]) -> str:
    """Which sentences are not met, by their ids."""
    parts = []
    for side, upper, words in (
        (original, False, ("contradicted", "met in part", "left out")),
        (predicted, True, ("contradicting", "right in part", "without a counterpart")),
    ):
        ids = sentence_ids(len(side), upper)
        for score, word in zip((-1.0, 0.5, 0.0), words, strict=True):
            if named := [name for name, entry in zip(ids, side, strict=True) if entry.score == score]:
                parts.append(f"{word}: {', '.join(named)}")
    return "; ".join(parts) or "every sentence is met"
