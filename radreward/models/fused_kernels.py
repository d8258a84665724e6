"""Norms and feed-forward layers of a decoder as one kernel each, by Liger Kernel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch

from radreward.errors import InputError
from radreward.extras import require_packages

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def use_fused_kernels(model: PreTrainedModel) -> None:
    """Let the layers of a model compute with Liger Kernel (Hsu et al. 2024), in place; its parameters do not change.

    In PyTorch, a norm or a gated activation is several passes over memory; a Triton kernel needs one, and keeps fewer
    activations for the backward pass. Other models of the process are not changed.

    Raises:
        InputError: If the package is not installed or does not know the architecture, or there is no CUDA GPU.
    """
    require_packages("fused_kernels", "liger_kernel")
    if not torch.cuda.is_available():
        raise InputError("fused_kernels: Expected a CUDA GPU but torch found none. Leave it off.")
    from liger_kernel.transformers import monkey_patch

    model_type = model.config.model_type
    if model_type not in monkey_patch.MODEL_TYPE_TO_APPLY_LIGER_FN:
        raise InputError(f"fused_kernels: Expected a decoder that Liger Kernel knows but got {model_type!r}.")
    names = vars(sys.modules[type(model).__module__])
    before = dict(names)
    # Without functions of the architecture's module, which are those of every model.
    options = {"rope": False, "cross_entropy": False, "fused_linear_cross_entropy": False}
    try:
        monkey_patch._apply_liger_kernel_to_instance(model, **options)
    finally:
        names.update(before)  # the classes of models that are created later
