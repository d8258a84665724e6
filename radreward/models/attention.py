"""What a transformers model is given so that each token sees its own node and the node's ancestors only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from radreward.data.packing import attention_mask
from radreward.errors import InputError
from radreward.types import PackedBatch

ENCODER_TYPES = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
OFFSET_POSITION_TYPES = frozenset({"camembert", "roberta", "xlm-roberta"})
"""Encoders whose positions begin after the padding index."""
DECODER_TYPES = frozenset(
    {"cohere", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "granite", "llama", "mistral", "olmo2"}
    | {"opt", "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm", "starcoder2"}
)
"""Decoders for which a tree of nodes gives the same hidden states as separate rows."""


def is_encoder(config: PreTrainedConfig) -> bool:
    """Whether tokens see both ways.

    Raises:
        InputError: If the architecture is not known to work with masks over trees: it would be wrong silently.
    """
    kind = config.model_type
    if kind not in ENCODER_TYPES | DECODER_TYPES:
        raise InputError(
            f"Expected a backbone of one of {', '.join(sorted(ENCODER_TYPES | DECODER_TYPES))} but got {kind!r}."
        )
    return kind in ENCODER_TYPES


def check_length(config: PreTrainedConfig, length: int) -> None:
    """Whether a backbone has positions for a path of so many tokens.

    Raises:
        InputError: If not: beyond its last position a backbone fails, or was never trained.

    >>> from transformers import BertConfig
    >>> check_length(BertConfig(max_position_embeddings=512), 512)
    """
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return
    if config.model_type in OFFSET_POSITION_TYPES:
        positions -= config.pad_token_id + 1
    if length > positions:
        raise InputError(
            f"Expected `max_length` to be at most {positions}, the positions of this {config.model_type} backbone, "
            f"but got {length}."
        )


def model_inputs(packed: PackedBatch, config: PreTrainedConfig, dtype: torch.dtype) -> dict[str, Any]:
    """Keyword arguments for the forward pass of a transformers model without a language-model head.

    The mask is additive and 4-D: (R, 1, L, L), 0 where a token may look and the least number of `dtype` where it
    may not. (A boolean mask is added as 0 or 1 by the eager attention, without an error.) Layers with a sliding
    window get a mask of their own, from positions: in a tree, columns are not distances.
    """
    encoder = is_encoder(config)
    positions = packed.position_ids
    if config.model_type in OFFSET_POSITION_TYPES:
        positions = positions + config.pad_token_id + 1
    inputs: dict[str, Any] = {"input_ids": packed.input_ids, "position_ids": positions}
    if not encoder:
        inputs["use_cache"] = False
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"])
    masks = {
        kind: _additive_mask(
            attention_mask(packed, not encoder, window if kind == "sliding_attention" else None), dtype
        )
        for kind in sorted(kinds)
    }
    inputs["attention_mask"] = masks if len(masks) > 1 else next(iter(masks.values()))
    return inputs


def decoding_inputs(
    input_ids: Tensor, position_ids: Tensor, key_positions: Tensor, config: PreTrainedConfig, dtype: torch.dtype
) -> dict[str, Any]:
    """Keyword arguments for one step of decoding with a cache whose rows are of unlike length.

    Args:
        tokens: (B,) the token of each row that is read.
        position: (B,) its position.
        keys: (B, K) position of each key, the token's own last; -1 where there is none.
        config: Of the model.
        dtype: Of the mask.
    """
    offset = config.pad_token_id + 1 if config.model_type in OFFSET_POSITION_TYPES else 0
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"])
    masks = {}
    for kind in sorted(kinds):
        allowed = key_positions >= 0
        if window is not None and kind == "sliding_attention":
            allowed = allowed & (position_ids.unsqueeze(1) - key_positions < window)
        masks[kind] = _additive_mask(allowed.unsqueeze(1), dtype)
    return {
        "input_ids": input_ids.unsqueeze(1),
        "position_ids": position_ids.unsqueeze(1) + offset,
        "attention_mask": masks if len(masks) > 1 else next(iter(masks.values())),
    }


def _additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min).unsqueeze(1)
