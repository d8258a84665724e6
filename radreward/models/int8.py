"""Linear layers in 8 bits on the CPU, without any calibration data."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ACTIVATION_LEVELS, WEIGHT_LEVELS = 127, 64
"""Largest integers. Processors without instructions for 8-bit products (VNNI) shift one side to 0 .. 255 and add two
products in 16 bits, where larger sums are cut without an error: 2 · 255 · 64 < 2¹⁵ gives the same scores on all."""


class Int8Linear(nn.Module):
    """y = (x̂ Ŵᵀ) · s_x · s_w + b, with integers x̂ from -127 to 127 and Ŵ from -64 to 64, their product exact.

    For each output o, s_w[o] = max_i |W[o, i]| / 64 and Ŵ[o] = round(W[o] / s_w[o]), once. For each token t, when it
    comes, s_x[t] = max_i |x[t, i]| / 127 and x̂[t] = round(x[t] / s_x[t]): so the score of a text does not depend on
    what else is in the batch. Symmetric, no zero points, halves to even; a token or an output of zeros gives b.
    Scales, bias, and all that is no linear layer (embeddings, attention, norms, activations, pooling, head) stay in
    float32. (Vector-wise quantisation, Dettmers et al. 2022, section 2.1, without its outliers apart.)

    An entry of x is off by s_x / 2 at most and one of W by s_w / 2, so |y - (W x + b)|[o] is at most
    s_w[o] Σ_i |x_i| / 2 + s_x Σ_i |W[o, i]| / 2 + s_x s_w[o] n / 4 for n inputs.

    Raises:
        ValueError: If there is one input only, which the product of PyTorch 2.13 gets wrong without an error.

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
        if linear.in_features < 2:
            raise ValueError(f"Expected a layer of at least 2 inputs but got {linear.in_features}.")
        weight = linear.weight.detach().float()
        scale = weight.abs().amax(1).clamp_min(1e-12) / WEIGHT_LEVELS
        self.register_buffer("weight", (weight / scale.unsqueeze(1)).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().float())

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out) float32."""
        flat = x.float().reshape(-1, x.shape[-1])
        scale = flat.abs().amax(1, keepdim=True).clamp_min(1e-12) / ACTIVATION_LEVELS
        # Into a new tensor: the strides of a single token may be odd, which the product does not bear.
        integers = torch.empty(flat.shape, dtype=torch.int8, device=flat.device).copy_((flat / scale).round_())
        product = torch._int_mm(integers, self.weight.t())
        y = product.float().mul_(scale).mul_(self.scale)
        if self.bias is not None:
            y.add_(self.bias)
        return y.reshape(*x.shape[:-1], -1)


def quantize_linear_layers(module: nn.Module) -> None:
    """Replace every linear layer inside a module, in place, by its 8-bit form; layers of other types stay."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Int8Linear(child))
        else:
            quantize_linear_layers(child)
