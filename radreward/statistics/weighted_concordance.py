"""Kendall's sums over all pairs of rows, for many weights of the cases at once and without the matrix of all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

MAX_ARRAY_ELEMENTS = 4_000_000
"""Numbers that are held in one array at a time."""
_MIN_BLOCK_ROWS = 256
"""Least rows of a block: smaller products of matrices take as long."""
_MAX_DENSE_ROWS = 2_000
"""Most rows whose matrix of all pairs is made."""


class ClusteredRows(NamedTuple):
    """One side of the pairs."""

    x: Floats
    """(n,)."""
    y: Floats
    """(n,)."""
    cluster: Ints
    """(n,) which case, 0 to G - 1: its weight is that of the row."""


class _ClusterBlock(NamedTuple):
    """Pairs that are gone through."""

    left: Ints
    """(g,) cases."""
    right: Ints
    """(h,) cases."""
    matrix: Singles
    """(g, h) products of signs, added up by cases."""


class ConcordanceForm:
    """The matrix M of cases: M_cd = Σ sign(xᵢ - xⱼ) sign(yᵢ - yⱼ) over rows i of c on the left, j of d on the right.

    wᵀMw is what concordant pairs of rows weigh more than discordant ones, in about n^1.5 steps for each w: x is cut
    into blocks of neighbouring values, and so is y. Pairs within a block of x are gone through, then those within a
    block of y alone; of all others both signs are those of their blocks, so that it is enough to know how much the
    rows in each cell of this grid weigh. A value that many rows have is a block of its own, in which nothing differs.

    Args:
        left: Rows i.
        right: Rows j.
        cases: G.

    Attributes:
        down: (G,) M1.
        across: (G,) 1ᵀM.

    >>> rows = Rows(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.arange(3))
    >>> form = SignForm(rows, rows, 3)
    >>> form.of(np.array([[1, 1, 1], [1, 2, 0]], dtype=np.uint8).T).tolist()
    [2.0, 4.0]
    """

    def __init__(self, left: ClusteredRows, right: ClusteredRows, n_clusters: int) -> None:
        self.row_sums, self.column_sums = np.zeros(n_clusters), np.zeros(n_clusters)
        most = max(len(left.x), len(right.x))
        whole = most <= _MAX_DENSE_ROWS and n_clusters**2 <= _MIN_BLOCK_ROWS * most
        size = 2 * most if whole else max(_MIN_BLOCK_ROWS, 2 * int(np.sqrt(most)))
        (x, u), (y, v) = _assign_blocks(left.x, right.x, size), _assign_blocks(left.y, right.y, size)
        one, other = (ClusteredRows(side.y, side.x, side.cluster) for side in (left, right))  # turned
        self._blocks = [*_block_pairs(left, right, x, u), *_block_pairs(one, other, y, v, (x, u))]
        for piece in self._blocks:
            self.row_sums[piece.left] += piece.matrix.sum(1, dtype=np.float64)
            self.column_sums[piece.right] += piece.matrix.sum(0, dtype=np.float64)
        self._shape = 1 + int(max(x.max(), u.max())), 1 + int(max(y.max(), v.max()))
        if min(self._shape) > 1:
            self._left, self._right = (
                self._cells(*side, n_clusters) for side in ((x, y, left.cluster), (u, v, right.cluster))
            )
            ones = np.ones((n_clusters, 1), dtype=np.float32)
            self.row_sums += self._left.T @ self._signed_sums(self._right @ ones)[:, 0]
            self.column_sums += self._right.T @ self._signed_sums(self._left @ ones)[:, 0]

    def evaluate(self, weights: NDArray[np.generic]) -> Floats:
        """(B,) wᵀMw for weights (G, B): small whole numbers, of which sums are exact."""
        found = np.zeros(weights.shape[1])
        step = max(1, MAX_ARRAY_ELEMENTS // max(len(weights), int(np.prod(self._shape))))
        for begin in range(0, len(found), step):
            part = weights[:, begin : begin + step].astype(np.float32, order="C")
            into = found[begin : begin + step]
            for left, right, matrix in self._blocks:
                into += (part[left] * (matrix @ part[right])).sum(0, dtype=np.float64)
            if min(self._shape) > 1:
                cells = self._signed_sums(self._right @ part)
                into += np.multiply(self._left @ part, cells, dtype=np.float64).sum(0)
        return found

    def _cells(self, x: Ints, y: Ints, case: Ints, cases: int) -> sparse.csr_array:
        """(K L, G) how many rows of each case are in each cell of the grid."""
        across, down = self._shape
        ones = np.ones(len(case), dtype=np.float32)
        from scipy import sparse  # here: commands that draw nothing start without it

        return sparse.csr_array((ones, (x * down + y, case)), shape=(across * down, cases))

    def _signed_sums(self, cells: Singles) -> Singles:
        """(K L, b) → (K L, b): of each cell, what those on both its sides weigh, by the product of signs."""
        across, down = (_sign_matrix(size) for size in self._shape)
        table = across @ cells.reshape(len(across), -1)
        found: Singles = (down @ table.reshape(*self._shape, -1)).reshape(cells.shape)
        return found


def untied_pairs(values: Floats, cluster: Ints, weights: NDArray[np.generic]) -> Floats:
    """(B,) what pairs of rows weigh whose values differ, each pair twice; weights (G, B) of the cases.

    >>> differing(np.array([1.0, 1, 2]), np.arange(3), np.ones((3, 1))).tolist()
    [4.0]
    """
    from scipy import sparse

    number = np.unique(values, return_inverse=True)[1]
    ones = np.ones(len(cluster), dtype=np.float32)
    table = sparse.csr_array((ones, (number, cluster)), shape=(int(number.max(initial=0)) + 1, len(weights)))
    found = np.empty(weights.shape[1])
    step = max(1, MAX_ARRAY_ELEMENTS // max(table.shape))
    for begin in range(0, len(found), step):
        ties = (table @ weights[:, begin : begin + step].astype(np.float32, order="C")).astype(np.float64)
        found[begin : begin + step] = ties.sum(0) ** 2 - np.einsum("ub,ub->b", ties, ties)
    return found


def _sign_matrix(size: int) -> Singles:
    """(K, K) sign of the difference of two numbers below K."""
    return np.sign(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float32)


def _assign_blocks(first: Floats, second: Floats, size: int) -> tuple[Ints, Ints]:
    """Number of the block of each value: blocks of about so many neighbours, equal values in one.

    >>> [block.tolist() for block in _cut(np.array([1.0, 2, 2, 2, 2]), np.array([3.0, 4, 5]), 2)]
    [[0, 1, 1, 1, 1], [2, 3, 3]]
    """
    _, place, times = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    window = (times.cumsum() - times) // size
    alone = times > size / 2
    begins = np.r_[False, (window[1:] != window[:-1]) | alone[1:] | alone[:-1]]
    block = begins.cumsum()[place]
    return block[: len(first)], block[len(first) :]


def _block_pairs(
    left: ClusteredRows, right: ClusteredRows, one: Ints, other: Ints, done: tuple[Ints, Ints] | None = None
) -> Iterator[_ClusterBlock]:
    """Pairs of rows whose blocks of x, `one` and `other`, are the same, without those of equal blocks in `done`."""
    orders = [np.lexsort((side.cluster, block)) for side, block in ((left, one), (right, other))]
    every = np.arange(2 + max(one.max(), other.max()))
    ends = [np.searchsorted(block[order], every) for block, order in zip((one, other), orders, strict=True)]
    for place in every[:-1]:
        i, j = (order[end[place] : end[place + 1]] for order, end in zip(orders, ends, strict=True))
        if len(i) and len(j) and np.ptp(np.concatenate([left.x[i], right.x[j]])) > 0:
            matrix = _signs(left.x[i], right.x[j]) * _signs(left.y[i], right.y[j])
            if done:
                matrix *= done[0][i][:, None] != done[1][j]
            yield _sum_by_cluster(matrix, left.cluster[i], right.cluster[j])


def _signs(rows: Floats, values: Floats) -> NDArray[np.int8]:
    """(r, n) sign of the difference of each of some rows to every row."""
    found: NDArray[np.int8] = (rows[:, None] > values).view(np.int8) - (rows[:, None] < values).view(np.int8)
    return found


def _sum_by_cluster(matrix: NDArray[np.int8], down: Ints, across: Ints) -> _ClusterBlock:
    """By cases, which are ascending on both sides."""
    found = matrix.astype(np.float32)
    begins = [np.flatnonzero(np.r_[True, case[1:] != case[:-1]]) for case in (down, across)]
    for axis, begin in enumerate(begins):
        if len(begin) < found.shape[axis]:
            found = np.add.reduceat(found, begin, axis=axis)
    return _ClusterBlock(down[begins[0]], across[begins[1]], found)
