"""Inputs of transformers models for tree attention: a token attends to its own node and that node's ancestors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from radreward.errors import InputError
from radreward.models.bert import BackboneConfig
from radreward.models.node_attention import NodeLayout, attention, node_attention
from radreward.models.shared_prompts import SharedPrompts
from radreward.types import PackedBatch

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

ENCODER_TYPES = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
_OFFSET_POSITION_TYPES = frozenset({"camembert", "roberta", "xlm-roberta"})
"""Encoders whose positions start after the padding index."""
DECODER_TYPES = frozenset(
    {"cohere", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "granite", "llama", "mistral", "olmo2", "opt"}
    | {"phi", "phi3", "qwen2", "qwen3", "smollm3", "starcoder2"}
)
"""Decoders that give the same hidden states for a tree of nodes as for separate rows."""
_ATTENTION_NAME = "radreward_node"
"""Name of `_layout_attention` in transformers."""


def is_encoder(config: BackboneConfig) -> bool:
    """Return True if tokens attend in both directions.

    Raises:
        InputError: If the architecture is not verified to work with trees; its results could be silently wrong.
    """
    if config.model_type not in ENCODER_TYPES | DECODER_TYPES:
        expected = ", ".join(sorted(ENCODER_TYPES | DECODER_TYPES))
        raise InputError(f"Expected a backbone of one of {expected} but got {config.model_type!r}.")
    return config.model_type in ENCODER_TYPES


def position_offset(config: BackboneConfig) -> int:
    """Return the position of the first token."""
    return int(config.pad_token_id) + 1 if config.model_type in _OFFSET_POSITION_TYPES else 0


def check_length(config: BackboneConfig, length: int) -> None:
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


def packed_inputs(model: Any, packed: PackedBatch) -> dict[str, Any]:
    """Return the keyword arguments for the forward pass of a transformers model: one row of all T tokens.

    The row has no padding and no mask; `node_layout` replaces it. Without a layout, the model computes ordinary rows.

    Args:
        model: The model, with or without adapters; its attention becomes `_layout_attention`.
        packed: Tokens on the model's device.

    Raises:
        InputError: See `is_encoder`.
    """
    config = model.config
    causal = not is_encoder(config)
    if getattr(config, "_attn_implementation", _ATTENTION_NAME) != _ATTENTION_NAME:
        enable_node_attention(model)
    inputs: dict[str, Any] = {
        "input_ids": packed.input_ids.unsqueeze(0),
        "position_ids": packed.position_ids.unsqueeze(0) + position_offset(config),
        "attention_mask": torch.zeros(1, 1, 1, 1, device=packed.input_ids.device),  # 4-D: no mask is created
        "node_layout": NodeLayout.from_packed(packed, causal),
    }
    return inputs | {"use_cache": False} if causal else inputs


def enable_node_attention(model: Any) -> None:
    """Let a transformers model attend node by node; its parameters do not change."""
    from transformers import AttentionInterface, AttentionMaskInterface  # slow to import
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(_ATTENTION_NAME, _layout_attention)
    AttentionMaskInterface.register(_ATTENTION_NAME, eager_mask)
    model.set_attn_implementation(_ATTENTION_NAME)


def _layout_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    node_layout: NodeLayout | None = None,
    shared_prompts: SharedPrompts | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Compute attention for transformers' `AttentionInterface`: of nodes, of completions, or of rows.

    With `node_layout`, a row contains nodes; with `shared_prompts`, rows are tokens of completions. All but nodes have
    an additive mask.

    Returns:
        (B, L, H, D), and no weights.

    Raises:
        ValueError: If the architecture did not pass on the layout: the result would be silently wrong.
    """
    device_type = query.device.type
    if device_type != "meta" and torch.is_autocast_enabled(device_type):  # once, not per node
        dtype = torch.get_autocast_dtype(device_type)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    if node_layout is not None:
        return node_attention(query, key, value, node_layout, scaling, sliding_window, softcap), None
    if shared_prompts is not None:
        layer: int = module.layer_idx  # type: ignore[assignment]  # of every attention with a cache
        return shared_prompts.attend(layer, query, key, value, attention_mask, scaling, softcap).transpose(1, 2), None
    if attention_mask is not None and attention_mask.shape[-1] != key.shape[2]:
        raise ValueError(f"Expected a mask of {key.shape[2]} keys or a `node_layout` in {type(module).__name__}.")
    out = attention(query, key, value, attention_mask, scaling=scaling, softcap=softcap)
    return out.transpose(1, 2).contiguous(), None


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
        zeros = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
        return zeros.masked_fill_(~allowed, torch.finfo(dtype).min)[:, None, None]

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
