"""A loss of one's own: a subclass in any file, named in the configuration by its import path."""

from torch import Tensor
from torch.nn import functional as F

from radreward.objectives import PairObjective


class SmoothMargin(PairObjective):
    """Softplus of what each criterion's difference of rewards lacks to its margin."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        """(P, N) rewards and margins to (P,) losses."""
        return self.weighting(F.softplus(margin.sign() * (margin - (accepted - rejected))))
