"""Entities of report pairs, tagged and matched. Each distinct sentence is tagged once, and each name embedded once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from safetensors.torch import load, save
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.collators.base import Collator, error_tensor
from radreward.errors import InputError, check_choice
from radreward.io.artifacts import fingerprint
from radreward.io.cache import SQLiteCache
from radreward.systems.ratescore.encoder import EMBEDDED_ENTITY_ENCODER, EntityEncoder
from radreward.systems.ratescore.matching import Matches, PackedEntities, match_entities
from radreward.systems.ratescore.taggers import CachingTagger, Tagger, load_tagger
from radreward.text.normalization import normalize_report
from radreward.types import Entity, ReportGroup

EMBEDDED_MAX_LENGTH = 64
"""Maximum number of tokens per entity in the embedded scorer, with up to twenty tokens for the prefix of a type."""


def embedded_entity_encoder(device: str = "cpu") -> EntityEncoder:
    """Return the encoder of the embedded scorer: MiniLM with a trained head, which embeds entities as phrases."""
    return EntityEncoder(EMBEDDED_ENTITY_ENCODER, max_length=EMBEDDED_MAX_LENGTH, device=device, context="phrase")


class _MatchedReports(NamedTuple):
    """n report pairs with their entities and matches."""

    entities: dict[str, tuple[Entity, ...]]
    """Entities of each distinct report."""
    truncated: dict[str, str]
    """The first truncated text of each report with entities over the encoder's limit."""
    matches: Matches


def match_reports(
    tagger: Tagger, encoder: EntityEncoder, references: Sequence[str], candidates: Sequence[str]
) -> _MatchedReports:
    """Tag the distinct reports, embed the distinct texts of their entities, and match the entities of each pair.

    Raises:
        ValueError: If the numbers of references and candidates differ.
    """
    reports = list(dict.fromkeys((*references, *candidates)))
    entities = tagger.tag_reports(reports)
    texts = [encoder.contextualize(report, found) for report, found in zip(reports, entities, strict=True)]
    names, packed = PackedEntities.from_reports(entities, texts)
    embeddings = encoder.embed(names)
    row_of = {report: row for row, report in enumerate(reports)}
    first, second = (
        torch.tensor([row_of[report] for report in side], dtype=torch.int64) for side in (references, candidates)
    )
    matches = match_entities(embeddings.vectors, packed.select(first), packed.select(second))
    too_long = {name for name, truncated in zip(names, embeddings.truncated, strict=True) if truncated}
    truncated = {
        report: next(text for text in own if text in too_long)
        for report, own in zip(reports, texts, strict=True)
        if too_long.intersection(own)
    }
    return _MatchedReports(dict(zip(reports, entities, strict=True)), truncated, matches)


class EntityMatchBatch(NamedTuple):
    """Batch of an `AffinityModule`."""

    matches: Matches
    """Matches of every candidate with its reference."""
    targets: Tensor
    """(C,) float64 target totals under the criteria, or ratings. Higher is better."""
    group: Tensor
    """(C,) int64 index of the reference in the batch."""
    ids: tuple[str, ...]
    """Ids of the groups, for messages."""


class EntityMatchCollator(Collator):
    """Collates groups into matched entities, with the targets of the candidates.

    Args:
        criteria: Criteria of the errors, which every candidate must state.
        tagger: `rules`, `embedded`, or the folder of a saved tagger.
        encoder: Encoder of entity names. Defaults to `embedded-entities` with `context` phrase.
        on_too_long: "error" if a name exceeds the encoder's token limit, or "truncate" to embed its beginning.
        cache_path: SQLite file that caches the matches of each batch for other runs, such as the trials of a study.
    """

    def __init__(
        self,
        criteria: Criteria,
        tagger: str = "rules",
        encoder: EntityEncoder | None = None,
        on_too_long: Literal["error", "truncate"] = "error",
        cache_path: str | None = None,
    ) -> None:
        check_choice("on_too_long", on_too_long, ("error", "truncate"))
        self.criteria, self.on_too_long, self.cache_path = criteria, on_too_long, cache_path
        self.tagger = load_tagger(tagger)
        self.encoder = encoder or embedded_entity_encoder()
        self.encoder.max_batch_tokens = 1  # one name per pass: rounding depends on the batch, and batches on resuming
        self._caching_tagger = CachingTagger(self.tagger)

    def collate(self, groups: Sequence[ReportGroup]) -> EntityMatchBatch:
        """Return the batch.

        Raises:
            InputError: If the errors of a candidate by these criteria are missing, or a name is too long. The message
                names the group.
        """
        groups = [_normalize_texts(group) for group in groups]
        targets = torch.cat([self._group_targets(group) for group in groups])
        sizes = torch.tensor([len(group.candidates) for group in groups])
        index = torch.arange(len(groups)).repeat_interleave(sizes)
        return EntityMatchBatch(self._matches(groups), targets, index, tuple(group.id for group in groups))

    def length(self, group: ReportGroup) -> int:
        """Return the number of characters, see `Collator.length`.

        Raises:
            InputError: If the errors of a candidate by these criteria are missing. The message names the group and the
                candidate.
        """
        self._group_targets(group)
        return super().length(group)

    def _matches(self, groups: Sequence[ReportGroup]) -> Matches:
        """Return the matches of all candidates, from the cache if available."""
        pairs = [(group.reference, candidate.text) for group in groups for candidate in group.candidates]
        if self.cache_path is None:
            return self._compute_matches(groups, pairs)
        key = fingerprint(pairs)
        with closing(SQLiteCache(self.cache_path, self._cache_namespace)) as cache:
            if stored := cache.get([key]):
                return Matches(**load(stored[key]), num_pairs=len(pairs))
            matches = self._compute_matches(groups, pairs)
            tensors = {name: value for name, value in matches._asdict().items() if name != "num_pairs"}
            cache.put({key: save(tensors)})
        return matches

    def _compute_matches(self, groups: Sequence[ReportGroup], pairs: Sequence[tuple[str, str]]) -> Matches:
        references, candidates = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        matched = match_reports(self._caching_tagger, self.encoder, references, candidates)
        for group in groups if self.on_too_long == "error" else ():
            for text in (group.reference, *(candidate.text for candidate in group.candidates)):
                if text in matched.truncated:
                    message = self.encoder.too_long_message(matched.truncated[text])
                    raise InputError(
                        f"group {group.id!r}: {message} Set on_too_long to truncate, or raise the encoder's max_length."
                    )
        return matched.matches

    @cached_property
    def _cache_namespace(self) -> str:
        return fingerprint(self.tagger.fingerprint(), self.encoder.fingerprint)

    def _group_targets(self, group: ReportGroup) -> Tensor:
        errors = [
            error_tensor(candidate, self.criteria, f"group {group.id!r}, candidate {number}")
            for number, candidate in enumerate(group.candidates, 1)
        ]
        return self.criteria.total(self.criteria.target_rewards(torch.stack(errors).double()))


def _normalize_texts(group: ReportGroup) -> ReportGroup:
    """Return a group with its texts in the form in which they are scored."""
    candidates = tuple(entry._replace(text=normalize_report(entry.text)) for entry in group.candidates)
    return group._replace(reference=normalize_report(group.reference), candidates=candidates)
