"""How two sentences relate, from the states of their tokens: each sentence is encoded once, however often compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import (
    SentenceTokenizer,
    TokenBatch,
    TokenizedChunk,
    length_batches,
    max_chunk_tokens,
)
from radreward.systems.sentence_eval.few_shot import SCORES

MAX_BATCH_CELLS = 200_000
"""Cells of a batch of comparisons: tokens of one sentence by tokens of the other, padding included."""


class TokenStates(NamedTuple):
    """Tokens of sentences, padded."""

    values: Tensor
    """(P, L, width) float32."""
    mask: Tensor
    """(P, L) bool: what is a token."""


class RelationModel(nn.Module):
    r"""Chances that two sentences say the same, partly the same, the contrary, or nothing of each other.

    A token h of one sentence looks for its like in the other, a = Σ softmax(h·k / √d) k, and is compared with what it
    found, c = gelu(W [h, a, h - a, h ∘ a]); the mean and the maximum of c over the tokens, of both sentences together,
    decide (decomposable attention, Parikh et al., 2016, over the states of a pretrained encoder). Exchanging the
    sentences changes nothing.

    Args:
        backbone: What reads the sentences, one at a time.
        width: Numbers of a token's state that is compared.
        hidden: Numbers of a comparison.

    Raises:
        ValueError: If `width` or `hidden` is less than 1.
    """

    def __init__(self, backbone: Backbone, projection_size: int = 96, comparison_size: int = 128) -> None:
        super().__init__()
        for field, value in (("width", projection_size), ("hidden", comparison_size)):
            if value < 1:
                raise ValueError(f"Expected `{field}` to be >= 1 but got {value}.")
        self.backbone, self.projection_size, self.comparison_size = backbone, projection_size, comparison_size
        self.encoder = backbone.build(packed=False)
        self.config = backbone.config(packed=False)
        self.project = nn.Linear(self.config.hidden_size, projection_size)
        self.compare = nn.Sequential(nn.Linear(4 * projection_size, comparison_size))
        self.decide = nn.Sequential(
            nn.Linear(2 * comparison_size, comparison_size), nn.GELU(), nn.Linear(comparison_size, len(SCORES))
        )

    def token_states(self, batch: TokenBatch) -> Tensor:
        """(R, L, width) float32: what is compared of each token."""
        states: Tensor = self.encoder(**batch._asdict()).last_hidden_state
        projected: Tensor = self.project(states)
        return projected.float()

    def forward(self, first: TokenStates, second: TokenStates) -> Tensor:
        """(P, 4) logits of the scores of P pairs, in the order of `SCORES`."""
        likeness = first.values @ second.values.transpose(1, 2) / self.projection_size**0.5  # (P, L, M)
        means, tops = [], []
        for own, across, weight in ((first, second, likeness), (second, first, likeness.transpose(1, 2))):
            weight = weight.masked_fill(~across.mask[:, None], -torch.inf).softmax(2)
            compared = self._compare(own.values, weight @ across.values)  # (P, L, hidden)
            tokens = own.mask[..., None]
            means.append((compared * tokens).sum(1) / tokens.sum(1))
            tops.append(compared.masked_fill(~tokens, -torch.inf).amax(1))
        logits: Tensor = self.decide(torch.cat([means[0] + means[1], torch.maximum(*tops)], 1))
        return logits.float()

    def _compare(self, states: Tensor, attended: Tensor) -> Tensor:
        """gelu(W [h, a, h - a, h ∘ a]), (P, L, hidden): W [h, a, h - a] is (W₁ + W₃) h + (W₂ - W₃) a."""
        linear: Any = self.compare[0]
        first, second, third, fourth = linear.weight.split(self.projection_size, 1)
        summed = states @ (first + third).T + attended @ (second - third).T + (states * attended) @ fourth.T
        return F.gelu(summed + linear.bias)

    def trainable_keys(self) -> set[str]:
        """The entries of the state dict that training changes."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}


class RelationPredictor:
    """Chances of the relations of sentences, by a model and its tokenizer.

    A sentence of more tokens than the model has positions is read in parts, and compared as a whole.

    Args:
        model: What compares.
        tokenizer: That of its backbone.
    """

    def __init__(self, model: RelationModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model = model
        self.sentence_tokenizer = SentenceTokenizer(tokenizer, max_chunk_tokens(model.config))

    def encode(self, sentences: Sequence[str]) -> list[Tensor]:
        """(L, width) states of each sentence.

        Raises:
            ValueError: If a sentence has no token.
        """
        pieces = [self.sentence_tokenizer.chunks(row, text) for row, text in enumerate(sentences)]
        if not all(pieces):
            raise ValueError(f"Expected sentences that are not empty but got {sentences[pieces.index([])]!r}.")
        places = {(piece.sentence_index, piece.start): place for own in pieces for place, piece in enumerate(own)}
        found: list[list[Tensor]] = [[torch.empty(0)] * len(own) for own in pieces]
        for batch in length_batches([piece for own in pieces for piece in own]):
            for piece, states in zip(batch, self._chunk_states(batch), strict=True):
                found[piece.sentence_index][places[piece.sentence_index, piece.start]] = states[: len(piece.input_ids)]
        return [own[0] if len(own) == 1 else torch.cat(own) for own in found]

    def _chunk_states(self, chunks: list[TokenizedChunk]) -> Tensor:
        device = next(self.model.parameters()).device
        return self.model.token_states(
            TokenBatch(*(part.to(device) for part in self.sentence_tokenizer.collate(chunks)))
        )

    def logits(self, states: Sequence[Tensor], pairs: Sequence[tuple[int, int]]) -> Tensor:
        """(P, 4) logits of the scores of pairs of encoded sentences, in the order of `SCORES`."""
        lengths = [len(entry) for entry in states]
        found = torch.empty(len(pairs), len(SCORES))
        for rows in _pair_batches([(lengths[one], lengths[other]) for one, other in pairs]):
            sides = (_pad_states([states[pairs[row][side]] for row in rows]) for side in (0, 1))
            found[rows] = self.model(*sides).cpu()
        return found


def _pad_states(states: Sequence[Tensor]) -> TokenStates:
    lengths = torch.tensor([len(entry) for entry in states], device=states[0].device)
    values = pad_sequence(list(states), batch_first=True)
    return TokenStates(values, torch.arange(values.shape[1], device=lengths.device) < lengths[:, None])


def _pair_batches(lengths: Sequence[tuple[int, int]], max_cells: int = MAX_BATCH_CELLS) -> Iterator[list[int]]:
    """Places of pairs in batches of like lengths, each of so many cells at most, or of one pair."""
    batch: list[int] = []
    widest = (0, 0)
    for place in sorted(range(len(lengths)), key=lambda place: (max(lengths[place]), sum(lengths[place]))):
        wider = max(widest[0], lengths[place][0]), max(widest[1], lengths[place][1])
        if batch and wider[0] * wider[1] * (len(batch) + 1) > max_cells:
            yield batch
            batch, wider = [], lengths[place]
        batch.append(place)
        widest = wider
    if batch:
        yield batch
