"""The pretrained model under a reward model or a policy: by name, with adapters, quantized or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import torch
from torch import nn

from radreward.data.tokenizer import EMBEDDED_BACKBONE, TINY_PREFIX, resolve_backbone
from radreward.errors import InputError
from radreward.io.hub import LOADING_ERRORS, hub_error_reason, pretrained_options, use_only_cache_if_hub_is_unreachable
from radreward.io.model_config import check_settings
from radreward.models.bert import BackboneConfig, BertEncoder, BertSizes
from radreward.models.fused_kernels import use_fused_kernels
from radreward.models.lora import LoRA
from radreward.models.transformers_attention import ENCODER_TYPES, enable_node_attention, is_encoder

if TYPE_CHECKING:  # imported on use: slow to import, and not required to score with the embedded backbone
    from transformers import BitsAndBytesConfig, PreTrainedModel

DTypeName = Literal["float32", "bfloat16", "float16"]


class Backbone:
    """A pretrained backbone, and how it is loaded and trained.

    Args:
        name: `embedded` (MiniLM, in a package), `tiny-<family>` (random weights), a local folder or a Hub name.
        lora: Adapters to train; null trains the complete backbone.
        quantization: Load the frozen weights in 4 (NF4) or 8 bits with bitsandbytes.
        dtype: Type of the weights.
        gradient_checkpointing: Recompute activations in the backward pass to save memory.
        fused_kernels: Compute a decoder's norms and feed-forward layers by Liger Kernel, see `use_fused_kernels`.
        local_files_only: Never download from the Hub.

    Raises:
        ValueError: If the backbone is quantized but has no adapters, or has random weights.
    """

    def __init__(
        self,
        name: str = "embedded",
        lora: LoRA | None = LoRA(),  # noqa: B008 - an immutable default that a configuration shows
        quantization: Literal["4bit", "8bit"] | None = None,
        dtype: DTypeName = "float32",
        gradient_checkpointing: bool = False,
        fused_kernels: bool = False,
        local_files_only: bool = False,
    ) -> None:
        if quantization and lora is None:
            raise ValueError("Expected `lora` with `quantization`: quantized weights cannot be trained.")
        if quantization and name.startswith(TINY_PREFIX):
            raise ValueError(
                f"Expected no `quantization` with {name!r}: random weights are not stored in {quantization}."
            )
        self.name = name
        self.lora = lora
        self.quantization = quantization
        self.dtype = dtype
        self.gradient_checkpointing = gradient_checkpointing
        self.fused_kernels = fused_kernels
        self.local_files_only = local_files_only

    def to_dict(self) -> dict[str, Any]:
        """Return the fields `backbone` and `lora` of a saved model's settings."""
        lora = self.lora
        return {
            "backbone": {name: getattr(self, name) for name in ("name", "quantization", "dtype")},
            "lora": lora and {name: getattr(lora, name) for name in ("r", "alpha", "targets")},
        }

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], allow_download: bool = False) -> Self:
        """Return the backbone of a saved model's settings, see `to_dict`."""
        check_settings(cls, config["backbone"], "backbone", ("name", "quantization", "dtype"))
        if config["lora"] is not None:
            check_settings(LoRA, config["lora"], "lora", ("r", "alpha", "targets"))
        lora = None if config["lora"] is None else LoRA(**config["lora"])
        return cls(lora=lora, local_files_only=not allow_download, **config["backbone"])

    def config(self, packed: bool = True) -> BackboneConfig:
        """Return the architecture, without weights.

        Args:
            packed: Check that the architecture can read packed prompts; every architecture reads plain sequences.

        Raises:
            InputError: If there is no such backbone, or it cannot read packed prompts but should.
        """
        config: BackboneConfig
        if self.name == EMBEDDED_BACKBONE:
            config = BertSizes.load(resolve_backbone(self.name))
        elif self.name.startswith(TINY_PREFIX):
            from radreward.models.tiny_backbones import tiny_config

            config = tiny_config(self.name.removeprefix(TINY_PREFIX))
        else:
            from transformers import AutoConfig

            path = resolve_backbone(self.name)
            if not (self.local_files_only or Path(path).is_dir()):
                use_only_cache_if_hub_is_unreachable()
            try:
                config = AutoConfig.from_pretrained(
                    path, trust_remote_code=False, local_files_only=self.local_files_only
                )
            except (OSError, ValueError) as error:
                remedy = " Use --allow-download, or `local_files_only: false`." if self.local_files_only else ""
                raise InputError(
                    f"{self.name}: no backbone can be loaded from it ({hub_error_reason(error)}).{remedy}"
                ) from error
        if packed:
            is_encoder(config)
        return config

    def build(self, packed: bool = True, causal_lm: bool = False) -> nn.Module:
        """Return the model with its weights, prepared by `prepare`.

        Args:
            packed: See `config`.
            causal_lm: Include the language-model head.

        Raises:
            InputError: See `config`; also if the weights cannot be loaded, or an encoder should be a language model.
        """
        config = self.config(packed)  # raises a one-line error first
        if causal_lm and config.model_type in ENCODER_TYPES:
            raise InputError(f"{self.name}: Expected a causal language model but {config.model_type} is an encoder.")
        dtype = getattr(torch, self.dtype)
        if self.name == EMBEDDED_BACKBONE and not (self.lora or self.gradient_checkpointing or self.fused_kernels):
            return BertEncoder.load(resolve_backbone(self.name), dtype)
        from transformers import AutoModel, AutoModelForCausalLM

        if self.name.startswith(TINY_PREFIX):
            from radreward.models.tiny_backbones import tiny_model

            family = self.name.removeprefix(TINY_PREFIX)
            model = tiny_model(family, causal_lm).to(dtype)
        else:
            model = self._load(AutoModelForCausalLM if causal_lm else AutoModel)
        return self.prepare(model, packed)

    def prepare(self, model: PreTrainedModel, packed: bool = True) -> nn.Module:
        """Return a model with adapters, frozen weights and no dropout, which attends node by node if it reads trees.

        Without dropout a packed batch and separate sequences give the same loss and gradients. An encoder's own pooler
        is removed: no reward depends on it.
        """
        module: Any = model
        if packed:
            enable_node_attention(model)
        if self.fused_kernels:
            use_fused_kernels(model)
        if hasattr(module, "pooler"):
            module.pooler = None
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
            if isinstance(getattr(module, "attention_dropout", None), float):
                module.attention_dropout = 0.0
            # On some CPUs bitsandbytes converts 4-bit weights at their first evaluation to a form that has no
            # gradients and cannot be converted back exactly when it is saved.
            if hasattr(module, "support_avx512bf16_for_cpu"):
                module.support_avx512bf16_for_cpu = False
        if self.gradient_checkpointing:
            # transformers 5.6 has only the older name, of which newer versions warn
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable({"use_reentrant": False})
        return self.lora.apply(model) if self.lora else model

    def _load(self, auto_class: Any) -> PreTrainedModel:
        from transformers.utils import logging as transformers_logging

        options: dict[str, Any] = {"dtype": getattr(torch, self.dtype)}
        if self.quantization:
            options["quantization_config"] = _quantization_config(self.quantization, getattr(torch, self.dtype))
        path = resolve_backbone(self.name)
        show_progress = transformers_logging.is_progress_bar_enabled()
        if self.name == "embedded":  # loads at once
            transformers_logging.disable_progress_bar()
        try:
            model: PreTrainedModel
            model, loaded = auto_class.from_pretrained(
                path, **pretrained_options(path, self.local_files_only), **options, output_loading_info=True
            )
        except LOADING_ERRORS as error:
            raise InputError(f"{self.name}: no weights can be loaded from it ({hub_error_reason(error)}).") from error
        finally:
            if show_progress:
                transformers_logging.enable_progress_bar()
        if missing := sorted(key for key in loaded["missing_keys"] if not key.startswith("pooler.")):
            # transformers gives them random numbers
            raise InputError(
                f"{self.name}: Expected all weights of {type(model).__name__} but {missing[0]!r} is missing."
            )
        return model


def _quantization_config(bits: str, dtype: torch.dtype) -> BitsAndBytesConfig:
    from transformers import BitsAndBytesConfig

    if bits == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype, bnb_4bit_use_double_quant=True
    )
