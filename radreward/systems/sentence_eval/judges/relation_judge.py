"""A judge of sentences that needs no chat model: how the sentences of two reports relate, two by two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from radreward.systems.sentence_eval.artifact import (
    EMBEDDED_DIR,
    RelationArtifact,
    load_relation_artifact,
    save_relation_artifact,
)
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judges.base import SCORE_ORDER, SentenceJudge
from radreward.systems.sentence_eval.prompt import sentence_ids
from radreward.types import SentenceJudgement, SentenceScore

EMBEDDED_JUDGE: Literal["embedded"] = "embedded"
PAIRS_PER_BATCH = 64
"""Pairs of reports whose sentences are held at a time."""
_ORDER = [SCORES.index(score) for score in SCORE_ORDER]
_UNMATCHED, _PARTIAL, _SAME, _CONTRADICTION = range(4)


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

    def __init__(self, artifact: RelationArtifact, name: Literal["embedded", ""] = "") -> None:
        self.artifact, self.name = artifact, name

    @classmethod
    def from_pretrained(
        cls, folder: str | Path = EMBEDDED_JUDGE, device: str = "cpu", allow_download: bool = False
    ) -> RelationJudge:
        """The judge of a folder, or the one in the package.

        Args:
            folder: `embedded`, or where `save_pretrained` or a run wrote one.
            device: Where it runs.
            download: Whether a backbone that is not on this machine may be fetched from the hub.

        Raises:
            InputError: If a file is missing or broken; names file and field.
        """
        if str(folder) == EMBEDDED_JUDGE:
            return cls(load_relation_artifact(EMBEDDED_DIR, device, allow_download), EMBEDDED_JUDGE)
        return cls(load_relation_artifact(folder, device, allow_download))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write settings and trained weights; of the backbone its name is kept."""
        save_relation_artifact(self.artifact, folder)

    def fingerprint(self) -> str:
        """See `SentenceJudge.fingerprint`."""
        return self.artifact.fingerprint()

    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """See `SentenceJudge.judge`."""
        if len(references) != len(candidates):
            raise ValueError(
                f"Expected as many originals as predictions but got {len(references)} and {len(candidates)}."
            )
        return [
            judgement
            for begin in range(0, len(references), PAIRS_PER_BATCH)
            for judgement in self._judge_batch(
                references[begin : begin + PAIRS_PER_BATCH], candidates[begin : begin + PAIRS_PER_BATCH]
            )
        ]

    @torch.inference_mode()
    def _judge_batch(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        texts = [text for side in (references, candidates) for report in side for text in report]
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        wanted = dict.fromkeys(
            _ordered_pair(rows[one], rows[other])
            for original, predicted in zip(references, candidates, strict=True)
            for one in original
            for other in predicted
        )
        relations = self.artifact.predictor
        logits = relations.logits(relations.encode(list(rows)), list(wanted))
        known = dict(zip(wanted, logits.softmax(1)[:, _ORDER], strict=True))
        return [
            self._judge_pair([rows[text] for text in original], [rows[text] for text in predicted], known)
            for original, predicted in zip(references, candidates, strict=True)
        ]

    def _judge_pair(
        self, reference: Sequence[int], candidate: Sequence[int], pair_probabilities: Mapping[tuple[int, int], Tensor]
    ) -> SentenceJudgement:
        if not reference or not candidate:  # nothing to compare with: what is said has no counterpart
            alone = SentenceScore(0.0, ())
            sides = (alone,) * len(reference), (alone,) * len(candidate)
            return SentenceJudgement(*sides, 0.0, _explanation(*sides), {}, "ok")
        table = torch.stack([pair_probabilities[_ordered_pair(one, other)] for one in reference for other in candidate])
        table = table.view(len(reference), len(candidate), 4)
        sides = _sentence_scores(table), _sentence_scores(table.transpose(0, 1))
        means = [sum(entry.score for entry in side) / len(side) for side in sides]
        return SentenceJudgement(*sides, 5 * max(0.0, sum(means) / 2), _explanation(*sides), {}, "ok")


def _ordered_pair(first: int, second: int) -> tuple[int, int]:
    """Exchanging two sentences changes nothing."""
    return (first, second) if first <= second else (second, first)


def combine_pair_probabilities(pair_probabilities: Tensor) -> Tensor:
    """(m, 4) chances of the scores of m sentences, from those of each and the n of the other report.

    Args:
        table: (m, n, 4) chances of the scores of `SHARED`, n >= 1.

    >>> table = torch.tensor([[[0.2, 0.1, 0.7, 0.0]]])
    >>> torch.allclose(combined(table), table[:, 0])
    True
    """
    rest = torch.ones_like(pair_probabilities[..., 0])  # what is left of each pair's chances
    left = torch.ones_like(pair_probabilities[:, 0, 0])
    found = torch.zeros_like(pair_probabilities[:, 0])
    for place in (_SAME, _CONTRADICTION, _PARTIAL):
        chance = (pair_probabilities[..., place] / rest.clamp_min(1e-9)).clamp(0, 1).amax(1)
        found[:, place] = left * chance
        left = left - found[:, place]
        rest = rest - pair_probabilities[..., place]
    found[:, _UNMATCHED] = left
    return found


def _sentence_scores(table: Tensor) -> tuple[SentenceScore, ...]:
    """The scores of m sentences; their counterparts are those that are likelier related than not."""
    chances = combine_pair_probabilities(table)
    best = chances.argmax(1).tolist()
    nearest = table[..., _UNMATCHED].argmin(1, keepdim=True)
    related = (table.argmax(2) != _UNMATCHED).scatter(1, nearest, True)  # what has a score has a counterpart
    return tuple(
        SentenceScore(
            SCORE_ORDER[place],
            tuple(at for at, other in enumerate(others) if other) if place != _UNMATCHED else (),
            tuple(values),
        )
        for place, others, values in zip(best, related.tolist(), chances.tolist(), strict=True)
    )


def _explanation(reference: Sequence[SentenceScore], candidate: Sequence[SentenceScore]) -> str:
    """Which sentences are not met, by their ids."""
    parts = []
    for side, upper, words in (
        (reference, False, ("contradicted", "met in part", "left out")),
        (candidate, True, ("contradicting", "right in part", "without a counterpart")),
    ):
        ids = sentence_ids(len(side), upper)
        for score, word in zip((-1.0, 0.5, 0.0), words, strict=True):
            if named := [name for name, entry in zip(ids, side, strict=True) if entry.score == score]:
                parts.append(f"{word}: {', '.join(named)}")
    return "; ".join(parts) or "every sentence is met"
