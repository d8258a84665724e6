"""Low-rank adapters through peft."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from radreward.errors import InputError
from radreward.extras import require_packages

if TYPE_CHECKING:
    from transformers import PreTrainedModel

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
"""Query and value projections of architectures that do not call them q_proj and v_proj."""

_PEFT_WEIGHT_NAME = "base_model.model.{}.lora_{}.default.weight"
"""Name that peft gives to the matrices A and B of a layer."""
_MAX_RANK = 4096
"""No backbone has layers that gain from a larger rank."""


class LoRA:
    """Low-rank adapters: W x + (alpha / r) B A x with A (r, in) and B (out, r) trained (Hu et al. 2022).

    There is no dropout: with it, packed and separate sequences would not give the same loss.

    Args:
        r: Rank.
        alpha: Scale; defaults to 2 r.
        targets: Names of the layers to adapt; "auto" selects queries and values, as in ER²Score, "all-linear" all.

    Raises:
        ValueError: If `r` is not in [1, `_MAX_RANK`], or `alpha` is not positive.
    """

    def __init__(
        self, r: int = 16, alpha: int | None = None, targets: list[str] | Literal["auto", "all-linear"] = "auto"
    ) -> None:
        if not 1 <= r <= _MAX_RANK:
            raise ValueError(f"Expected `r` to be in [1, {_MAX_RANK}] but got {r}.")
        if alpha is not None and alpha <= 0:
            raise ValueError(f"Expected `alpha` to be > 0 but got {alpha}.")
        self.r = r
        self.alpha = 2 * r if alpha is None else alpha
        self.targets = targets

    def target_names(self, model_type: str) -> Sequence[str] | str:
        """Return the `target_modules` of peft for an architecture."""
        if self.targets == "auto":
            return DEFAULT_TARGETS.get(model_type, ("q_proj", "v_proj"))
        return self.targets

    def apply(self, model: PreTrainedModel) -> nn.Module:
        """Return the model with adapters and all other weights frozen.

        Raises:
            InputError: If no layer has one of the names.
        """
        require_packages("LoRA", "peft")
        from peft import LoraConfig, get_peft_model  # slow to import and not required for scoring

        names = self.target_names(model.config.model_type)
        config = LoraConfig(
            r=self.r, lora_alpha=self.alpha, target_modules=names if isinstance(names, str) else list(names)
        )
        try:
            with warnings.catch_warnings():
                # peft uses a name that transformers has deprecated.
                warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
                adapted: nn.Module = get_peft_model(model, config)
        except ValueError as error:
            raise InputError(f"LoRA: no layer of this {model.config.model_type} backbone is called {names}.") from error
        return adapted

    def target_layers(self, model: nn.Module, model_type: str) -> dict[str, nn.Linear] | None:
        """Return the layers to adapt by name, or None if only peft can merge them ("all-linear", non-linear layers)."""
        names = self.target_names(model_type)
        modules = {name: module for name, module in model.named_modules() if name.rpartition(".")[2] in names}
        if isinstance(names, str) or any("." in name for name in names) or not modules:
            return None
        linear = {name: module for name, module in modules.items() if type(module) is nn.Linear}
        return linear if len(linear) == len(modules) else None


@torch.no_grad()
def merge_lora(
    layers: Mapping[str, nn.Linear], lora: LoRA, state: Mapping[str, Tensor], prefix: str = "encoder."
) -> dict[str, Tensor]:
    """Add alpha / r · B A to the weight of each layer, in place, so that the model no longer needs its adapters.

    Args:
        layers: Result of `LoRA.target_layers`.
        lora: Rank and scale of the adapters.
        state: Matrices A (r, in) and B (out, r) of each layer, under the prefix and the names of peft, and any other
            weights.
        prefix: Name of the module with the layers.

    Returns:
        The other weights.

    Raises:
        InputError: If a matrix is missing, unknown or of a wrong shape.
    """
    names = {_PEFT_WEIGHT_NAME.format(name, matrix) for name in layers for matrix in "AB"}
    adapters = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    if names != set(adapters):
        raise InputError(f"Expected adapters of this model but {min(names ^ set(adapters))!r} is missing or unknown.")
    for name, layer in layers.items():
        a, b = (adapters[_PEFT_WEIGHT_NAME.format(name, matrix)].to(layer.weight.device).float() for matrix in "AB")
        if a.shape != (lora.r, layer.in_features) or b.shape != (layer.out_features, lora.r):
            shapes = f"{tuple(a.shape)}, {tuple(b.shape)}"
            raise InputError(f"Expected adapters of {name!r} of rank {lora.r} for {layer} but got {shapes}.")
        layer.weight += b @ a * (lora.alpha / lora.r)
    return {name: value for name, value in state.items() if not name.startswith(prefix)}
