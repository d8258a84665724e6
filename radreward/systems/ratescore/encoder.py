"""Embeddings of entity names: one unit vector per distinct name, cached in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.data.tokenizer import EMBEDDED_BACKBONE, load_tokenizer
from radreward.devices import resolve_device
from radreward.io.artifacts import fingerprint
from radreward.io.lru_cache import BatchLRUCache
from radreward.models.text_encoder import frozen_encoder
from radreward.systems.ratescore.entity_context import ContextMode, contextualize
from radreward.systems.ratescore.entity_head import EntityHead
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.types import Entity

EMBEDDED_ENTITY_ENCODER = "embedded-entities"
Pooling = Literal["mean", "first"]


class NameEmbedding(NamedTuple):
    """Embedding of one name."""

    vector: Tensor
    """(d,) float32 of unit length."""
    truncated: bool
    """True if the name has more tokens than the limit, so that only its beginning was embedded."""


class NameEmbeddings(NamedTuple):
    """Embeddings of n names."""

    vectors: Tensor
    """(n, d) float32 rows of unit length."""
    truncated: tuple[bool, ...]
    """True for names with more tokens than the limit, of which only the beginning was embedded."""


class EntityEncoder:
    """Maps entity names to unit vectors whose cosine measures the similarity of their meanings.

    A name is tokenized with special tokens, encoded and pooled: either the mean of the last hidden states, with which
    MiniLM was trained, or the state of the first token, which RaTEScore uses of BioLORD-2023-C. Names of equal length
    are encoded together, without padding.

    Args:
        name: `embedded` (MiniLM), `embedded-entities` (MiniLM with a head trained on the lexicon, which separates left
            from right and joins synonyms; trained for `context` phrase), `tiny-bert`, a local folder or a Hub name.
        pooling: "mean" of all tokens, or the "first" token.
        max_length: Maximum number of tokens per name, including special tokens.
        cache_size: Maximum number of names cached in memory. The least recently used are dropped first.
        max_batch_tokens: Maximum number of tokens per forward pass.
        device: Device of the encoder, see `radreward.devices.resolve_device`. The default is the CPU, because `fit`
            calls the encoder in processes that load data.
        allow_download: Download an encoder that is not on this machine from the Hub.
        context: Text that is embedded for an entity: its "name" as in the paper, its name after a prefix for its
            "type", or its "phrase", see `radreward.systems.ratescore.entity_context.contextualize`.

    Raises:
        ValueError: If a number is too small, or `pooling` or `context` is unknown.
        InputError: If the encoder cannot be loaded.

    >>> encoder = EntityEncoder("tiny-bert")
    >>> encoder.embed(["effusion", "edema", "effusion"]).vectors.shape
    torch.Size([3, 32])
    """

    def __init__(
        self,
        name: str = EMBEDDED_BACKBONE,
        pooling: Pooling = "mean",
        max_length: int = 30,
        cache_size: int = CACHED_SENTENCES,
        max_batch_tokens: int = 4096,
        device: str = "cpu",
        allow_download: bool = False,
        context: ContextMode = "name",
    ) -> None:
        for field, value, minimum in (
            ("max_length", max_length, 3),
            ("cache_size", cache_size, 1),
            ("max_batch_tokens", max_batch_tokens, 1),
        ):
            if value < minimum:
                raise ValueError(f"Expected `{field}` to be >= {minimum} but got {value}.")
        if pooling not in ("mean", "first"):
            raise ValueError(f"Expected `pooling` to be mean or first but got {pooling!r}.")
        if context not in ("name", "type", "phrase"):
            raise ValueError(f"Expected `context` to be name, type or phrase but got {context!r}.")
        self.name = name
        self.pooling = pooling
        self.max_length = max_length
        self.context = context
        self.max_batch_tokens = max_batch_tokens
        self.device = resolve_device(device)
        backbone = EMBEDDED_BACKBONE if name == EMBEDDED_ENTITY_ENCODER else name
        self._tokenizer = load_tokenizer(backbone, local_files_only=not allow_download)
        self._model: Any = frozen_encoder(backbone, self.device, allow_download)
        self._head = EntityHead.load().to(self.device) if name == EMBEDDED_ENTITY_ENCODER else None
        self._cache = BatchLRUCache[NameEmbedding](cache_size)

    @property
    def embedding_dim(self) -> int:
        """Size of an embedding."""
        return int(self._model.config.hidden_size)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that determines the embeddings: weights, tokenizer, pooling, context and limit."""
        head = None if self._head is None else self._head.state_dict()
        settings = [self.pooling, self.max_length, self.context, self._tokenizer.backend_tokenizer.to_str()]
        return fingerprint(settings, self._model.state_dict(), head)

    def settings(self) -> dict[str, Any]:
        """Return the arguments that determine the embeddings, for JSON."""
        return {"name": self.name, "pooling": self.pooling, "max_length": self.max_length, "context": self.context}

    def contextualize(self, text: str, entities: Sequence[Entity]) -> list[str]:
        """Return the text to embed for each entity of a report."""
        return contextualize(self.context, text, entities)

    def too_long_message(self, name: str) -> str:
        """Return the message for a name over the limit."""
        return f"Expected an entity of at most {self.max_length} tokens but got {name!r}."

    def embed(self, names: Sequence[str]) -> NameEmbeddings:
        """Return embeddings of n names. A name over the limit is truncated."""
        found = self._cache.get_or_compute(names, self._compute)
        vectors = torch.stack([found[name].vector for name in names]) if names else torch.empty(0, self.embedding_dim)
        return NameEmbeddings(vectors, tuple(found[name].truncated for name in names))

    @torch.inference_mode()
    def _compute(self, names: Sequence[str]) -> dict[str, NameEmbedding]:
        # split_special_tokens: an entity "[SEP]" is ordinary text.
        options: dict[str, Any] = {"split_special_tokens": True, "verbose": False}
        full: list[list[int]] = self._tokenizer(list(names), **options)["input_ids"]
        options |= {"truncation": True, "max_length": self.max_length}
        tokens: list[list[int]] = self._tokenizer(list(names), **options)["input_ids"]
        embeddings: dict[str, NameEmbedding] = {}
        for batch in self._length_batches([len(ids) for ids in tokens]):
            states = self._model(torch.tensor([tokens[i] for i in batch], device=self.device)).last_hidden_state
            pooled = states.mean(1) if self.pooling == "mean" else states[:, 0]
            vectors = F.normalize(pooled.float(), dim=1)
            vectors = (vectors if self._head is None else self._head(vectors)).cpu()
            for index, vector in zip(batch, vectors, strict=True):
                # A view of the row would keep the whole batch in memory.
                embeddings[names[index]] = NameEmbedding(vector.clone(), len(full[index]) > self.max_length)
        return embeddings

    def _length_batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield indices of names of equal length, with at most `max_batch_tokens` tokens each."""
        by_length: dict[int, list[int]] = {}
        for index, length in enumerate(lengths):
            by_length.setdefault(length, []).append(index)
        for length, indices in sorted(by_length.items()):
            size = max(1, self.max_batch_tokens // length)
            yield from (indices[start : start + size] for start in range(0, len(indices), size))
