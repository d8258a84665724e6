"""RaTEScore: how alike two reports are in their medical entities."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.errors import InputError
from radreward.scorers.base import STATUS_NO_ENTITIES, STATUS_OK, STATUS_TRUNCATED, Scorer
from radreward.systems.ratescore import AffinityMatrix, EntityContributions, Matches, score_loss_by_type
from radreward.systems.ratescore.artifact import CONFIG, FORMAT, TAGGER, save_ratescore
from radreward.systems.ratescore.collator import EMBEDDED_MAX_LENGTH, match_reports
from radreward.systems.ratescore.encoder import EMBEDDED_ENTITY_ENCODER, EntityEncoder
from radreward.systems.ratescore.taggers import Tagger, load_tagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.types import ENTITY_TYPES, Entity, Scores

DEFAULT_TAGGER = "rules"
"""The tagger where none is named."""
_KEYS = frozenset({"format", "encoder", "no_entities"})
CHUNK_SIZE = 512
"""Pairs that are held at a time."""
Side = Literal["reference", "candidate"]
SIDES: tuple[Side, Side] = ("reference", "candidate")


class EntityMatch(NamedTuple):
    """Evidence: an entity, its nearest in the other report, and what that does to the score."""

    side: Side
    """Whose entity it is."""
    entity: Entity
    match: Entity
    cosine: float
    weight: float
    """W of the two types."""
    penalty: float
    """p where the types are penalised, else 1."""
    score_loss: float
    """What it takes off the score; those of a pair add up to 1 - score."""


class _ChunkScores(NamedTuple):
    """Scores of some rows."""

    total: Tensor
    sub_scores: Tensor
    status: tuple[str, ...]
    evidence: tuple[tuple[EntityMatch, ...], ...]


class RaTEScore(Scorer):
    """Entities of both reports, the nearest of the other side for each, weighed by their types.

    The total is RaTEScore, in [0, 1] where negative cosines are clamped. The sub-scores, one a type of entity, tell
    which type loses it: each is what its entities take off, <= 0, and total = 1 + their sum. The evidence of a row is a
    tuple of `EntityMatch`.

    Every distinct sentence is tagged once and every distinct entity encoded once, however often they are said.

    Args:
        tagger: What finds the entities.
        encoder: What embeds their names.
        weights: W, p and how they are used.
        no_entities: Score of a pair of which one report has no entity: null leaves it without a score; 0.5 is that of
            the reference implementation. The status says it either way.
        too_long: Reject a pair with an entity over the encoder's limit, or read its beginning, with the status
            "truncated".

    Raises:
        ValueError: If `no_entities` is not in [0, 1], or `too_long` is unknown.
    """

    def __init__(
        self,
        tagger: Tagger,
        encoder: EntityEncoder,
        affinity: AffinityMatrix,
        no_entity_score: float | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
    ) -> None:
        if no_entity_score is not None and not 0 <= no_entity_score <= 1:
            raise ValueError(f"Expected `no_entities` to be null or in [0, 1] but got {no_entity_score}.")
        if on_too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {on_too_long!r}.")
        self.tagger, self.encoder, self.affinity = tagger, encoder, affinity
        self.no_entity_score, self.on_too_long = no_entity_score, on_too_long
        self.total_range = (0.0 if affinity.clamp_cosines else None, 1.0)
        self.caching_tagger = CachingTagger(tagger)

    title = "RaTEScore"

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The types of entities, as columns."""
        return tuple(kind.lower().replace("-", "_") for kind in ENTITY_TYPES)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        parts = [
            self._score_chunk(references[begin : begin + CHUNK_SIZE], candidates[begin : begin + CHUNK_SIZE])
            for begin in range(0, len(references), CHUNK_SIZE)
        ]
        return Scores(
            torch.cat([torch.empty(0), *(part.total for part in parts)]),
            torch.cat([torch.empty(0, len(ENTITY_TYPES)), *(part.sub_scores for part in parts)]),
            None,
            tuple(status for part in parts for status in part.status),
            tuple(shown for part in parts for shown in part.evidence),
        )

    @torch.no_grad()
    def _score_chunk(self, references: Sequence[str], candidates: Sequence[str]) -> _ChunkScores:
        entities, cut, matches = match_reports(self.caching_tagger, self.encoder, references, candidates)
        explained = self.affinity.entity_contributions(matches)
        total = self.affinity(matches, math.nan if self.no_entity_score is None else self.no_entity_score)
        sub = 0.0 - score_loss_by_type(matches, explained)  # of no loss 0, not -0
        pairs = [(entities[a], entities[b]) for a, b in zip(references, candidates, strict=True)]
        over = [
            cut.get(reference) or cut.get(candidate)
            for reference, candidate in zip(references, candidates, strict=True)
        ]
        status = tuple(self._status(*pair, read) for pair, read in zip(pairs, over, strict=True))
        rejected = torch.tensor(
            [value not in (STATUS_OK, STATUS_TRUNCATED, STATUS_NO_ENTITIES) for value in status], dtype=torch.bool
        )
        total[rejected], sub[rejected] = math.nan, math.nan
        return _ChunkScores(total.float(), sub.float(), status, _evidence(pairs, matches, explained))

    def _status(self, reference: Sequence[Entity], candidate: Sequence[Entity], too_long_text: str | None) -> str:
        """What became of a pair, of which `over` is read of an entity over the limit."""
        if too_long_text is not None:
            return (
                f"over the limit: {self.encoder.too_long_message(too_long_text)}"
                if self.on_too_long == "reject"
                else STATUS_TRUNCATED
            )
        for side, found in zip(SIDES, (reference, candidate), strict=True):
            if not found:
                return f"no entity in the {side}" if self.no_entity_score is None else STATUS_NO_ENTITIES
        return STATUS_OK

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        parts = [
            self.tagger.fingerprint(),
            self.encoder.fingerprint,
            self.affinity.to_dict(),
            self.no_entity_score,
            self.on_too_long,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; of the encoder its name is kept, not its weights."""
        save_ratescore(folder, self.tagger, self.encoder, self.affinity, self.no_entity_score)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
    ) -> RaTEScore:
        """What `save_pretrained` wrote; without a folder the embedded tagger and encoder and the published weights.

        Args:
            folder: Where it is.
            precision: fp32 only.
            too_long: As of the scorer.
            device: Where tagger and encoder run.
            download: Whether models that are not on this machine may be fetched from the hub.

        Raises:
            InputError: If a file is missing or broken, or another precision is asked for; names file and field.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for RaTEScore but got {precision}.")
        if folder is None:
            weights = AffinityMatrix.from_preset("long")
            encoder = EntityEncoder(
                EMBEDDED_ENTITY_ENCODER, max_length=EMBEDDED_MAX_LENGTH, device=device, context="phrase"
            )
            return cls(load_tagger(DEFAULT_TAGGER), encoder, weights, on_too_long=on_too_long)
        path = Path(folder, CONFIG)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: Expected the settings of a RaTEScore ({error}).") from error
        if not isinstance(config, dict) or set(config) != _KEYS or config["format"] != FORMAT:
            raise InputError(f"{path}: Expected `format` {FORMAT}, `encoder` and `no_entities`.")
        try:
            encoder = EntityEncoder(**config["encoder"], device=device, allow_download=allow_download)
            tagger, weights = load_tagger(Path(folder, TAGGER)), AffinityMatrix.load(folder)
            return cls(tagger, encoder, weights, config["no_entities"], on_too_long)
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error


def _evidence(
    pairs: Sequence[tuple[Sequence[Entity], Sequence[Entity]]], matches: Matches, contributions: EntityContributions
) -> tuple[tuple[EntityMatch, ...], ...]:
    """Of each pair, its matches; the reference's entities first."""
    shown: list[list[EntityMatch]] = [[] for _ in pairs]
    columns = (
        matches.pair_index,
        matches.direction,
        matches.query_index,
        matches.match_index,
        matches.cosine,
        *contributions,
    )
    for row, direction, query, other, *numbers in zip(*(column.tolist() for column in columns), strict=True):
        own, across = pairs[row][direction], pairs[row][1 - direction]
        shown[row].append(EntityMatch(SIDES[direction], own[query], across[other], *numbers))
    return tuple(map(tuple, shown))
