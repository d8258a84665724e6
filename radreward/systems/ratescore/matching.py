"""Matches of the entities of two reports, each with the most similar entity of the other, independent of W and p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.types import ENTITY_TYPES, Entity

NUM_TYPES = len(ENTITY_TYPES)
_MAX_ELEMENTS = 2**22
"""Maximum number of tensor elements held at once while entities are compared."""


class PackedEntities(NamedTuple):
    """The m entities of n reports, concatenated."""

    name_index: Tensor
    """(m,) int64 row in a table of embeddings."""
    type_index: Tensor
    """(m,) int64 index in `ENTITY_TYPES`."""
    counts: Tensor
    """(n,) int64 number of entities of each report."""

    @classmethod
    def from_reports(
        cls, reports: Sequence[Sequence[Entity]], texts: Sequence[Sequence[str]]
    ) -> tuple[list[str], Self]:
        """Return the distinct texts to embed, in order of appearance, and the entities that refer to them.

        Args:
            reports: Entities of each report.
            texts: Text to embed of each entity.

        Raises:
            ValueError: If an entity has an unknown type.

        >>> effusion = Entity("effusion", "Disease", 0, 8)
        >>> texts = [["effusion"], [], ["effusion"]]
        >>> names, entities = PackedEntities.from_reports([[effusion], [], [effusion]], texts)
        >>> names, entities.name_index.tolist(), entities.counts.tolist()
        (['effusion'], [0, 0], [1, 0, 1])
        """
        row_of: dict[str, int] = {}
        entities = [entity for report in reports for entity in report]
        if unknown := next((entity for entity in entities if entity.type not in ENTITY_TYPES), None):
            raise ValueError(f"Expected a type of {', '.join(ENTITY_TYPES)} but {unknown.name!r} has {unknown.type!r}.")
        names = [row_of.setdefault(text, len(row_of)) for report in texts for text in report]
        types = [ENTITY_TYPES.index(entity.type) for entity in entities]
        counts = [len(report) for report in reports]
        return list(row_of), cls(*(torch.tensor(values, dtype=torch.int64) for values in (names, types, counts)))

    def select(self, reports: Tensor) -> Self:
        """Return the entities of these reports (k,) int64, in this order. Reports may repeat."""
        counts = self.counts[reports]
        start = (self.counts.cumsum(0) - self.counts)[reports]
        offset = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        index = start.repeat_interleave(counts) + offset
        return type(self)(self.name_index[index], self.type_index[index], counts)


class Matches(NamedTuple):
    """Each of the m entities of n report pairs, with its match in the other report.

    Matches are ordered by pair. In a pair, the entities of the reference come first. A pair in which a report has no
    entity has no matches. (A tuple, because Lightning moves tuples to a device, but not frozen dataclasses.)
    """

    cosine: Tensor
    """(m,) cosine of the entity and its match, in [-1, 1]."""
    query_type: Tensor
    """(m,) int64 type of the entity."""
    match_type: Tensor
    """(m,) int64 type of its match."""
    pair_index: Tensor
    """(m,) int64 index of the pair."""
    direction: Tensor
    """(m,) int64: 0 for an entity of the reference, 1 for an entity of the candidate."""
    query_index: Tensor
    """(m,) int64 index of the entity in its report."""
    match_index: Tensor
    """(m,) int64 index of the match in the other report."""
    num_pairs: int
    """n, including pairs without matches."""

    def type_pair_sums(self, clamp_cosines: bool = True) -> TypePairSums:
        """Return the matches summed by types. `clamp_cosines` replaces negative cosines by 0."""
        cell = ((self.pair_index * 2 + self.direction) * NUM_TYPES + self.query_type) * NUM_TYPES + self.match_type
        cosine = self.cosine.double()
        cosine = cosine.clamp_min(0) if clamp_cosines else cosine
        size, shape = self.num_pairs * 2 * NUM_TYPES * NUM_TYPES, (self.num_pairs, 2, NUM_TYPES, NUM_TYPES)
        return TypePairSums(
            cosine.new_zeros(size).index_add(0, cell, cosine).view(shape),
            torch.bincount(cell, minlength=size).double().view(shape),
        )


class TypePairSums(NamedTuple):
    """Matches of n pairs, summed by the types of both entities. These sums, W and p determine the scores."""

    cosine_sums: Tensor
    """(n, 2, 5, 5) float64 sum of cosines by direction, type of the entity and type of its match."""
    counts: Tensor
    """(n, 2, 5, 5) float64 number of matches."""

    def select(self, rows: Tensor) -> TypePairSums:
        """Return the sums of some pairs: (k,) int64 or (n,) bool."""
        return TypePairSums(self.cosine_sums[rows], self.counts[rows])

    @property
    def defined(self) -> Tensor:
        """(n,) bool: True if both reports have entities."""
        return self.counts.sum((1, 2, 3)) > 0


def match_entities(
    embeddings: Tensor, references: PackedEntities, candidates: PackedEntities, max_elements: int = _MAX_ELEMENTS
) -> Matches:
    """Match each entity with the entity of the other report of highest cosine (RaTEScore, section 2.4), both ways.

    Equal names have exactly equal cosines. Of equal cosines, a match of the entity's own type has priority, then the
    first type in `ENTITY_TYPES`, so the order of sentences does not change a score. The paper does not define ties.

    Args:
        embeddings: (names, d), of any length; a row of zeros has cosine 0 with everything.
        references: Entities of n reports.
        candidates: Entities of the n reports that are scored against them.
        max_elements: Maximum number of elements of intermediate tensors.

    Raises:
        ValueError: If the numbers of reports differ, or an embedding is not finite.

    >>> entities = [[Entity("effusion", "Disease", 0, 8)], [Entity("fluid", "Abnormality", 0, 5)]]
    >>> _, packed = PackedEntities.from_reports(entities, [["effusion"], ["fluid"]])
    >>> reference, candidate = (packed.select(torch.tensor([i])) for i in (0, 1))
    >>> matches = match_entities(torch.tensor([[1.0, 0.0], [0.6, 0.8]]), reference, candidate)
    >>> matches.cosine, matches.query_type.tolist(), matches.match_type.tolist()
    (tensor([0.6000, 0.6000]), [2, 0], [0, 2])
    """
    if len(references.counts) != len(candidates.counts):
        raise ValueError(
            f"Expected as many candidates as references but got {len(candidates.counts)}, {len(references.counts)}."
        )
    if not torch.isfinite(embeddings).all():
        raise ValueError("Expected `embeddings` to be finite.")
    table = F.normalize(embeddings, dim=-1)
    matched = (references.counts > 0) & (candidates.counts > 0)
    counts = torch.stack([references.counts, candidates.counts], 1) * matched[:, None]  # (n, 2)
    flat = counts.flatten()
    start = (flat.cumsum(0) - flat).view_as(counts)  # (n, 2) first match of each pair and direction
    size = int(flat.sum())
    query_type, match_type, match_index = (torch.zeros(size, dtype=torch.int64) for _ in range(3))
    cosine = table.new_zeros(size)
    for chunk in _pair_chunks(counts, table.shape[1], max_elements):
        padded = [_pad_entities(entities, chunk) for entities in (references, candidates)]
        cosines = _pairwise_cosines(table, *padded)
        for side, (own, other) in enumerate((padded, padded[::-1])):
            own_rows = cosines if side == 0 else cosines.transpose(1, 2)
            best, index = _best_matches(own_rows, own.type_index, other.type_index)
            position = (start[chunk, side][:, None] + torch.arange(own.name_index.shape[1]))[own.mask]
            cosine[position], match_index[position] = best[own.mask], index[own.mask]
            query_type[position] = own.type_index[own.mask]
            match_type[position] = other.type_index.gather(1, index)[own.mask]
    return Matches(
        cosine=cosine,
        query_type=query_type,
        match_type=match_type,
        pair_index=torch.arange(len(counts)).repeat_interleave(counts.sum(1)),
        direction=torch.arange(2).repeat(len(counts)).repeat_interleave(flat),
        query_index=torch.arange(size) - start.flatten().repeat_interleave(flat),
        match_index=match_index,
        num_pairs=len(counts),
    )


class _PaddedEntities(NamedTuple):
    """Entities of b reports as rows of equal length."""

    name_index: Tensor  # (b, L)
    type_index: Tensor  # (b, L)
    mask: Tensor  # (b, L) bool


def _pad_entities(entities: PackedEntities, reports: Tensor) -> _PaddedEntities:
    counts = entities.counts[reports]
    start = (entities.counts.cumsum(0) - entities.counts)[reports]
    offset = torch.arange(int(counts.max()))
    mask = offset < counts[:, None]
    index = torch.where(mask, start[:, None] + offset, start[:, None])
    return _PaddedEntities(entities.name_index[index], entities.type_index[index], mask)


def _pairwise_cosines(table: Tensor, rows: _PaddedEntities, columns: _PaddedEntities) -> Tensor:
    """Return (b, R, C) cosines; -inf at padding."""
    cosines = (table[rows.name_index] @ table[columns.name_index].transpose(1, 2)).clamp(-1, 1)
    # A matrix product may round equal rows differently. Equal names get the value of the first one, so ties are exact.
    row, column = (
        (side.name_index[:, :, None] == side.name_index[:, None]).int().argmax(2) for side in (rows, columns)
    )
    cosines = cosines.gather(1, row[:, :, None].expand_as(cosines)).gather(2, column[:, None].expand_as(cosines))
    return cosines.masked_fill(~(rows.mask[:, :, None] & columns.mask[:, None]), float("-inf"))


def _best_matches(cosines: Tensor, query_type: Tensor, match_type: Tensor) -> tuple[Tensor, Tensor]:
    """Return the highest cosine and its index, (b, Q) each, given (b, Q, M) cosines and the types of both sides."""
    best = cosines.amax(2, keepdim=True)
    priority = torch.where(query_type[:, :, None] == match_type[:, None], -1, match_type[:, None])
    return best.squeeze(2), priority.masked_fill(cosines != best, NUM_TYPES).argmin(2)


def _pair_chunks(counts: Tensor, embedding_dim: int, max_elements: int) -> Iterator[Tensor]:
    """Yield indices of non-empty pairs of similar size, with at most `max_elements` tensor elements or one pair."""
    largest = counts.max(1).values
    order = largest.argsort(stable=True)
    order = order[largest[order] > 0]
    while len(order):
        # Sizes are ascending, so the last pair of a chunk is its largest.
        size, number = largest[order], torch.arange(1, len(order) + 1)
        fits = int((number * size * (2 * size + 2 * embedding_dim) <= max_elements).sum())
        yield order[: max(1, fits)]
        order = order[max(1, fits) :]
