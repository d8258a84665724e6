"""A linear projection in which the names and descriptions of one finding are similar."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIZE = 128
"""Size of projected vectors."""
STEPS, BATCH, LEARNING_RATE = 1000, 512, 1e-3
TEMPERATURE, DROPOUT = 0.07, 0.1


def fit_projection(vectors: Tensor, labels: Tensor, steps: int = STEPS, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return the center (d,) and the weights (k, d) of a projection z = W (v - center) / |W (v - center)|.

    The weights minimize the supervised contrastive loss of Khosla et al. (2020), arXiv:2004.11362, equation 2, over
    batches of statements, drawn with replacement: for each statement i with a finding, the mean of
    -log softmax_j(z_i · z_j / 0.07) over the other statements j of the same finding. The softmax is over all others,
    also those without a finding. A tenth of the numbers of each vector is dropped.

    Args:
        vectors: (n, d) mean vectors of the tokens of n statements.
        labels: (n,) numbers of findings; -1 for a statement without one.
        steps: Number of batches.
        seed: Seed of start weights, batches and dropout.

    >>> vectors = torch.eye(3).repeat_interleave(20, 0) + torch.randn(60, 3, generator=torch.manual_seed(0)) / 9
    >>> center, weights = fit_projection(vectors, torch.arange(3).repeat_interleave(20), steps=1)
    >>> weights.shape
    torch.Size([128, 3])
    """
    generator = torch.Generator().manual_seed(seed)
    center = vectors.mean(0)
    weights = nn.Parameter(torch.randn(SIZE, vectors.shape[1], generator=generator) / vectors.shape[1] ** 0.5)
    optimizer = torch.optim.AdamW([weights], lr=LEARNING_RATE, weight_decay=0)
    for _ in range(steps):
        rows = torch.randint(len(vectors), (BATCH,), generator=generator)
        retained = (torch.rand(BATCH, vectors.shape[1], generator=generator) >= DROPOUT) / (1 - DROPOUT)
        loss = contrastive_loss((vectors[rows] - center) * retained @ weights.T, labels[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return center, weights.detach()


def contrastive_loss(projected: Tensor, labels: Tensor) -> Tensor:
    """Return the loss of a batch, a scalar, see `fit_projection`; NaN if no two statements have the same finding.

    Args:
        projected: (n, k) projected vectors, of any length.
        labels: (n,) numbers of findings; -1 for a statement without one.

    >>> round(contrastive_loss(torch.ones(3, 1), torch.tensor([0, 0, -1])).item(), 4)  # two others, equally similar
    0.6931
    """
    projected = F.normalize(projected, dim=1)
    itself = torch.eye(len(projected), dtype=torch.bool)
    logits = (projected @ projected.T / TEMPERATURE).masked_fill(itself, float("-inf"))
    log_shares = F.log_softmax(logits, dim=1).masked_fill(itself, 0)
    same = (labels[:, None] == labels) & ~itself & (labels >= 0)[:, None]  # (n, n)
    counts = same.sum(1)
    means = (log_shares * same).sum(1)[counts > 0] / counts[counts > 0]
    return -means.mean()
