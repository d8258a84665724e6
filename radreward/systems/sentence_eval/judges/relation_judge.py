"""Sentence judge without a language model: it predicts relations between the sentences of both reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from radreward.data.relation_io import RELATION_SCORES
from radreward.models.precision import Precision
from radreward.systems.sentence_eval.artifact import (
    EMBEDDED_DIR,
    RelationArtifact,
    load_relation_artifact,
    save_relation_artifact,
)
from radreward.systems.sentence_eval.judgement import SCORE_ORDER, SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.judges.base import SentenceJudge, check_pair_counts
from radreward.systems.sentence_eval.prompt import sentence_ids

EMBEDDED_JUDGE: Literal["embedded"] = "embedded"
PAIRS_PER_BATCH = 256
"""Maximum number of report pairs whose sentences are encoded together: a sentence that several reports have, once."""
_SENTENCE_PAIRS_PER_BATCH = 100_000
"""Maximum number of sentence pairs that are compared at once. Ordinary batches have a few thousand."""
MAX_SENTENCES = 300
"""Maximum number of sentences of a report: all pairs are compared, so time and memory grow quadratically."""
_TO_SCORE_ORDER = [RELATION_SCORES.index(score) for score in SCORE_ORDER]
_UNMATCHED, _PARTIAL, _EQUAL, _CONTRADICTION = range(4)


class RelationJudge(SentenceJudge):
    """Judge that scores every sentence by its predicted relations to the sentences of the other report.

    For two sentences, a trained model predicts the probabilities that they are equal, partially equal, contradictory or
    unrelated. `combine_pair_probabilities` combines the probabilities of a sentence with all sentences of the other
    report. The score of the sentence is the most probable score. The overall score is 5 · max(0, m), where m is the
    mean of the two reports' mean sentence scores.

    Each distinct sentence of a batch is encoded once, and each distinct pair is compared once. Sentences are encoded
    separately, so an instruction in one sentence cannot change the scores of others. No sentence is kept for later
    batches: the last digits of a score would depend on what was scored before.

    Args:
        artifact: The trained model.
        name: "embedded" for the judge of the package, otherwise empty.
    """

    def __init__(self, artifact: RelationArtifact, name: Literal["embedded", ""] = "") -> None:
        self.artifact, self.name = artifact, name
        self.device = next(artifact.predictor.model.parameters()).device

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path = EMBEDDED_JUDGE,
        device: str = "auto",
        allow_download: bool = False,
        precision: Precision = "fp32",
    ) -> RelationJudge:
        """Load the "embedded" judge of the package, or a folder that `save_pretrained` or a run wrote.

        Raises:
            InputError: If a file is missing or damaged, a field is invalid, or the device does not compute fast in
                bf16.
        """
        if str(folder) == EMBEDDED_JUDGE:
            return cls(load_relation_artifact(EMBEDDED_DIR, device, allow_download, precision), EMBEDDED_JUDGE)
        return cls(load_relation_artifact(folder, device, allow_download, precision))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write settings and trained weights. The backbone is stored by its name."""
        save_relation_artifact(self.artifact, folder)

    def fingerprint(self) -> str:
        """Return a hash of settings, trained weights and precision."""
        return self.artifact.fingerprint()

    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """Return the judgement of each pair, see `SentenceJudge.judge`.

        If a report is too long, there are no scores.
        """
        check_pair_counts(references, candidates)
        pairs = list(zip(references, candidates, strict=True))
        judged = iter(
            judgement
            for batch in _batches([pair for pair in pairs if not _is_too_long(pair)])
            for judgement in self._judge_batch([pair[0] for pair in batch], [pair[1] for pair in batch])
        )
        return [_too_long_judgement(*pair) if _is_too_long(pair) else next(judged) for pair in pairs]

    @torch.inference_mode()
    def _judge_batch(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        texts = [text for side in (references, candidates) for report in side for text in report]
        index = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        pairs = list(
            dict.fromkeys(
                _ordered_pair(index[first], index[second])
                for reference, candidate in zip(references, candidates, strict=True)
                for first in reference
                for second in candidate
            )
        )
        predictor = self.artifact.predictor
        logits = predictor.logits(predictor.encode(list(index)), pairs)
        probabilities = logits.softmax(1)[:, _TO_SCORE_ORDER]
        row_of = {pair: row for row, pair in enumerate(pairs)}

        def judge(reference: Sequence[str], candidate: Sequence[str]) -> SentenceJudgement:
            own, other = ([index[text] for text in side] for side in (reference, candidate))
            rows = [row_of[_ordered_pair(first, second)] for first in own for second in other]
            return self._judge_pair(probabilities[rows].view(len(own), len(other), 4))

        return list(map(judge, references, candidates))

    def _judge_pair(self, table: Tensor) -> SentenceJudgement:
        """Return the judgement of m and n sentences, from the (m, n, 4) probabilities of their pairs."""
        if not table.numel():
            unmatched = SentenceScore(0.0, ())
            sides = (unmatched,) * table.shape[0], (unmatched,) * table.shape[1]
            return SentenceJudgement(*sides, 0.0, _explanation(*sides), {}, "ok")
        sides = _sentence_scores(table), _sentence_scores(table.transpose(0, 1))
        means = [sum(entry.score for entry in side) / len(side) for side in sides]
        return SentenceJudgement(*sides, 5 * max(0.0, sum(means) / 2), _explanation(*sides), {}, "ok")


_ReportPair = tuple[Sequence[str], Sequence[str]]
"""Sentences of a reference and of a candidate."""


def _is_too_long(pair: _ReportPair) -> bool:
    return max(map(len, pair)) > MAX_SENTENCES


def _too_long_judgement(reference: Sequence[str], candidate: Sequence[str]) -> SentenceJudgement:
    status = f"over the limit: Expected at most {MAX_SENTENCES} sentences but got {max(len(reference), len(candidate))}"
    return SentenceJudgement((None,) * len(reference), (None,) * len(candidate), None, "", {}, status)


def _batches(pairs: Sequence[_ReportPair]) -> Iterator[list[_ReportPair]]:
    """Yield batches of consecutive pairs, within the limits of a batch or with a single pair."""
    batch: list[_ReportPair] = []
    size = 0
    for pair in pairs:
        added = len(pair[0]) * len(pair[1])
        if batch and (len(batch) == PAIRS_PER_BATCH or size + added > _SENTENCE_PAIRS_PER_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(pair)
        size += added
    if batch:
        yield batch


def _ordered_pair(first: int, second: int) -> tuple[int, int]:
    """Return the pair in ascending order, since relations are symmetric."""
    return (first, second) if first <= second else (second, first)


def combine_pair_probabilities(pair_probabilities: Tensor) -> Tensor:
    """Return score probabilities of m sentences, from the probabilities of their pairs with n sentences of the other.

    The probability of "equal" is the highest one of all pairs. If the sentence is not equal, the probability of
    "contradicted" is the highest one of all pairs, given that the pair is not equal; "partial" follows in the same way,
    and "unmatched" has the remaining probability. For n = 1, these are the probabilities of the pair.

    Args:
        pair_probabilities: (m, n, 4) in the order of `SCORE_ORDER`, n >= 1.

    Returns:
        (m, 4) in the order of `SCORE_ORDER`.

    >>> table = torch.tensor([[[0.2, 0.1, 0.7, 0.0]]])
    >>> torch.allclose(combine_pair_probabilities(table), table[:, 0])
    True
    """
    pair_remainder = torch.ones_like(pair_probabilities[..., 0])
    remainder = torch.ones_like(pair_probabilities[:, 0, 0])
    combined = torch.zeros_like(pair_probabilities[:, 0])
    for relation in (_EQUAL, _CONTRADICTION, _PARTIAL):
        conditional = (pair_probabilities[..., relation] / pair_remainder.clamp_min(1e-9)).clamp(0, 1).amax(1)
        combined[:, relation] = remainder * conditional
        remainder = remainder - combined[:, relation]
        pair_remainder = pair_remainder - pair_probabilities[..., relation]
    combined[:, _UNMATCHED] = remainder
    return combined


def _sentence_scores(pair_probabilities: Tensor) -> tuple[SentenceScore, ...]:
    """Return the scores of m sentences. A counterpart is a sentence whose most likely relation is not "unmatched"."""
    probabilities = combine_pair_probabilities(pair_probabilities)
    closest = pair_probabilities[..., _UNMATCHED].argmin(1, keepdim=True)
    related = (pair_probabilities.argmax(2) != _UNMATCHED).scatter(1, closest, True)  # at least one counterpart
    return tuple(
        SentenceScore(
            SCORE_ORDER[best],
            tuple(index for index, is_related in enumerate(row) if is_related) if best != _UNMATCHED else (),
            tuple(values),
        )
        for best, row, values in zip(
            probabilities.argmax(1).tolist(), related.tolist(), probabilities.tolist(), strict=True
        )
    )


def _explanation(reference: Sequence[SentenceScore], candidate: Sequence[SentenceScore]) -> str:
    """Return the ids of the sentences without an equal counterpart."""
    parts = []
    for scores, uppercase, labels in (
        (reference, False, ("contradicted", "met in part", "left out")),
        (candidate, True, ("contradicting", "right in part", "without a counterpart")),
    ):
        ids = sentence_ids(len(scores), uppercase)
        for value, label in zip((-1.0, 0.5, 0.0), labels, strict=True):
            if names := [name for name, entry in zip(ids, scores, strict=True) if entry.score == value]:
                parts.append(f"{label}: {', '.join(names)}")
    return "; ".join(parts) or "every sentence is met"
