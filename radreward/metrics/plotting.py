"""Matrices as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmap(
    matrix: Tensor,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    title: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A matrix in colours, its values written in: κ or τ of every two raters, or a table of counts.

    Args:
        matrix: (R, C); NaN is left white and says so.
        rows: Names of the R rows.
        columns: Names of the C columns; those of the rows where None.
        title: Above the picture.
        limits: Values of the first and the last colour; -1 and 1 for floats and 0 and the largest for whole numbers
            where None.

    Raises:
        ValueError: If there are not as many names as rows or columns.

    >>> import torch
    >>> figure = heatmap(torch.tensor([[1.0, 0.7], [0.7, 1.0]]), ["rater", "judge"])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1.00', '0.70', '0.70', '1.00']
    """
    from matplotlib.figure import Figure

    columns = rows if columns is None else columns
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"Expected a matrix of shape {(len(rows), len(columns))}, as the names are, but got {tuple(matrix.shape)}."
        )
    whole = not matrix.is_floating_point()
    low, high = limits or ((0.0, max(1.0, float(matrix.max()) if matrix.numel() else 1.0)) if whole else (-1.0, 1.0))
    size = 0.55 * max(matrix.shape[1], 3) + 2.2, 0.45 * max(matrix.shape[0], 3) + 1.4
    figure = Figure(figsize=size, layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(
        matrix.double().cpu().numpy(), cmap="Blues" if whole else "RdBu", vmin=low, vmax=high, aspect="auto"
    )
    axis.set_xticks(range(len(columns)), columns, rotation=45, ha="right", fontsize=8)
    axis.set_yticks(range(len(rows)), rows, fontsize=8)
    axis.set_title(title, fontsize=10)
    figure.colorbar(image)
    for row, values in enumerate(matrix.tolist()):
        for column, value in enumerate(values):
            text = f"{value:.0f}" if whole else f"{value:.2f}"
            dark = abs((value - low) / (high - low) - (0 if whole else 0.5)) > (0.6 if whole else 0.35)
            axis.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    return figure
