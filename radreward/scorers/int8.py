"""Linear layers in 8 bits on the CPU, without any calibration data."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Int8Linear(nn.Module):
    """y = (x̂ Ŵᵀ) · s_x · s_w + b, with x̂ and Ŵ integers from -127 to 127.

    One scale s_w for each output, fixed, and one scale s_x for each token, found when it comes: so the score of a
    text does not depend on what else is in the batch. (Vector-wise quantisation, Dettmers et al. 2022, section 3.)

    >>> layer = nn.Linear(16, 8)
    >>> x = torch.randn(3, 16)
    >>> bool((Int8Linear(layer)(x) - layer(x)).abs().max() < 0.1)
    True
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()
        scale = weight.abs().amax(1).clamp_min(torch.finfo(torch.float32).tiny) / 127
        self.register_buffer("weight", (weight / scale.unsqueeze(1)).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().float())

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out) float32."""
        flat = x.float().reshape(-1, x.shape[-1])
        scale = flat.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
        product = torch._int_mm((flat / scale).round_().to(torch.int8), self.weight.t())
        y = product.float().mul_(scale).mul_(self.scale)
        if self.bias is not None:
            y.add_(self.bias)
        return y.reshape(*x.shape[:-1], -1)


def quantize(module: nn.Module) -> None:
    """Replace every linear layer inside a module by its 8-bit form."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Int8Linear(child))
        else:
            quantize(child)
