"""DeBERTa-v2 and v3 without the relative positions that do not occur in short sentences."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def limit_relative_positions(model: Any) -> None:
    """Limit a DeBERTa-v2 model, in place, to the relative positions of its input. Its results do not change.

    For each token, disentangled attention (He et al. 2021, section 3.1) computes products with the embeddings of all
    relative positions, 512 in the published models, but uses only those that occur: 2 L - 1 for L tokens. Sentences of
    reports have about 15 tokens. For long inputs, where positions share a bucket, all positions are computed. Models of
    another architecture are not changed.
    """
    if model.config.model_type != "deberta-v2" or not model.base_model.encoder.relative_attention:
        return
    encoder = model.base_model.encoder
    attentions = [layer.attention.self for layer in encoder.layer]
    all_embeddings, half = encoder.get_rel_embedding, attentions[0].pos_ebd_size
    span = half

    def set_span(module: Any, arguments: tuple[Tensor, ...]) -> None:
        nonlocal span
        length = arguments[0].shape[1]
        span = length if length <= half // 2 else half
        for attention in attentions:
            attention.pos_ebd_size = span

    encoder.get_rel_embedding = lambda: all_embeddings()[half - span : half + span]
    encoder.register_forward_pre_hook(set_span)
