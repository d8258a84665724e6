"""A user-defined loss: a subclass in any file, selected in the configuration by its import path."""

from torch import Tensor
from torch.nn import functional as F

from radreward.objectives import PairObjective


class SmoothMargin(PairObjective):
    """Softplus of the gap between each criterion's margin and its reward difference."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """Return (P,) losses of (P, N) rewards and margins."""
        return self.weighting(F.softplus(margin.sign() * (margin - (accepted - rejected))))
