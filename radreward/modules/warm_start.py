"""Initial weights of a run from a saved generative evaluator."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from radreward.errors import InputError
from radreward.generative.evaluator import load_generative_evaluator


@torch.no_grad()
def load_generative_weights(model: nn.Module, folder: Path) -> None:
    """Copy the trained weights of a saved evaluator into a model.

    Args:
        model: A causal language model, with or without adapters; a frozen copy too.
        folder: Folder written by `GenerativeEvaluator.save`.

    Raises:
        InputError: If the folder cannot be read, or its weights have another backbone or other adapters.
    """
    state = load_generative_evaluator(folder).trained_state()
    own = dict(model.named_parameters())
    trainable = {name for name, value in own.items() if value.requires_grad} or set(own)
    if trainable != set(state) or any(own[name].shape != state[name].shape for name in trainable):
        raise InputError(f"{folder}: Expected a model with the backbone and adapters of this run.")
    for name, value in state.items():
        own[name].copy_(value)
