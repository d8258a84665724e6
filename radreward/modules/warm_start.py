"""Weights of models that explain: taken from a saved one, rounded for one to be saved."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from radreward.errors import InputError
from radreward.generative.evaluator import load_generative_evaluator


@torch.no_grad()
def load_generative_weights(model: nn.Module, folder: Path) -> None:
    """Give a model the trained weights of a saved one.

    Args:
        model: A model that writes, with or without adapters; a frozen copy too.
        folder: What `GenerativeEvaluator.save` wrote.

    Raises:
        InputError: If the folder cannot be read, or its weights are those of another backbone or other adapters.
    """
    state = load_generative_evaluator(folder).trained_state()
    own = dict(model.named_parameters())
    trained = {name for name, value in own.items() if value.requires_grad} or set(own)
    if trained != set(state) or any(own[name].shape != state[name].shape for name in trained):
        raise InputError(f"{folder}: Expected a model with the backbone and adapters of this one.")
    for name, value in state.items():
        own[name].copy_(value)


@torch.no_grad()
def round_trained_to_float16(model: nn.Module) -> None:
    """Round what was trained to what float16 can hold."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.copy_(parameter.half())
