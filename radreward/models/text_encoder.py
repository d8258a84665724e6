"""Token embeddings of texts by an encoder, and BERTScore of two texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.data.tokenizer import EMBEDDED_BACKBONE, load_tokenizer
from radreward.devices import resolve_device
from radreward.io.artifacts import fingerprint
from radreward.models.backbone import Backbone

MAX_BATCH_TOKENS = 1024
"""Maximum tokens of one forward pass, which fit into the caches of a CPU; a single text may have more."""


class TokenEmbeddings(NamedTuple):
    """Embeddings of the tokens of a text."""

    vectors: Tensor
    """(L, D) float32 of length 1, special tokens included."""
    content_mask: Tensor
    """(L,) bool: False for special tokens."""
    truncated: bool
    """True if the text exceeds the encoder's limit."""


class TextEncoder:
    """Encoder of texts; equal texts are encoded once, texts of equal length together.

    Args:
        name: `embedded` (MiniLM), `tiny-bert`, a local folder or a Hub name.
        layer: Layer of the hidden states, 0 for the embeddings; defaults to the last.
        device: Device of the encoder.
        allow_download: Allow the download of the encoder from the Hub.

    Attributes:
        max_length: Maximum number of tokens that are read, special tokens included.

    Raises:
        ValueError: If there is no such layer.
        InputError: If there is no such encoder.
    """

    def __init__(
        self,
        name: str = EMBEDDED_BACKBONE,
        layer: int | None = None,
        device: str | torch.device = "auto",
        allow_download: bool = False,
    ) -> None:
        self.layer = layer
        self.device = resolve_device(device)
        model: Any = Backbone(name, lora=None, local_files_only=not allow_download).build(packed=False)
        self._model = model.eval().requires_grad_(False).to(self.device)
        layers = int(model.config.num_hidden_layers)
        if layer is not None and not 0 <= layer <= layers:
            raise ValueError(f"Expected `layer` to be in 0 to {layers} but got {layer}.")
        self._tokenizer: Any = load_tokenizer(name)
        self._special_ids = torch.tensor(self._tokenizer.all_special_ids)
        self.max_length = min(int(self._tokenizer.model_max_length), int(model.config.max_position_embeddings))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of tokenizer and weights."""
        return fingerprint(self._tokenizer.backend_tokenizer.to_str(), self._model.state_dict())

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], truncate: bool = True) -> dict[str, TokenEmbeddings]:
        """Return the embeddings of each distinct text, on the CPU.

        Args:
            texts: Texts in any order.
            truncate: Truncate texts above the limit; False leaves them out.
        """
        texts = list(dict.fromkeys(texts))
        if not texts:
            return {}
        token_ids = dict(zip(texts, self._tokenizer(texts)["input_ids"], strict=True))
        too_long = [text for text, ids in token_ids.items() if len(ids) > self.max_length]
        if truncate and too_long:
            truncated = self._tokenizer(too_long, truncation=True, max_length=self.max_length)["input_ids"]
            token_ids.update(zip(too_long, truncated, strict=True))
        long_texts, by_length = frozenset(too_long), dict[int, list[str]]()
        for text, ids in token_ids.items():
            by_length.setdefault(len(ids), []).append(text)
        embeddings: dict[str, TokenEmbeddings] = {}
        for length, group in by_length.items():
            if length > self.max_length:
                continue
            size = max(1, MAX_BATCH_TOKENS // length)
            for batch in (group[start : start + size] for start in range(0, len(group), size)):
                input_ids = torch.tensor([token_ids[text] for text in batch])
                content_masks = ~torch.isin(input_ids, self._special_ids)
                vectors = F.normalize(self._hidden_states(input_ids.to(self.device)), dim=-1).cpu()
                for text, row, content_mask in zip(batch, vectors, content_masks, strict=True):
                    embeddings[text] = TokenEmbeddings(row, content_mask, text in long_texts)
        return embeddings

    def _hidden_states(self, input_ids: Tensor) -> Tensor:
        """Return (B, L, D) states of (B, L) tokens."""
        output = self._model(
            input_ids, attention_mask=torch.ones_like(input_ids), output_hidden_states=self.layer is not None
        )
        states: Tensor = output.last_hidden_state if self.layer is None else output.hidden_states[self.layer]
        return states.float()


def bertscore(reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
    """Return BERTScore F1 (Zhang et al., 2020) without idf and rescaling, in [-1, 1]; 0 if a text has no token.

    P is the mean over the candidate's tokens of the maximum cosine with a token of the reference, R the reverse, and
    the score is 2 P R / (P + R). As in the authors' code, special tokens can be matched but do not count.

    >>> reference = TokenEmbeddings(torch.eye(2), torch.tensor([True, True]), False)
    >>> candidate = TokenEmbeddings(torch.tensor([[1.0, 0.0]]), torch.tensor([True]), False)
    >>> round(bertscore(reference, candidate), 4)
    0.6667
    """
    if not (reference.content_mask.any() and candidate.content_mask.any()):
        return 0.0
    cosine = candidate.vectors @ reference.vectors.T
    precision = cosine.max(1).values[candidate.content_mask].mean().item()
    recall = cosine.max(0).values[reference.content_mask].mean().item()
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
