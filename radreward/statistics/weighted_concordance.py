"""Sums of Kendall's pair signs for many weightings of clusters at once, without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Singles = NDArray[np.float32]

MAX_ARRAY_ELEMENTS = 500_000
"""Maximum size of a temporary array, chosen to fit into the caches of a core."""
_MIN_BLOCK_ROWS = 256
"""Minimum number of rows of a block; smaller matrix products are not faster."""
_MAX_DENSE_ROWS = 2_000
"""Maximum number of rows for which the matrix of all pairs is built."""


class ClusteredRows(NamedTuple):
    """Rows on one side of the pairs."""

    x: Floats
    """(n,)."""
    y: Floats
    """(n,)."""
    cluster: Ints
    """(n,) cluster index, 0 to G - 1. A row has the weight of its cluster."""


class _ClusterBlock(NamedTuple):
    """Pairs of rows that are enumerated, summed by cluster."""

    left: Ints
    """(g,) clusters."""
    right: Ints
    """(h,) clusters."""
    matrix: NDArray[np.generic]
    """(g, h) sums of products of signs, as 8-bit integers if possible, because there are many blocks."""


class ConcordanceForm:
    """Quadratic form of the matrix M_cd = Σ sign(xᵢ - xⱼ) sign(yᵢ - yⱼ) over rows i of cluster c, j of cluster d.

    wᵀMw is the weighted number of concordant minus discordant pairs. It takes about n^1.5 steps per w: x and y are
    divided into blocks of neighboring values. Pairs in the same block of x are enumerated, then pairs in the same block
    of y only. For all other pairs, both signs are those of their blocks, so only the total weight in each cell of the
    grid of blocks is needed. A value with many ties has its own block.

    Args:
        left: Rows i.
        right: Rows j.
        n_clusters: Number of clusters G.

    Attributes:
        row_sums: (G,) M1.
        column_sums: (G,) 1ᵀM.

    >>> rows = ClusteredRows(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.arange(3))
    >>> form = ConcordanceForm(rows, rows, 3)
    >>> form.evaluate(np.array([[1, 1, 1], [1, 2, 0]], dtype=np.uint8).T).tolist()
    [2.0, 4.0]
    """

    def __init__(self, left: ClusteredRows, right: ClusteredRows, n_clusters: int) -> None:
        self.row_sums, self.column_sums = np.zeros(n_clusters), np.zeros(n_clusters)
        max_rows = max(len(left.x), len(right.x))
        is_dense = max_rows <= _MAX_DENSE_ROWS and n_clusters**2 <= _MIN_BLOCK_ROWS * max_rows
        size = 2 * max_rows if is_dense else max(_MIN_BLOCK_ROWS, 2 * int(np.sqrt(max_rows)))
        left_x, right_x = _assign_blocks(left.x, right.x, size)
        left_y, right_y = _assign_blocks(left.y, right.y, size)
        swapped_left, swapped_right = (ClusteredRows(rows.y, rows.x, rows.cluster) for rows in (left, right))
        self._blocks = [
            *_block_pairs(left, right, left_x, right_x),
            *_block_pairs(swapped_left, swapped_right, left_y, right_y, (left_x, right_x)),
        ]
        for block in self._blocks:
            self.row_sums[block.left] += block.matrix.sum(1, dtype=np.float64)
            self.column_sums[block.right] += block.matrix.sum(0, dtype=np.float64)
        self._shape = 1 + int(max(left_x.max(), right_x.max())), 1 + int(max(left_y.max(), right_y.max()))
        if min(self._shape) > 1:
            self._left = self._cells(left_x, left_y, left.cluster, n_clusters)
            self._right = self._cells(right_x, right_y, right.cluster, n_clusters)
            ones = np.ones((n_clusters, 1), dtype=np.float32)
            self.row_sums += self._left.T @ self._signed_sums(self._right @ ones)[:, 0]
            self.column_sums += self._right.T @ self._signed_sums(self._left @ ones)[:, 0]

    # BLAS may read beyond the end of small matrices, which may set the flag; products of integers are never invalid.
    @np.errstate(invalid="ignore")
    def evaluate(self, weights: NDArray[np.generic]) -> Floats:
        """Return the (B,) values of wᵀMw for (G, B) weights. Weights are small integers, so that sums are exact."""
        result = np.zeros(weights.shape[1])
        step = max(1, MAX_ARRAY_ELEMENTS // max(len(weights), int(np.prod(self._shape))))
        for start in range(0, len(result), step):
            chunk = weights[:, start : start + step].astype(np.float32, order="C")
            output = result[start : start + step]
            for left, right, matrix in self._blocks:
                output += (chunk[left] * (matrix.astype(np.float32) @ chunk[right])).sum(0, dtype=np.float64)
            if min(self._shape) > 1:
                cells = self._signed_sums(self._right @ chunk)
                output += np.multiply(self._left @ chunk, cells, dtype=np.float64).sum(0)
        return result

    def _cells(self, x: Ints, y: Ints, cluster: Ints, n_clusters: int) -> sparse.csr_array:
        """Return the (K L, G) numbers of rows of each cluster in each cell of the grid."""
        from scipy import sparse  # imported here so that commands without a bootstrap start fast

        size_x, size_y = self._shape
        ones = np.ones(len(cluster), dtype=np.float32)
        return sparse.csr_array((ones, (x * size_y + y, cluster)), shape=(size_x * size_y, n_clusters))

    def _signed_sums(self, cells: _Singles) -> _Singles:
        """Return for each cell the sum of all cells times the product of their signs; (K L, b) to (K L, b)."""
        signs_x, signs_y = (_sign_matrix(size) for size in self._shape)
        table = signs_x @ cells.reshape(len(signs_x), -1)
        sums: _Singles = (signs_y @ table.reshape(*self._shape, -1)).reshape(cells.shape)
        return sums


def untied_pairs(values: Floats, cluster: Ints, weights: NDArray[np.generic]) -> Floats:
    """Return the (B,) total weight of ordered pairs of rows with different values, for (G, B) cluster weights.

    >>> untied_pairs(np.array([1.0, 1, 2]), np.arange(3), np.ones((3, 1))).tolist()
    [4.0]
    """
    from scipy import sparse

    unique_index = np.unique(values, return_inverse=True)[1]
    ones = np.ones(len(cluster), dtype=np.float32)
    shape = (int(unique_index.max(initial=0)) + 1, len(weights))
    table = sparse.csr_array((ones, (unique_index, cluster)), shape=shape)
    result = np.empty(weights.shape[1])
    step = max(1, MAX_ARRAY_ELEMENTS // max(table.shape))
    for start in range(0, len(result), step):
        ties = (table @ weights[:, start : start + step].astype(np.float32, order="C")).astype(np.float64)
        result[start : start + step] = ties.sum(0) ** 2 - np.einsum("ub,ub->b", ties, ties)
    return result


def _sign_matrix(size: int) -> _Singles:
    """Return the (K, K) signs of i - j."""
    return np.sign(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float32)


def _assign_blocks(first: Floats, second: Floats, size: int) -> tuple[Ints, Ints]:
    """Return the block index of each value. A block has about `size` neighboring values; equal values share a block.

    >>> [block.tolist() for block in _assign_blocks(np.array([1.0, 2, 2, 2, 2]), np.array([3.0, 4, 5]), 2)]
    [[0, 1, 1, 1, 1], [2, 3, 3]]
    """
    _, index, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    window = (counts.cumsum() - counts) // size
    is_large = counts > size / 2
    is_start = np.r_[False, (window[1:] != window[:-1]) | is_large[1:] | is_large[:-1]]
    block = is_start.cumsum()[index]
    return block[: len(first)], block[len(first) :]


def _block_pairs(
    left: ClusteredRows,
    right: ClusteredRows,
    left_block: Ints,
    right_block: Ints,
    done: tuple[Ints, Ints] | None = None,
) -> Iterator[_ClusterBlock]:
    """Yield the pairs of rows that are in the same block of x, without pairs that are in the same block of `done`."""
    orders = [np.lexsort((rows.cluster, block)) for rows, block in ((left, left_block), (right, right_block))]
    numbers = np.arange(2 + max(left_block.max(), right_block.max()))
    bounds = [
        np.searchsorted(block[order], numbers) for block, order in zip((left_block, right_block), orders, strict=True)
    ]
    for number in numbers[:-1]:
        i, j = (order[bound[number] : bound[number + 1]] for order, bound in zip(orders, bounds, strict=True))
        if len(i) and len(j) and np.ptp(np.concatenate([left.x[i], right.x[j]])) > 0:
            matrix = _signs(left.x[i], right.x[j]) * _signs(left.y[i], right.y[j])
            if done:
                matrix *= done[0][i][:, None] != done[1][j]
            yield _sum_by_cluster(matrix, left.cluster[i], right.cluster[j])


def _signs(rows: Floats, columns: Floats) -> NDArray[np.int8]:
    """Return the (r, n) signs of row minus column."""
    signs: NDArray[np.int8] = (rows[:, None] > columns).view(np.int8) - (rows[:, None] < columns).view(np.int8)
    return signs


def _sum_by_cluster(matrix: NDArray[np.int8], rows: Ints, columns: Ints) -> _ClusterBlock:
    """Return the sums of a matrix by the clusters of its rows and columns, which are sorted by cluster."""
    sums = matrix.astype(np.float32)
    starts = [np.flatnonzero(np.r_[True, cluster[1:] != cluster[:-1]]) for cluster in (rows, columns)]
    for axis, start in enumerate(starts):
        if len(start) < sums.shape[axis]:
            sums = np.add.reduceat(sums, start, axis=axis)
    small = sums.astype(np.int8)
    return _ClusterBlock(rows[starts[0]], columns[starts[1]], small if np.array_equal(small, sums) else sums)
