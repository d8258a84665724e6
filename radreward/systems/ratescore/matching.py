"""Every entity of one report and the nearest of the other: all of RaTEScore that no weight changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.types import ENTITY_TYPES, Entity

NUM_TYPES = len(ENTITY_TYPES)
MAX_ELEMENTS = 2**22
"""Numbers that are held at a time while entities are compared."""


class PackedEntities(NamedTuple):
    """Entities of n reports, one report after the other; m in all."""

    name_index: Tensor
    """(m,) int64: row of a table of embeddings."""
    type_index: Tensor
    """(m,) int64: position in `ENTITY_TYPES`."""
    counts: Tensor
    """(n,) int64: entities of each report."""

    @classmethod
    def from_reports(
        cls, reports: Sequence[Sequence[Entity]], texts: Sequence[Sequence[str]] | None = None
    ) -> tuple[list[str], Self]:
        """The distinct names in order of appearance, to be encoded once, and the entities by these names.

        Args:
            reports: Entities of each report.
            read: What is encoded of each entity; its name where nothing is given.

        Raises:
            ValueError: If an entity has an unknown type.

        >>> effusion = Entity("effusion", "Disease", 0, 8)
        >>> names, sets = EntitySets.of([[effusion], [], [effusion]])
        >>> names, sets.name.tolist(), sets.counts.tolist()
        (['effusion'], [0, 0], [1, 0, 1])
        """
        row: dict[str, int] = {}
        entities = [entity for report in reports for entity in report]
        if unknown := next((entity for entity in entities if entity.type not in ENTITY_TYPES), None):
            raise ValueError(f"Expected a type of {', '.join(ENTITY_TYPES)} but {unknown.name!r} has {unknown.type!r}.")
        words = [entity.name for entity in entities] if texts is None else [said for report in texts for said in report]
        name = [row.setdefault(said, len(row)) for said in words]
        kind = [ENTITY_TYPES.index(entity.type) for entity in entities]
        counts = [len(report) for report in reports]
        return list(row), cls(*(torch.tensor(values, dtype=torch.int64) for values in (name, kind, counts)))

    def select(self, reports: Tensor) -> Self:
        """The sets of these reports (k,) int64, in this order; a report may be taken more than once."""
        counts = self.counts[reports]
        begin = (self.counts.cumsum(0) - self.counts)[reports]
        within = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        at = begin.repeat_interleave(counts) + within
        return type(self)(self.name_index[at], self.type_index[at], counts)


class Matches(NamedTuple):
    """Each entity of n pairs of reports with its nearest on the other side; m entities in all.

    In order of the pairs; of each pair the reference's entities come first. A pair of which one report has no entity
    has no matches at all.
    """

    cosine: Tensor
    """(m,) cosine of the entity and its match, in [-1, 1]."""
    query_type: Tensor
    """(m,) int64 type of the entity."""
    match_type: Tensor
    """(m,) int64 type of its match."""
    pair_index: Tensor
    """(m,) int64: which pair."""
    direction: Tensor
    """(m,) int64: 0 for an entity of the reference, 1 for one of the candidate."""
    query_index: Tensor
    """(m,) int64: which entity of its report."""
    match_index: Tensor
    """(m,) int64: which entity of the other report."""
    num_pairs: int
    """n, with those that have no matches."""

    def type_pair_sums(self, clamp_cosines: bool = True) -> TypePairSums:
        """What a score depends on, see `TypePairSums`; `clamp` takes negative cosines as 0."""
        cell = ((self.pair_index * 2 + self.direction) * NUM_TYPES + self.query_type) * NUM_TYPES + self.match_type
        cosine = self.cosine.double()
        cosine = cosine.clamp_min(0) if clamp_cosines else cosine
        size, shape = self.num_pairs * 2 * NUM_TYPES * NUM_TYPES, (self.num_pairs, 2, NUM_TYPES, NUM_TYPES)
        return TypePairSums(
            cosine.new_zeros(size).index_add(0, cell, cosine).view(shape),
            torch.bincount(cell, minlength=size).double().view(shape),
        )


class TypePairSums(NamedTuple):
    """Matches of n pairs, added up by the types of both sides: enough to score them by any weights."""

    cosine_sums: Tensor
    """(n, 2, 5, 5) float64: sum of the cosines by direction, type of the entity, type of its match."""
    counts: Tensor
    """(n, 2, 5, 5) float64: how many."""

    def select(self, rows: Tensor) -> TypePairSums:
        """Those of some pairs: (k,) int64, or (n,) bool."""
        return TypePairSums(self.cosine_sums[rows], self.counts[rows])

    @property
    def defined(self) -> Tensor:
        """(n,) bool: whether both reports have entities."""
        return self.counts.sum((1, 2, 3)) > 0


def match_entities(
    embeddings: Tensor, references: PackedEntities, candidates: PackedEntities, max_elements: int = MAX_ELEMENTS
) -> Matches:
    """For each entity the one of the other report with the highest cosine (RaTEScore, section 2.4); both directions.

    Names that are equal have the same cosine to the last digit. Of matches with the same cosine one of the entity's
    own type is taken, then the first in the order of `ENTITY_TYPES`: the paper leaves it open, and so a score does not
    depend on the order of sentences.

    Args:
        embeddings: (names, d) one row a name, of any length; a row of zeros has cosine 0 with everything.
        references: Entities of n reports.
        candidates: Entities of the n reports that are judged by them.
        budget: Numbers that may be held at a time, beyond the matches themselves.

    Raises:
        ValueError: If the two differ in the number of reports, or an embedding is not finite.

    >>> entities = [[Entity("effusion", "Disease", 0, 8)], [Entity("fluid", "Abnormality", 0, 5)]]
    >>> names, sets = EntitySets.of(entities)
    >>> found = match(torch.tensor([[1.0, 0.0], [0.6, 0.8]]), *(sets.take(torch.tensor([i])) for i in (0, 1)))
    >>> found.cosine, found.query.tolist(), found.match.tolist()
    (tensor([0.6000, 0.6000]), [2, 0], [0, 2])
    """
    if len(references.counts) != len(candidates.counts):
        raise ValueError(
            f"Expected as many candidates as references but got {len(candidates.counts)}, {len(references.counts)}."
        )
    if not torch.isfinite(embeddings).all():
        raise ValueError("Expected `embeddings` to be finite.")
    table = F.normalize(embeddings, dim=-1)
    sides = (references, candidates)
    matched = (references.counts > 0) & (candidates.counts > 0)
    counts = torch.stack([references.counts, candidates.counts], 1) * matched[:, None]  # (n, 2)
    flat = counts.flatten()
    begin = (flat.cumsum(0) - flat).view_as(counts)  # (n, 2) where the matches of a pair and direction lie
    size, pair = int(flat.sum()), torch.arange(len(counts)).repeat_interleave(counts.sum(1))
    direction = torch.arange(2).repeat(len(counts)).repeat_interleave(flat)
    query_index = torch.arange(size) - begin.flatten().repeat_interleave(flat)
    query, other, match_index = (torch.zeros(size, dtype=torch.int64) for _ in range(3))
    cosine = table.new_zeros(size)
    for chunk in _pair_chunks(counts, table.shape[1], max_elements):
        padded = [_pad_entities(side, chunk) for side in sides]
        near = _pairwise_cosines(table, *padded)
        for side, (at, across) in enumerate((padded, padded[::-1])):
            best, index = _best_matches(near if side == 0 else near.transpose(1, 2), at.type_index, across.type_index)
            kind = across.type_index.gather(1, index)
            places = (begin[chunk, side][:, None] + torch.arange(at.name_index.shape[1]))[at.mask]
            cosine[places], match_index[places] = best[at.mask], index[at.mask]
            query[places], other[places] = at.type_index[at.mask], kind[at.mask]
    return Matches(cosine, query, other, pair, direction, query_index, match_index, len(counts))


class _PaddedEntities(NamedTuple):
    """Entities of b reports as rows of one length."""

    name_index: Tensor  # (b, L)
    type_index: Tensor  # (b, L)
    mask: Tensor  # (b, L) bool


def _pad_entities(entities: PackedEntities, reports: Tensor) -> _PaddedEntities:
    counts = entities.counts[reports]
    begin = (entities.counts.cumsum(0) - entities.counts)[reports]
    place = torch.arange(int(counts.max()))
    real = place < counts[:, None]
    at = torch.where(real, begin[:, None] + place, begin[:, None])
    return _PaddedEntities(entities.name_index[at], entities.type_index[at], real)


def _pairwise_cosines(table: Tensor, rows: _PaddedEntities, columns: _PaddedEntities) -> Tensor:
    """(b, R, C) cosines, -inf where there is no entity."""
    near = (table[rows.name_index] @ table[columns.name_index].transpose(1, 2)).clamp(-1, 1)
    # A product may round otherwise at another place: equal names take the value of the first, so that ties are ties.
    first = [(at.name_index[:, :, None] == at.name_index[:, None]).int().argmax(2) for at in (rows, columns)]
    near = near.gather(1, first[0][:, :, None].expand_as(near)).gather(2, first[1][:, None].expand_as(near))
    return near.masked_fill(~(rows.mask[:, :, None] & columns.mask[:, None]), float("-inf"))


def _best_matches(cosines: Tensor, query_type: Tensor, match_type: Tensor) -> tuple[Tensor, Tensor]:
    """Highest cosine and its place, (b, Q) each, of (b, Q, M) cosines and the types of both sides."""
    best = cosines.amax(2, keepdim=True)
    order = torch.where(query_type[:, :, None] == match_type[:, None], -1, match_type[:, None])
    return best.squeeze(2), order.masked_fill(cosines != best, NUM_TYPES).argmin(2)


def _pair_chunks(counts: Tensor, embedding_dim: int, max_elements: int) -> Iterator[Tensor]:
    """Pairs of like size, as many at a time as the budget allows, at least one; none without matches."""
    longest = counts.max(1).values
    order = longest.argsort(stable=True)
    order = order[longest[order] > 0]
    while len(order):
        # The largest that could be taken decides how many: sizes rise, so this errs on the safe side.
        size, taken = longest[order], torch.arange(1, len(order) + 1)
        fits = int((taken * size * (2 * size + 2 * embedding_dim) <= max_elements).sum())
        yield order[: max(1, fits)]
        order = order[max(1, fits) :]
