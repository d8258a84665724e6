"""Linear layers in 8 bits on the CPU, without calibration data."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ACTIVATION_LEVELS, WEIGHT_LEVELS = 127, 64
"""Largest integers. CPUs without 8-bit dot products (VNNI) shift one side to 0 .. 255 and add two products in 16 bits,
which saturates silently: 2 · 255 · 64 < 2¹⁵ gives the same scores on all of them."""


class Int8Linear(nn.Module):
    """y = (x̂ Ŵᵀ) · s_x · s_w + b, with integers x̂ from -127 to 127 and Ŵ from -64 to 64, and an exact product.

    For each output o, s_w[o] = max_i |W[o, i]| / 64 and Ŵ[o] = round(W[o] / s_w[o]), once. For each token t at run
    time, s_x[t] = max_i |x[t, i]| / 127 and x̂[t] = round(x[t] / s_x[t]), so that the score of a text does not depend on
    its batch. Symmetric, no zero points, round half to even; a token or an output of zeros gives b. Scales, bias and
    all other modules (embeddings, attention, norms, activations, pooling, head) remain in float32. This is vector-wise
    quantization (Dettmers et al. 2022, section 2.1) without separate outliers.

    An entry of x is off by at most s_x / 2 and one of W by at most s_w / 2, so |y - (W x + b)|[o] is at most
    s_w[o] Σ_i |x_i| / 2 + s_x Σ_i |W[o, i]| / 2 + s_x s_w[o] n / 4 for n inputs.

    Raises:
        ValueError: If there is only one input: the product of PyTorch 2.13 is then silently wrong.

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
        """Map (..., in) inputs to (..., out) float32 outputs."""
        flat = x.float().reshape(-1, x.shape[-1])
        scale = flat.abs().amax(1, keepdim=True).clamp_min(1e-12) / ACTIVATION_LEVELS
        # Into a new tensor: the product does not support the unusual strides that a single token may have.
        integers = torch.empty(flat.shape, dtype=torch.int8, device=flat.device).copy_((flat / scale).round_())
        product = torch._int_mm(integers, self.weight.t())
        y = product.float().mul_(scale).mul_(self.scale)
        if self.bias is not None:
            y.add_(self.bias)
        return y.reshape(*x.shape[:-1], -1)


def quantize_linear_layers(module: nn.Module) -> None:
    """Replace every linear layer inside a module, in place, by its 8-bit form; subclasses of `nn.Linear` remain."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Int8Linear(child))
        else:
            quantize_linear_layers(child)
