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
from radreward.scorers.base import NO_ENTITIES, OK, TRUNCATED, Scorer
from radreward.systems.ratescore import AffinityWeights, Explained, Matches, losses_by_type
from radreward.systems.ratescore.artifact import CONFIG, FORMAT, TAGGER, save_ratescore
from radreward.systems.ratescore.collator import MAX_LENGTH, match_reports
from radreward.systems.ratescore.encoder import ENTITIES, EntityEncoder
from radreward.systems.ratescore.taggers import Tagger, load_tagger
from radreward.systems.ratescore.taggers.caching_tagger import RememberedTagger
from radreward.types import ENTITY_TYPES, Entity, Scores

DEFAULT = "rules"
"""The tagger where none is named."""
_KEYS = frozenset({"format", "encoder", "no_entities"})
WINDOW = 512
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
    loss: float
    """What it takes off the score; those of a pair add up to 1 - score."""


class _Part(NamedTuple):
    """Scores of some rows."""

    total: Tensor
    sub: Tensor
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
        weights: AffinityWeights,
        no_entities: float | None = None,
        too_long: Literal["reject", "truncate"] = "reject",
    ) -> None:
        if no_entities is not None and not 0 <= no_entities <= 1:
            raise ValueError(f"Expected `no_entities` to be null or in [0, 1] but got {no_entities}.")
        if too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {too_long!r}.")
        self.tagger, self.encoder, self.weights = tagger, encoder, weights
        self.no_entities, self.too_long = no_entities, too_long
        self.range = (0.0 if weights.clamp else None, 1.0)
        self.remembered = RememberedTagger(tagger)

    title = "RaTEScore"

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The types of entities, as columns."""
        return tuple(kind.lower().replace("-", "_") for kind in ENTITY_TYPES)

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        parts = [
            self._window(references[begin : begin + WINDOW], candidates[begin : begin + WINDOW])
            for begin in range(0, len(references), WINDOW)
        ]
        return Scores(
            torch.cat([torch.empty(0), *(part.total for part in parts)]),
            torch.cat([torch.empty(0, len(ENTITY_TYPES)), *(part.sub for part in parts)]),
            None,
            tuple(status for part in parts for status in part.status),
            tuple(shown for part in parts for shown in part.evidence),
        )

    @torch.no_grad()
    def _window(self, references: Sequence[str], candidates: Sequence[str]) -> _Part:
        entities, cut, matches = match_reports(self.remembered, self.encoder, references, candidates)
        explained = self.weights.explain(matches)
        total = self.weights(matches, math.nan if self.no_entities is None else self.no_entities)
        sub = 0.0 - losses_by_type(matches, explained)  # of no loss 0, not -0
        pairs = [(entities[a], entities[b]) for a, b in zip(references, candidates, strict=True)]
        over = [
            cut.get(reference) or cut.get(candidate)
            for reference, candidate in zip(references, candidates, strict=True)
        ]
        status = tuple(self._status(*pair, read) for pair, read in zip(pairs, over, strict=True))
        rejected = torch.tensor([value not in (OK, TRUNCATED, NO_ENTITIES) for value in status], dtype=torch.bool)
        total[rejected], sub[rejected] = math.nan, math.nan
        return _Part(total.float(), sub.float(), status, _evidence(pairs, matches, explained))

    def _status(self, reference: Sequence[Entity], candidate: Sequence[Entity], over: str | None) -> str:
        """What became of a pair, of which `over` is read of an entity over the limit."""
        if over is not None:
            return f"over the limit: {self.encoder.too_long(over)}" if self.too_long == "reject" else TRUNCATED
        for side, found in zip(SIDES, (reference, candidate), strict=True):
            if not found:
                return f"no entity in the {side}" if self.no_entities is None else NO_ENTITIES
        return OK

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        parts = [
            self.tagger.fingerprint(),
            self.encoder.fingerprint,
            self.weights.to_dict(),
            self.no_entities,
            self.too_long,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; of the encoder its name is kept, not its weights."""
        save_ratescore(folder, self.tagger, self.encoder, self.weights, self.no_entities)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32"] = "fp32",
        too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        download: bool = False,
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
            weights = AffinityWeights.from_preset("long")
            encoder = EntityEncoder(ENTITIES, max_length=MAX_LENGTH, device=device, context="phrase")
            return cls(load_tagger(DEFAULT), encoder, weights, too_long=too_long)
        path = Path(folder, CONFIG)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: Expected the settings of a RaTEScore ({error}).") from error
        if not isinstance(config, dict) or set(config) != _KEYS or config["format"] != FORMAT:
            raise InputError(f"{path}: Expected `format` {FORMAT}, `encoder` and `no_entities`.")
        try:
            encoder = EntityEncoder(**config["encoder"], device=device, download=download)
            tagger, weights = load_tagger(Path(folder, TAGGER)), AffinityWeights.load(folder)
            return cls(tagger, encoder, weights, config["no_entities"], too_long)
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: {error}") from error


def _evidence(
    pairs: Sequence[tuple[Sequence[Entity], Sequence[Entity]]], matches: Matches, explained: Explained
) -> tuple[tuple[EntityMatch, ...], ...]:
    """Of each pair, its matches; the reference's entities first."""
    shown: list[list[EntityMatch]] = [[] for _ in pairs]
    columns = (matches.row, matches.direction, matches.query_index, matches.match_index, matches.cosine, *explained)
    for row, direction, query, other, *numbers in zip(*(column.tolist() for column in columns), strict=True):
        own, across = pairs[row][direction], pairs[row][1 - direction]
        shown[row].append(EntityMatch(SIDES[direction], own[query], across[other], *numbers))
    return tuple(map(tuple, shown))
