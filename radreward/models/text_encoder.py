"""Texts as the states of an encoder, and how alike two of them are (BERTScore)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.data.tokenizer import EMBEDDED_BACKBONE, load_tokenizer
from radreward.models.backbone import Backbone

MAX_BATCH_TOKENS = 1024
"""Most tokens of one forward pass, which the caches of a CPU hold; a single text may have more."""


class TokenEmbeddings(NamedTuple):
    """A text as an encoder has it."""

    vectors: Tensor
    """(L, D) float32 of length 1, with the tokenizer's own tokens."""
    content_mask: Tensor
    """(L,) bool: which tokens are the text's own."""
    truncated: bool
    """Whether its end was left out."""


class TextEncoder:
    """Texts to the states of their tokens; equal texts are encoded once, and texts of equal length together.

    Args:
        name: `embedded` (MiniLM), `tiny-bert`, a local folder or a hub name.
        layer: Whose states are taken, 0 those of the embeddings; the last where none is given.
        device: Where it runs.
        download: Whether an encoder that is not on this machine may be fetched from the hub.

    Attributes:
        limit: Most tokens of a text that are read, with the tokenizer's own.

    Raises:
        ValueError: If there is no such layer.
        InputError: If there is no such encoder.
    """

    def __init__(
        self,
        name: str = EMBEDDED_BACKBONE,
        layer: int | None = None,
        device: str | torch.device = "cpu",
        allow_download: bool = False,
    ) -> None:
        self.layer = layer
        self._device = torch.device(device)
        model: Any = Backbone(name, lora=None, local_files_only=not allow_download).build(packed=False)
        self._model = model.eval().requires_grad_(False).to(self._device)
        layers = int(model.config.num_hidden_layers)
        if layer is not None and not 0 <= layer <= layers:
            raise ValueError(f"Expected `layer` to be in 0 to {layers} but got {layer}.")
        self._tokenizer: Any = load_tokenizer(name)
        self.max_length = min(int(self._tokenizer.model_max_length), int(model.config.max_position_embeddings))

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of tokenizer and weights."""
        digest = hashlib.sha256(self._tokenizer.backend_tokenizer.to_str().encode())
        for name, value in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> dict[str, TokenEmbeddings]:
        """The states of each distinct text, on the CPU; of one over the limit those of its beginning."""
        texts = list(dict.fromkeys(texts))
        lengths = [len(ids) for ids in self._tokenizer(texts)["input_ids"]] if texts else []
        fitted = self._tokenizer(texts, truncation=True, max_length=self.max_length) if texts else {"input_ids": []}
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(fitted["input_ids"]):
            by_length.setdefault(len(ids), []).append(place)
        known: dict[str, TokenEmbeddings] = {}
        for length, places in by_length.items():
            size = max(1, MAX_BATCH_TOKENS // length)
            for batch in (places[begin : begin + size] for begin in range(0, len(places), size)):
                ids = torch.tensor([fitted["input_ids"][place] for place in batch], device=self._device)
                vectors = F.normalize(self._hidden_states(ids), dim=-1).cpu()
                for place, row, tokens in zip(batch, vectors, ids.tolist(), strict=True):
                    special = self._tokenizer.get_special_tokens_mask(tokens, already_has_special_tokens=True)
                    own = ~torch.tensor(special, dtype=torch.bool)
                    known[texts[place]] = TokenEmbeddings(row, own, lengths[place] > self.max_length)
        return known

    def _hidden_states(self, ids: Tensor) -> Tensor:
        """(B, L) tokens to (B, L, D)."""
        output = self._model(ids, attention_mask=torch.ones_like(ids), output_hidden_states=self.layer is not None)
        states: Tensor = output.last_hidden_state if self.layer is None else output.hidden_states[self.layer]
        return states.float()


def bertscore(reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
    """BERTScore F1 (Zhang et al., 2020), without idf and rescaling, in [-1, 1]; 0 where a text has no token.

    P is the mean, over the candidate's tokens, of the highest cosine with a token of the reference, R the same the
    other way, and 2 P R / (P + R) the score. As in its authors' code the tokenizer's own tokens can be matched and are
    not counted.

    >>> one = States(torch.eye(2), torch.tensor([True, True]), False)
    >>> round(bertscore(one, States(torch.tensor([[1.0, 0.0]]), torch.tensor([True]), False)), 4)
    0.6667
    """
    if not (reference.content_mask.any() and candidate.content_mask.any()):
        return 0.0
    cosine = candidate.vectors @ reference.vectors.T
    precision = cosine.max(1).values[candidate.content_mask].mean().item()
    recall = cosine.max(0).values[reference.content_mask].mean().item()
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
