"""Inputs of transformers models under which each token sees its own node and the node's ancestors only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from radreward.data.packing import attention_mask
from radreward.errors import InputError
from radreward.types import PackedBatch

ENCODER_TYPES = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
OFFSET_POSITION_TYPES = frozenset({"camembert", "roberta", "xlm-roberta"})
"""Encoders whose positions start after the padding index."""
DECODER_TYPES = frozenset(
    {"cohere", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "granite", "llama", "mistral", "olmo2"}
    | {"opt", "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm", "starcoder2"}
)
"""Decoders that give the same hidden states for a tree of nodes as for separate rows."""


def is_encoder(config: PreTrainedConfig) -> bool:
    """Return True if tokens attend in both directions.

    Raises:
        InputError: If the architecture is not verified to work with tree masks; its results could be silently wrong.
    """
    if config.model_type not in ENCODER_TYPES | DECODER_TYPES:
        expected = ", ".join(sorted(ENCODER_TYPES | DECODER_TYPES))
        raise InputError(f"Expected a backbone of one of {expected} but got {config.model_type!r}.")
    return config.model_type in ENCODER_TYPES


def position_offset(config: PreTrainedConfig) -> int:
    """Return the position of the first token."""
    return int(config.pad_token_id) + 1 if config.model_type in OFFSET_POSITION_TYPES else 0


def check_length(config: PreTrainedConfig, length: int) -> None:
    """Check that a backbone has positions for a path of `length` tokens.

    Raises:
        InputError: If it has not: beyond its last position a backbone fails or is untrained.

    >>> from transformers import BertConfig
    >>> check_length(BertConfig(max_position_embeddings=512), 512)
    """
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return
    positions -= position_offset(config)
    if length > positions:
        raise InputError(
            f"Expected `max_length` to be at most {positions}, the positions of this {config.model_type} backbone, "
            f"but got {length}."
        )


def model_inputs(packed: PackedBatch, config: PreTrainedConfig, dtype: torch.dtype) -> dict[str, Any]:
    """Return the keyword arguments for the forward pass of a transformers model.

    The mask is additive and 4-D, (R, 1, L, L): 0 where a token may attend, the minimum of `dtype` elsewhere. (Eager
    attention adds a boolean mask as 0 or 1, without an error.) Layers with a sliding window get their own mask, based
    on positions, because distances between columns are meaningless in a tree.
    """
    causal = not is_encoder(config)
    inputs: dict[str, Any] = {
        "input_ids": packed.input_ids,
        "position_ids": packed.position_ids + position_offset(config),
        "attention_mask": _layer_masks(
            config, lambda window: _additive_mask(attention_mask(packed, causal, window), dtype)
        ),
    }
    return inputs | {"use_cache": False} if causal else inputs


def decoding_inputs(
    input_ids: Tensor, position_ids: Tensor, key_positions: Tensor, config: PreTrainedConfig, dtype: torch.dtype
) -> dict[str, Any]:
    """Return the keyword arguments for one decoding step with a cache whose rows have different lengths.

    Args:
        input_ids: (B,) token of each row.
        position_ids: (B,) its position.
        key_positions: (B, K) position of each key, the token's own last; -1 for padding.
        config: Configuration of the model.
        dtype: Type of the mask.
    """

    def mask(window: int | None) -> Tensor:
        allowed = key_positions >= 0
        if window is not None:
            allowed = allowed & (position_ids.unsqueeze(1) - key_positions < window)
        return _additive_mask(allowed.unsqueeze(1), dtype)

    return {
        "input_ids": input_ids.unsqueeze(1),
        "position_ids": position_ids.unsqueeze(1) + position_offset(config),
        "attention_mask": _layer_masks(config, mask),
    }


def _layer_masks(config: PreTrainedConfig, mask: Callable[[int | None], Tensor]) -> Tensor | dict[str, Tensor]:
    """Return one mask, or one per layer type if these differ; `mask` maps a window size or None to a mask."""
    window = getattr(config, "sliding_window", None)
    types = set(getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"])
    masks = {name: mask(window if name == "sliding_attention" else None) for name in sorted(types)}
    return masks if len(masks) > 1 else next(iter(masks.values()))


def _additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min).unsqueeze(1)
