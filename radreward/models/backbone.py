"""The pretrained model under a reward model: by name, with adapters, quantised or not."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    BitsAndBytesConfig,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.utils import logging as transformers_logging

from radreward.data.tokenizer import TINY_PREFIX, resolve_backbone
from radreward.errors import InputError
from radreward.models.attention import ENCODER_TYPES, is_encoder
from radreward.models.lora import LoRA
from radreward.models.tiny_backbones import tiny_config, tiny_model

DTypeName = Literal["float32", "bfloat16", "float16"]


class Backbone:
    """Which backbone, and how it is loaded and trained.

    Args:
        name: `embedded` (MiniLM, in a package), `tiny-<family>` (random weights), a local folder or a hub name.
        lora: Adapters to train; null trains the whole backbone.
        quantization: Load the frozen weights in 4 (NF4) or 8 bits, through bitsandbytes.
        dtype: In which the weights are held.
        attention: The attention of transformers to use; "auto" is the fastest that the architecture has.
        gradient_checkpointing: Compute activations twice rather than hold them.
        local_files_only: Never fetch anything from the hub.

    Raises:
        ValueError: If the backbone is quantised and has no adapters to train, or no weights of its own.
    """

    def __init__(
        self,
        name: str = "embedded",
        lora: LoRA | None = LoRA(),  # noqa: B008 - a default that a configuration shows; nothing in it changes
        quantization: Literal["4bit", "8bit"] | None = None,
        dtype: DTypeName = "float32",
        attention: Literal["auto", "sdpa", "eager"] = "auto",
        gradient_checkpointing: bool = False,
        local_files_only: bool = False,
    ) -> None:
        if quantization and lora is None:
            raise ValueError("Expected `lora` with `quantization`: quantised weights cannot be trained.")
        if quantization and name.startswith(TINY_PREFIX):
            raise ValueError(
                f"Expected no `quantization` with {name!r}: random weights are not stored in {quantization}."
            )
        self.name = name
        self.lora = lora
        self.quantization = quantization
        self.dtype = dtype
        self.attention = attention
        self._implementation = None if attention == "auto" else attention
        self.gradient_checkpointing = gradient_checkpointing
        self.local_files_only = local_files_only

    def config(self, packed: bool = True) -> PreTrainedConfig:
        """The architecture, without weights.

        Args:
            packed: Whether it shall read packed prompts; otherwise plain sequences, which all architectures can.

        Raises:
            InputError: If there is no such backbone, or its architecture cannot be packed and shall be.
        """
        if self.name.startswith(TINY_PREFIX):
            config = tiny_config(self.name.removeprefix(TINY_PREFIX))
        else:
            try:
                config = AutoConfig.from_pretrained(
                    resolve_backbone(self.name), trust_remote_code=False, local_files_only=self.local_files_only
                )
            except (OSError, ValueError) as error:
                raise InputError(f"{self.name}: no backbone can be loaded from it ({_short_reason(error)}).") from error
        if packed:
            is_encoder(config)
        return config

    def build(self, packed: bool = True, causal_lm: bool = False) -> nn.Module:
        """The model with its weights, ready as `prepare` makes it.

        Args:
            packed: As of `config`.
            writes: Whether with its language-model head.

        Raises:
            InputError: As `config` does, and if the weights cannot be loaded, or of an encoder that shall write.
        """
        config = self.config(packed)  # says in one line what cannot be
        if causal_lm and config.model_type in ENCODER_TYPES:
            raise InputError(f"{self.name}: Expected a backbone that writes but {config.model_type} is an encoder.")
        if self.name.startswith(TINY_PREFIX):
            family = self.name.removeprefix(TINY_PREFIX)
            model = tiny_model(family, self._implementation, causal_lm).to(getattr(torch, self.dtype))
        else:
            model = self._load(AutoModelForCausalLM if causal_lm else AutoModel)
        return self.prepare(model)

    def prepare(self, model: PreTrainedModel) -> nn.Module:
        """A model with adapters in place and what is frozen frozen; dropout is off.

        Without dropout a packed batch and separate sequences give the same loss and gradients. An encoder's own pooler
        is left out: no reward depends on it.
        """
        module: Any = model
        if hasattr(module, "pooler"):
            module.pooler = None
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
            if isinstance(getattr(module, "attention_dropout", None), float):
                module.attention_dropout = 0.0
            # On some CPUs bitsandbytes turns 4-bit weights, once they are evaluated, into a form that has no gradients
            # and that does not turn back exactly when it is saved.
            if hasattr(module, "support_avx512bf16_for_cpu"):
                module.support_avx512bf16_for_cpu = False
        if self.gradient_checkpointing:
            model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
        return self.lora.apply(model) if self.lora else model

    def _load(self, auto_class: Any) -> PreTrainedModel:
        options: dict[str, Any] = {"dtype": getattr(torch, self.dtype), "attn_implementation": self._implementation}
        if self.quantization:
            options["quantization_config"] = _quantization_config(self.quantization, getattr(torch, self.dtype))
        path = resolve_backbone(self.name)
        bar = transformers_logging.is_progress_bar_enabled()
        if self.name == "embedded":  # it is there at once: nothing to show
            transformers_logging.disable_progress_bar()
        try:
            model: PreTrainedModel = auto_class.from_pretrained(
                path,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=self.local_files_only,
                **options,
            )
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{self.name}: no weights can be loaded from it ({_short_reason(error)}).") from error
        finally:
            if bar:
                transformers_logging.enable_progress_bar()
        return model


def _quantization_config(bits: str, dtype: torch.dtype) -> BitsAndBytesConfig:
    if bits == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype, bnb_4bit_use_double_quant=True
    )


def _short_reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
