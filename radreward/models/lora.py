"""Low-rank adapters through peft."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from radreward.errors import InputError

DEFAULT_TARGETS = {
    "bert": ("query", "value"),
    "electra": ("query", "value"),
    "roberta": ("query", "value"),
    "camembert": ("query", "value"),
    "xlm-roberta": ("query", "value"),
    "deberta-v2": ("query_proj", "value_proj"),
    "distilbert": ("q_lin", "v_lin"),
    "mpnet": ("q", "v"),
    "gpt2": ("c_attn",),
    "gpt_neox": ("query_key_value",),
    "falcon": ("query_key_value",),
    "phi3": ("qkv_proj",),
}
"""Projections that make queries and values, where they are not called q_proj and v_proj."""

PEFT_WEIGHT_NAME = "base_model.model.{}.lora_{}.default.weight"
"""How peft calls the matrices A and B of a layer."""


class LoRA:
    """Low-rank adapters: W x + (alpha / r) B A x with A (r, in) and B (out, r) trained (Hu et al. 2022).

    Args:
        r: The rank.
        alpha: Scale; 2 r where nothing is given.
        targets: Names of the layers to adapt; "auto" is queries and values, as in ER²Score, "all-linear" all.

    Raises:
        ValueError: If `r` or `alpha` is not positive.

    Dropout is not offered: with it, packed and separate sequences no longer give the same loss.
    """

    def __init__(
        self, r: int = 16, alpha: int | None = None, targets: list[str] | Literal["auto", "all-linear"] = "auto"
    ) -> None:
        if r < 1:
            raise ValueError(f"Expected `r` to be >= 1 but got {r}.")
        if alpha is not None and alpha <= 0:
            raise ValueError(f"Expected `alpha` to be > 0 but got {alpha}.")
        self.r = r
        self.alpha = 2 * r if alpha is None else alpha
        self.targets = targets

    def target_names(self, model_type: str) -> Sequence[str] | str:
        """The layers to adapt in an architecture, as peft takes them."""
        if self.targets == "auto":
            return DEFAULT_TARGETS.get(model_type, ("q_proj", "v_proj"))
        return self.targets

    def apply(self, model: PreTrainedModel) -> nn.Module:
        """The model with adapters in it, everything else frozen.

        Raises:
            InputError: If no layer has one of the names.
        """
        from peft import LoraConfig, get_peft_model  # slow to import, and a model in use does without

        names = self.target_names(model.config.model_type)
        config = LoraConfig(
            r=self.r, lora_alpha=self.alpha, target_modules=names if isinstance(names, str) else list(names)
        )
        try:
            with warnings.catch_warnings():
                # peft asks transformers by a name that transformers is about to drop; nobody here can act on it.
                warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
                adapted: nn.Module = get_peft_model(model, config)
        except ValueError as error:
            raise InputError(f"LoRA: no layer of this {model.config.model_type} backbone is called {names}.") from error
        return adapted

    def target_layers(self, model: nn.Module, model_type: str) -> dict[str, nn.Linear] | None:
        """The layers to adapt by name, or None where only peft knows how: "all-linear", layers of other kinds."""
        names = self.target_names(model_type)
        found = {name: module for name, module in model.named_modules() if name.rpartition(".")[2] in names}
        if isinstance(names, str) or any("." in name for name in names) or not found:
            return None
        linear = {name: module for name, module in found.items() if type(module) is nn.Linear}
        return linear if len(linear) == len(found) else None


@torch.no_grad()
def merge_lora(layers: Mapping[str, nn.Linear], scaling: float, state: Mapping[str, Tensor]) -> None:
    """W + scale · B A for each layer, in place: what training learnt without its adapters.

    Args:
        layers: As `LoRA.layers` gives them.
        scale: alpha / r.
        state: Matrices A (r, in) and B (out, r) of each, under the names of peft.

    Raises:
        ValueError: If one is missing, unknown or of a wrong shape.
    """
    names = {PEFT_WEIGHT_NAME.format(name, matrix) for name in layers for matrix in "AB"}
    if names != set(state):
        raise ValueError(f"Expected adapters of this model but {min(names ^ set(state))!r} is missing or unknown.")
    for name, layer in layers.items():
        a, b = (state[PEFT_WEIGHT_NAME.format(name, matrix)].to(layer.weight.device).float() for matrix in "AB")
        if a.shape != (len(b.T), layer.in_features) or b.shape != (layer.out_features, len(a)):
            raise ValueError(f"Expected adapters of {name!r} for {layer} but got {tuple(a.shape)}, {tuple(b.shape)}.")
        layer.weight += b @ a * scaling
