"""Reports to matches: entities are tagged and encoded once, however often a report or a sentence is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.collators.base import Collator, error_tensor
from radreward.errors import InputError
from radreward.systems.ratescore.encoder import EMBEDDED_ENTITY_ENCODER, EntityEncoder
from radreward.systems.ratescore.matching import Matches, PackedEntities, match_entities
from radreward.systems.ratescore.taggers import Tagger, load_tagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.types import Entity, ReportGroup

EMBEDDED_MAX_LENGTH = 64
"""Tokens of an entity in the embedded scorer: words for its type take up to twenty of them."""


class MatchedReports(NamedTuple):
    """n pairs of reports with their entities and how these match."""

    entities: dict[str, tuple[Entity, ...]]
    """Of each distinct report."""
    truncated: dict[str, str]
    """Of reports with entities over the encoder's limit, what was to be read of the first; only its beginning was."""
    matches: Matches


def match_reports(
    tagger: Tagger, encoder: EntityEncoder, references: Sequence[str], candidates: Sequence[str]
) -> MatchedReports:
    """Tag the distinct reports, encode the distinct names, match each pair.

    Raises:
        ValueError: If there are not as many candidates as references.
    """
    texts = list(dict.fromkeys((*references, *candidates)))
    found = tagger.tag_reports(texts)
    read = [encoder.contextualize(text, entities) for text, entities in zip(texts, found, strict=True)]
    names, sets = PackedEntities.from_reports(found, read)
    embedded = encoder.embed(names)
    row = {text: index for index, text in enumerate(texts)}
    first, second = (torch.tensor([row[text] for text in side], dtype=torch.int64) for side in (references, candidates))
    matches = match_entities(embedded.vectors, sets.select(first), sets.select(second))
    over = {name for name, is_cut in zip(names, embedded.truncated, strict=True) if is_cut}
    cut = {
        text: next(filter(over.__contains__, said)) for text, said in zip(texts, read, strict=True) if over & {*said}
    }
    return MatchedReports(dict(zip(texts, found, strict=True)), cut, matches)


class EntityMatchBatch(NamedTuple):
    """What the data module hands to an `AffinityModule`."""

    matches: Matches
    """Of every candidate with its reference."""
    quality: Tensor
    """(C,) float64 total by the criteria, higher is better."""
    group: Tensor
    """(C,) int64: which reference of the batch."""
    ids: tuple[str, ...]
    """Ids of the groups, for messages."""


class EntityMatchCollator(Collator):
    """Groups to matches of entities, with the known quality of the candidates.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tagger: What finds the entities: `rules`, or the folder of a saved tagger.
        encoder: What embeds their names; `embedded-entities`, reading phrases, where nothing is given.
        too_long: What to do with a name that has more tokens than the encoder takes: stop with an error that names
            it, or read its beginning.
    """

    def __init__(
        self,
        criteria: Criteria,
        tagger: str = "rules",
        encoder: EntityEncoder | None = None,
        on_too_long: Literal["error", "truncate"] = "error",
    ) -> None:
        self.criteria, self.on_too_long = criteria, on_too_long
        self.tagger = load_tagger(tagger)
        self.encoder = encoder or EntityEncoder(
            EMBEDDED_ENTITY_ENCODER, context="phrase", max_length=EMBEDDED_MAX_LENGTH
        )
        self._caching_tagger = CachingTagger(self.tagger)

    def collate(self, groups: Sequence[ReportGroup]) -> EntityMatchBatch:
        """The batch.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria, or a name is too long; names the group.
        """
        candidates = [candidate for group in groups for candidate in group.candidates]
        index = torch.arange(len(groups)).repeat_interleave(torch.tensor([len(group.candidates) for group in groups]))
        references = [groups[at].reference for at in index.tolist()]
        found = match_reports(
            self._caching_tagger, self.encoder, references, [candidate.text for candidate in candidates]
        )
        if found.truncated and self.on_too_long == "error":
            self._raise_too_long(groups, found)
        quality = torch.cat([self._group_quality(group) for group in groups])
        return EntityMatchBatch(found.matches, quality, index, tuple(group.id for group in groups))

    def length(self, group: ReportGroup) -> int:
        """Characters, as of any collator.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria; names the group and the candidate.
        """
        self._group_quality(group)
        return super().length(group)

    def _group_quality(self, group: ReportGroup) -> Tensor:
        errors = [
            error_tensor(candidate, self.criteria, f"group {group.id!r}, candidate {number}")
            for number, candidate in enumerate(group.candidates, 1)
        ]
        return self.criteria.total_quality(self.criteria.quality(torch.stack(errors).double()))

    def _raise_too_long(self, groups: Sequence[ReportGroup], matched: MatchedReports) -> None:
        for group in groups:
            for text in (group.reference, *(candidate.text for candidate in group.candidates)):
                if text in matched.truncated:
                    raise InputError(
                        f"group {group.id!r}: {self.encoder.too_long_message(matched.truncated[text])} Set too_long to truncate, or a "
                        "larger max_length of the encoder."
                    )
