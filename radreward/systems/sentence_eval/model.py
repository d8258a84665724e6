"""Model of the relation of two sentences, by decomposable attention over token states. Encodes each sentence once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from radreward.data.relation_io import RELATION_SCORES
from radreward.data.tokenizer import TextTokenizer
from radreward.models.backbone import Backbone
from radreward.models.node_attention import attention
from radreward.models.sentence_tokenizer import (
    SentenceTokenizer,
    TokenBatch,
    TokenizedChunk,
    length_batches,
    max_chunk_tokens,
)

_MAX_BATCH_CELLS = 200_000
"""Maximum number of compared pairs of tokens per batch, including padding."""


class TokenStates(NamedTuple):
    """Padded token states of P sentences."""

    values: Tensor
    """(P, L, projection_size), in the precision of the comparison."""
    mask: Tensor
    """(P, L) bool: True for tokens."""


class RelationModel(nn.Module):
    r"""Classifier of the relation of two sentences: contradictory, unrelated, partially equal or equal.

    Each token h of a sentence attends to the tokens k of the other, a = Σ softmax(h·k / √d) k, and is compared with the
    result, c = gelu(W [h, a, h - a, h ∘ a]). The mean and the maximum of c over the tokens of both sentences are
    classified. This is decomposable attention (Parikh et al., 2016) over the states of a pretrained encoder; it is
    symmetric in the sentences.

    Args:
        backbone: Encoder of single sentences.
        projection_size: Dimension d of the projected token states.
        comparison_size: Dimension of c.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(self, backbone: Backbone, projection_size: int = 96, comparison_size: int = 128) -> None:
        super().__init__()
        for field, value in (("projection_size", projection_size), ("comparison_size", comparison_size)):
            if value < 1:
                raise ValueError(f"Expected `{field}` to be >= 1 but got {value}.")
        self.backbone, self.projection_size, self.comparison_size = backbone, projection_size, comparison_size
        self.encoder = backbone.build(packed=False)
        self.config = backbone.config(packed=False)
        self.project = nn.Linear(self.config.hidden_size, projection_size)
        self.compare = nn.Sequential(nn.Linear(4 * projection_size, comparison_size))
        self.decide = nn.Sequential(
            nn.Linear(2 * comparison_size, comparison_size), nn.GELU(), nn.Linear(comparison_size, len(RELATION_SCORES))
        )

    def token_states(self, batch: TokenBatch) -> Tensor:
        """Return the projected states of each token, (R, L, projection_size)."""
        states: Tensor = self.encoder(**batch._asdict()).last_hidden_state
        projected: Tensor = self.project(states.to(self.project.weight.dtype))
        return projected.to(self.project.weight.dtype)

    def forward(self, first: TokenStates, second: TokenStates) -> Tensor:
        """Return the (P, 4) logits of the scores of P pairs, in the order of `RELATION_SCORES`."""
        means, maxima = [], []
        for own, other in ((first, second), (second, first)):
            keys = other.values[:, None]
            attended = attention(own.values[:, None], keys, keys, other.mask[:, None, None])[:, 0]
            compared = self._compare(own.values, attended)  # (P, L, comparison_size)
            weights = own.mask / own.mask.sum(1, keepdim=True)
            means.append((weights.to(compared.dtype)[:, None] @ compared)[:, 0])
            maxima.append(compared.masked_fill(~own.mask[..., None], -torch.inf).amax(1))
        pooled = torch.cat([means[0] + means[1], torch.maximum(*maxima)], 1)
        first_layer: Any = self.decide[0]
        logits: Tensor = self.decide(pooled.to(first_layer.weight.dtype))
        return logits.float()

    def _compare(self, states: Tensor, attended: Tensor) -> Tensor:
        """Return gelu(W [h, a, h - a, h ∘ a]), with W [h, a, h - a] computed as (W₁ + W₃) h + (W₂ - W₃) a."""
        linear: Any = self.compare[0]
        w1, w2, w3, w4 = linear.weight.split(self.projection_size, 1)
        inputs = torch.cat([states, attended, states * attended], 2)
        return F.gelu(F.linear(inputs, torch.cat([w1 + w3, w2 - w3, w4], 1), linear.bias))

    def in_bfloat16(self) -> None:
        """Change the weights that encode and compare to bfloat16; those that decide keep their precision."""
        for part in (self.encoder, self.project, self.compare):
            part.to(torch.bfloat16)

    def trainable_names(self) -> set[str]:
        """Return the names of the weights that training changes."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}


class RelationPredictor:
    """Relation model with the tokenizer of its backbone.

    A sentence with more tokens than the encoder has positions is encoded in chunks, which are then joined.
    """

    def __init__(self, model: RelationModel, tokenizer: TextTokenizer) -> None:
        self.model = model
        self.sentence_tokenizer = SentenceTokenizer(tokenizer, max_chunk_tokens(model.config))

    def encode(self, sentences: Sequence[str]) -> list[Tensor]:
        """Return the (L, projection_size) token states of each sentence.

        Raises:
            ValueError: If a sentence is empty.
        """
        chunks = [self.sentence_tokenizer.chunks(index, text) for index, text in enumerate(sentences)]
        if not all(chunks):
            raise ValueError(f"Expected sentences that are not empty but got {sentences[chunks.index([])]!r}.")
        states: dict[tuple[int, int], Tensor] = {}
        for batch in length_batches([chunk for own in chunks for chunk in own]):
            for chunk, rows in zip(batch, self._chunk_states(batch), strict=True):
                states[chunk.sentence_index, chunk.start] = rows[: len(chunk.input_ids)]
        parts = ([states[chunk.sentence_index, chunk.start] for chunk in own] for own in chunks)
        return [own[0] if len(own) == 1 else torch.cat(own) for own in parts]

    def _chunk_states(self, chunks: list[TokenizedChunk]) -> Tensor:
        device = next(self.model.parameters()).device
        batch = self.sentence_tokenizer.collate(chunks)
        return self.model.token_states(TokenBatch(*(tensor.to(device) for tensor in batch)))

    def logits(self, states: Sequence[Tensor], pairs: Sequence[tuple[int, int]]) -> Tensor:
        """Return the (P, 4) logits of pairs of encoded sentences, in the order of `RELATION_SCORES`."""
        lengths = [len(entry) for entry in states]
        logits = torch.empty(len(pairs), len(RELATION_SCORES))
        for rows in _pair_batches([(lengths[first], lengths[second]) for first, second in pairs]):
            sides = (_pad_states([states[pairs[row][side]] for row in rows]) for side in (0, 1))
            logits[rows] = self.model(*sides).cpu()
        return logits


def _pad_states(states: Sequence[Tensor]) -> TokenStates:
    lengths = torch.tensor([len(entry) for entry in states], device=states[0].device)
    values = pad_sequence(list(states), batch_first=True)
    return TokenStates(values, torch.arange(values.shape[1], device=lengths.device) < lengths[:, None])


def _pair_batches(lengths: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield batches of indices of pairs of similar lengths, each of at most `_MAX_BATCH_CELLS` cells or of one pair."""
    batch: list[int] = []
    size = (0, 0)
    for index in sorted(range(len(lengths)), key=lambda index: (max(lengths[index]), sum(lengths[index]))):
        enlarged = max(size[0], lengths[index][0]), max(size[1], lengths[index][1])
        if batch and enlarged[0] * enlarged[1] * (len(batch) + 1) > _MAX_BATCH_CELLS:
            yield batch
            batch, enlarged = [], lengths[index]
        batch.append(index)
        size = enlarged
    if batch:
        yield batch
