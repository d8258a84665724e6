"""Attention of completions that read the keys of their prompt together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from radreward.models.pooling import pad_rows


@dataclass(frozen=True, slots=True)
class SharedPrompts:
    """Keys and values of P prompts, and which of B completions continue which prompt.

    A decoding step reads all keys for one token of a completion, so memory limits it. The tokens of all completions of
    a prompt are rows of one product, which reads the keys of the prompt once.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    """Keys and values of each layer, (P, H', K, D)."""
    prompts: tuple[int, ...]
    """Prompt of each completion, in ascending order."""
    slots: Tensor
    """(P, G) completions of each prompt, padded with completion 0."""
    places: Tensor
    """(B,) where the flattened slots contain each completion."""

    @classmethod
    def create(cls, layers: tuple[tuple[Tensor, Tensor], ...], prompts: tuple[int, ...]) -> Self:
        """Return prompts of which each has a completion."""
        rows: list[list[int]] = [[] for _ in range(prompts[-1] + 1)]
        for row, prompt in enumerate(prompts):
            rows[prompt].append(row)
        width = max(map(len, rows))
        places = [prompt * width + index for prompt, row in enumerate(rows) for index in range(len(row))]
        device = layers[0][0].device
        return cls(layers, prompts, pad_rows(rows, 0).to(device), torch.tensor(places, device=device))

    def select(self, growing: list[bool]) -> Self:
        """Return the prompts of the completions that continue; keys of a prompt without completions are dropped."""
        prompts = [prompt for prompt, grows in zip(self.prompts, growing, strict=True) if grows]
        kept = sorted(set(prompts))
        layers = self.layers
        if len(kept) < len(self.slots):
            layers = tuple((keys[kept], values[kept]) for keys, values in layers)
        return self.create(layers, tuple(map(kept.index, prompts)))

    def attend(
        self,
        layer: int,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scaling: float | None = None,
        softcap: float | None = None,
    ) -> Tensor:
        """Return the (B, H, 1, D) attention of one token of each completion over its prompt and its own tokens.

        Args:
            layer: Index of the layer.
            query: (B, H, 1, D).
            key: (B, H', L, D) keys of the completions, each shared by H / H' heads.
            value: (B, H', L, D).
            mask: (B, 1, 1, K + L), additive.
            scaling: See `node_attention`.
            softcap: See `node_attention`.

        Raises:
            ValueError: If the mask does not have all keys: the architecture changed it.
        """
        prompt_keys, prompt_values = self.layers[layer]
        if mask is None or mask.shape[-1] != prompt_keys.shape[2] + key.shape[2]:
            raise ValueError(f"Expected a mask of {prompt_keys.shape[2]} + {key.shape[2]} keys.")
        rows, heads, _, size = query.shape
        # Heads that share a key are rows of one product.
        own = (query * (size**-0.5 if scaling is None else scaling)).view(rows, key.shape[1], -1, size)
        prompt_scores = self._apart(self._together(own) @ prompt_keys.transpose(2, 3), own.shape[2])
        scores = torch.cat([prompt_scores, own @ key.transpose(2, 3)], -1)
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        weights = (scores + mask).softmax(-1, dtype=torch.float32).to(query.dtype)
        prompt_weights, own_weights = torch.split(weights, [prompt_keys.shape[2], key.shape[2]], -1)
        prompt_part = self._apart(self._together(prompt_weights) @ prompt_values, own.shape[2])
        return torch.add(prompt_part, own_weights @ value).view(rows, heads, 1, size)

    def _together(self, rows: Tensor) -> Tensor:
        """Return (B, H', R, N) rows of completions as (P, H', G R, N) rows of prompts."""
        return rows[self.slots].transpose(1, 2).flatten(2, 3)

    def _apart(self, rows: Tensor, per_completion: int) -> Tensor:
        """Return (P, H', G R, N) rows of prompts as (B, H', R, N) rows of completions."""
        prompts, heads, _, size = rows.shape
        split = rows.view(prompts, heads, -1, per_completion, size).transpose(1, 2)
        return split.flatten(0, 1)[self.places]
