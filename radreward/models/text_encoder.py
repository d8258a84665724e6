"""Token embeddings of texts by an encoder, and BERTScore of two texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from radreward.data.tokenizer import EMBEDDED_BACKBONE, load_tokenizer, resolve_backbone
from radreward.devices import resolve_device
from radreward.io.artifacts import fingerprint
from radreward.models.backbone import Backbone
from radreward.models.bert import BertEncoder
from radreward.models.precision import Precision

MAX_BATCH_TOKENS = 1024
"""Maximum tokens of one forward pass, which fit into the caches of a CPU; a single text may have more."""


def frozen_encoder(name: str, device: torch.device, allow_download: bool = False, precision: Precision = "fp32") -> Any:
    """Return an encoder without gradients; everybody gets the same `embedded` one, so that it is in memory once.

    With precision "bf16", its weights are bfloat16.

    Raises:
        InputError: If there is no such encoder.

    >>> cpu = torch.device("cpu")
    >>> frozen_encoder("embedded", cpu) is frozen_encoder("embedded", cpu)
    True
    """
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    if name == EMBEDDED_BACKBONE:
        return _embedded_encoder(device, dtype)
    model: Any = Backbone(name, lora=None, local_files_only=not allow_download).build(packed=False)
    return model.eval().requires_grad_(False).to(device, dtype)


@lru_cache(4)  # one per device and precision
def _embedded_encoder(device: torch.device, dtype: torch.dtype) -> BertEncoder:
    return BertEncoder.load(resolve_backbone(EMBEDDED_BACKBONE), dtype).eval().requires_grad_(False).to(device)


class TokenEmbeddings(NamedTuple):
    """Embeddings of the tokens of a text."""

    vectors: Tensor
    """(L, D) float32 of length 1, special tokens included; of several layers, one after the other in each row."""
    content_mask: Tensor
    """(L,) bool: False for special tokens."""
    truncated: bool
    """True if the text exceeds the encoder's limit."""


class TextEncoder:
    """Encoder of texts; equal texts are encoded once, texts of similar length together.

    Args:
        name: `embedded` (MiniLM), `tiny-bert`, a local folder or a Hub name.
        layer: Layer of the hidden states, or several, 0 for the embeddings; defaults to the last.
        device: Device of the encoder.
        allow_download: Allow the download of the encoder from the Hub.
        precision: Precision in which the encoder computes; the embeddings are float32.

    Attributes:
        max_length: Maximum number of tokens that are read, special tokens included.

    Raises:
        ValueError: If there is no such layer.
        InputError: If there is no such encoder.
    """

    def __init__(
        self,
        name: str = EMBEDDED_BACKBONE,
        layer: int | tuple[int, ...] | None = None,
        device: str | torch.device = "auto",
        allow_download: bool = False,
        precision: Precision = "fp32",
    ) -> None:
        self.layers = (layer,) if isinstance(layer, int) else layer
        self.device = resolve_device(device)
        self._model = frozen_encoder(name, self.device, allow_download, precision)
        last = int(self._model.config.num_hidden_layers)
        if not all(0 <= number <= last for number in self.layers or ()):
            raise ValueError(f"Expected `layer` to be in 0 to {last} but got {layer}.")
        self._tokenizer: Any = load_tokenizer(name)
        self._special_ids = torch.tensor(self._tokenizer.all_special_ids)
        self.max_length = min(int(self._tokenizer.model_max_length), int(self._model.config.max_position_embeddings))

    @property
    def embedding_dim(self) -> int:
        """Size of the vector of a token."""
        return int(self._model.config.hidden_size) * len(self.layers or (None,))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of tokenizer, weights and layers."""
        return fingerprint(
            self._tokenizer.backend_tokenizer.to_str(), self._model.state_dict(), list(self.layers or ())
        )

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
        long_texts = frozenset(too_long)
        embeddings: dict[str, TokenEmbeddings] = {}
        for batch in _length_batches({text: ids for text, ids in token_ids.items() if len(ids) <= self.max_length}):
            rows = [torch.tensor(token_ids[text]) for text in batch]
            input_ids = pad_sequence(rows, batch_first=True)
            mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
            states = self._hidden_states(input_ids.to(self.device), mask.to(self.device))
            for text, row, vectors in zip(batch, rows, states.cpu(), strict=True):
                content_mask = ~torch.isin(row, self._special_ids)
                embeddings[text] = TokenEmbeddings(vectors[: len(row)], content_mask, text in long_texts)
        return embeddings

    def _hidden_states(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Return (B, L, D) states of (B, L) tokens, of length 1 for each layer; the mask is 0 at padding."""
        output = self._model(input_ids, attention_mask=mask, output_hidden_states=self.layers is not None)
        hidden = (output.hidden_states[layer] for layer in self.layers) if self.layers else (output.last_hidden_state,)
        return torch.cat([F.normalize(states.float(), dim=-1) for states in hidden], dim=-1)


def _length_batches(token_ids: Mapping[str, Sequence[int]]) -> Iterator[list[str]]:
    """Yield batches of texts, the shortest first, of at most `MAX_BATCH_TOKENS` tokens with padding or of one text."""
    batch: list[str] = []
    for text in sorted(token_ids, key=lambda text: len(token_ids[text])):
        if batch and len(token_ids[text]) * (len(batch) + 1) > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


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
