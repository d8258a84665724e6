"""Embeddings of entity names: a unit vector for each, computed once for every distinct name."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModel
from transformers.utils import logging as transformers_logging

from radreward.data.tokenizer import EMBEDDED_BACKBONE, TINY_PREFIX, load_tokenizer, resolve_backbone
from radreward.errors import InputError
from radreward.models.tiny_backbones import tiny_model
from radreward.systems.ratescore.embedding_cache import EmbeddingCache
from radreward.systems.ratescore.entity_context import ContextMode, contextualize
from radreward.systems.ratescore.entity_head import EntityHead
from radreward.types import Entity

EMBEDDED_ENTITY_ENCODER = "embedded-entities"
Pooling = Literal["mean", "first"]


class NameEmbeddings(NamedTuple):
    """Embeddings of n names."""

    vectors: Tensor
    """(n, width) float32, each of length 1."""
    truncated: tuple[bool, ...]
    """Which names have more tokens than the limit, so that only their beginning was read."""


class EntityEncoder:
    """Names of entities to unit vectors, such that the cosine of two tells how alike they are in meaning.

    A name is tokenised with the tokenizer's own first and last tokens, run through the encoder and pooled: the mean of
    the last hidden states, as MiniLM was trained, or that of the first token, as RaTEScore takes it from
    BioLORD-2023-C. Names of equal length are run together, so nothing is padded; each distinct name is run once and
    then kept, in memory and, if wanted, in a file.

    Args:
        name: `embedded` (MiniLM, in a package), `embedded-entities` (the same with a head trained on our vocabulary, so
            that "left" and "right" differ and other words for a finding do not; made for `context` phrase),
            `tiny-bert`, a local folder or a hub name.
        pooling: mean of all tokens, or the first token.
        max_length: Most tokens of what is read, with the tokenizer's own.
        cache: How many names are kept in memory; those not used for the longest time give way.
        store: A file that keeps embeddings between runs.
        store_size: How many names the file keeps; those not used for the longest time give way.
        batch_tokens: Most tokens of one forward pass.
        device: Where it runs.
        download: Whether an encoder that is not on this machine may be fetched from the hub.
        context: What is read of an entity: its name alone, as published; after words for its type; or findings with
            the body parts beside them too, see `readings`.

    Raises:
        ValueError: If a number is too small, or `pooling` or `context` is unknown.
        InputError: If there is no such encoder, or the file of the store is not one.

    >>> encoder = EntityEncoder("tiny-bert")
    >>> encoder.encode(["effusion", "edema", "effusion"]).shape
    torch.Size([3, 32])
    """

    def __init__(
        self,
        name: str = EMBEDDED_BACKBONE,
        pooling: Pooling = "mean",
        max_length: int = 30,
        cache_size: int = 20_000,
        cache_path: str | Path | None = None,
        max_cached: int = 1_000_000,
        max_batch_tokens: int = 4096,
        device: str = "cpu",
        allow_download: bool = False,
        context: ContextMode = "name",
    ) -> None:
        for field, value, least in (
            ("max_length", max_length, 3),
            ("cache", cache_size, 1),
            ("store_size", max_cached, 1),
            ("batch_tokens", max_batch_tokens, 1),
        ):
            if value < least:
                raise ValueError(f"Expected `{field}` to be >= {least} but got {value}.")
        if pooling not in ("mean", "first"):
            raise ValueError(f"Expected `pooling` to be mean or first but got {pooling!r}.")
        if context not in ("name", "type", "phrase"):
            raise ValueError(f"Expected `context` to be name, type or phrase but got {context!r}.")
        self.name, self.pooling, self.max_length, self.context = name, pooling, max_length, context
        self.max_batch_tokens, self.device = max_batch_tokens, torch.device(device)
        backbone = EMBEDDED_BACKBONE if name == EMBEDDED_ENTITY_ENCODER else name
        self._tokenizer = load_tokenizer(backbone)
        self._model: Any = _load_encoder(backbone, allow_download).eval().requires_grad_(False).to(self.device)
        self._head = EntityHead.load().to(self.device) if name == EMBEDDED_ENTITY_ENCODER else None
        self._cache: OrderedDict[str, tuple[Tensor, bool]] = OrderedDict()
        self._cache_size = cache_size
        self._disk_cache = (
            EmbeddingCache(cache_path, self.fingerprint, self.embedding_dim, max_cached) if cache_path else None
        )

    @property
    def embedding_dim(self) -> int:
        """Numbers of an embedding."""
        return int(self._model.config.hidden_size)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with anything that embeddings depend on: weights, tokens, pooling, limit."""
        digest = hashlib.sha256(f"{self.pooling} {self.max_length} {self.context} ".encode())
        digest.update(self._tokenizer.backend_tokenizer.to_str().encode())
        head = self._head.state_dict() if self._head is not None else {}
        for name, value in sorted({**self._model.state_dict(), **head}.items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def settings(self) -> dict[str, Any]:
        """The arguments that embeddings depend on, for JSON."""
        return {
            "name": self.name,
            "pooling": self.pooling,
            "max_length": self.max_length,
            "context": self.context,
        }

    def contextualize(self, text: str, entities: Sequence[Entity]) -> list[str]:
        """What is read of each entity of a report, to be given to `embed`; see `readings`."""
        return contextualize(self.context, text, entities)

    def encode(self, names: Sequence[str]) -> Tensor:
        """(n, width) unit vectors of n names.

        Raises:
            InputError: If a name has more tokens than the limit.
        """
        embedded = self.embed(names)
        if any(embedded.truncated):
            raise InputError(self.too_long_message(names[embedded.truncated.index(True)]))
        return embedded.vectors

    def too_long_message(self, name: str) -> str:
        """What is told of a name over the limit."""
        return f"Expected an entity of at most {self.max_length} tokens but got {name!r}."

    def embed(self, names: Sequence[str]) -> NameEmbeddings:
        """Embeddings of n names; of a name over the limit, that of its beginning, and told."""
        found: dict[str, tuple[Tensor, bool]] = {}
        for name in dict.fromkeys(names):
            if (known := self._cache.get(name)) is not None:
                self._cache.move_to_end(name)
                found[name] = known
        missing = [name for name in dict.fromkeys(names) if name not in found]
        if self._disk_cache is not None and missing:
            found |= (stored := self._disk_cache.get(missing))
            self._add_to_cache(stored)
            missing = [name for name in missing if name not in stored]
        if missing:
            fresh = self._forward(missing)
            found |= fresh
            self._add_to_cache(fresh)
            if self._disk_cache is not None:
                self._disk_cache.put(fresh)
        vectors = torch.stack([found[name][0] for name in names]) if names else torch.empty(0, self.embedding_dim)
        return NameEmbeddings(vectors, tuple(found[name][1] for name in names))

    def _add_to_cache(self, embeddings: dict[str, tuple[Tensor, bool]]) -> None:
        self._cache.update(embeddings)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

    @torch.inference_mode()
    def _forward(self, names: Sequence[str]) -> dict[str, tuple[Tensor, bool]]:
        # split_special_tokens: an entity "[SEP]" is five characters, it does not end anything.
        tokens: list[list[int]] = self._tokenizer(list(names), split_special_tokens=True, verbose=False)["input_ids"]
        short: list[list[int]] = self._tokenizer(
            list(names), split_special_tokens=True, verbose=False, truncation=True, max_length=self.max_length
        )["input_ids"]
        found: dict[str, tuple[Tensor, bool]] = {}
        for batch in self._length_batches([len(entry) for entry in short]):
            states = self._model(torch.tensor([short[i] for i in batch], device=self.device)).last_hidden_state
            pooled = states.mean(1) if self.pooling == "mean" else states[:, 0]
            vectors = F.normalize(pooled.float(), dim=1)
            vectors = (vectors if self._head is None else self._head(vectors)).cpu()
            for index, vector in zip(batch, vectors, strict=True):
                # A clone, because a row of a batch would hold the batch.
                found[names[index]] = (vector.clone(), len(tokens[index]) > self.max_length)
        return found

    def _length_batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Indices of names with equally many tokens, at most `batch_tokens` together."""
        by_length: dict[int, list[int]] = {}
        for index, length in enumerate(lengths):
            by_length.setdefault(length, []).append(index)
        for length, indices in sorted(by_length.items()):
            size = max(1, self.max_batch_tokens // length)
            yield from (indices[start : start + size] for start in range(0, len(indices), size))


def _load_encoder(name: str, allow_download: bool) -> Any:
    """An encoder without its pooler; adapters and masks are no matter here, so any architecture will do."""
    if name.startswith(TINY_PREFIX):
        return tiny_model(name.removeprefix(TINY_PREFIX))
    bar = transformers_logging.is_progress_bar_enabled()
    if name == EMBEDDED_BACKBONE:  # it is there at once: nothing to show
        transformers_logging.disable_progress_bar()
    model: Any
    try:
        model, loaded = AutoModel.from_pretrained(
            resolve_backbone(name),
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=not allow_download,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise InputError(f"{name}: no entity encoder can be loaded from it ({reason}).") from error
    finally:
        if bar:
            transformers_logging.enable_progress_bar()
    if missing := sorted(key for key in loaded["missing_keys"] if not key.startswith("pooler.")):
        raise InputError(f"{name}: Expected the weights of an encoder but there is no {missing[0]!r}.")
    if hasattr(model, "pooler"):
        model.pooler = None  # of no use here, and random where the folder has none
    return model
