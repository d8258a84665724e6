"""Completions by a transformers model, in batches that share what prompts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedConfig, PreTrainedTokenizerBase

from radreward.data.packing import ancestors, pack
from radreward.models.attention import is_encoder, model_inputs, step_inputs
from radreward.models.rollout_engine import Completion, Prompt, RolloutEngine, Sampling, drawn
from radreward.types import PackedBatch

TAIL = 8
"""Tokens besides those of a text of `stop` that are decoded to look for it; text may begin inside a token."""


class TransformersEngine(RolloutEngine):
    """Decodes with a cache: one pass over the prompts as a tree, then a step for each token of all completions.

    Args:
        model: A causal language model, with or without adapters; as it is at each call.
        tokenizer: Its tokenizer.
        batch_size: Most completions that are decoded together.

    Raises:
        ValueError: If `batch_size` is not positive.
        InputError: If the architecture is not a decoder that reads trees.
    """

    def __init__(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, batch_size: int = 64) -> None:
        if batch_size < 1:
            raise ValueError(f"Expected `batch_size` to be >= 1 but got {batch_size}.")
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        self.config: PreTrainedConfig = model.config  # type: ignore[assignment]  # of every transformers model
        if is_encoder(self.config):
            raise ValueError(f"Expected a decoder but {self.config.model_type} writes no text.")
        self._ends = _ends(model, tokenizer)

    def sample(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """See `RolloutEngine.sample`."""
        sampling.check()
        for prompt in prompts:
            if sum(map(len, prompt)) < 2:
                raise ValueError("Expected prompts of at least two tokens.")
        shape = len(prompts), sampling.completions, sampling.max_new_tokens
        if sampling.temperature == 0:  # nothing is drawn
            uniform = torch.zeros(()).expand(shape)
        else:
            uniform = torch.rand(shape, generator=torch.Generator().manual_seed(sampling.seed))
        found: list[tuple[Completion, ...]] = [()] * len(prompts)
        each = max(1, self.batch_size // sampling.completions)
        order = _neighbours(prompts)
        with torch.no_grad(), _evaluated(self.model):
            for begin in range(0, len(order), each):
                chosen = order[begin : begin + each]
                batch = self._batch([prompts[place] for place in chosen], uniform[chosen], sampling)
                for place, completions in zip(chosen, batch, strict=True):
                    found[place] = completions
        return found

    def _batch(self, prompts: list[Prompt], uniform: Tensor, sampling: Sampling) -> list[tuple[Completion, ...]]:
        """Completions of some prompts; uniform is (prompts, G, T)."""
        device = next(self.model.parameters()).device
        state = self._prefill(prompts, sampling.completions, device)
        uniform = uniform.flatten(0, 1).to(device)
        tokens: list[list[int]] = [[] for _ in range(len(uniform))]
        logps: list[list[float]] = [[] for _ in range(len(uniform))]
        finish = ["length"] * len(uniform)
        rows = torch.arange(len(uniform), device=device)  # the completion of each row that still grows
        for step in range(sampling.max_new_tokens):
            logits = self._step(state)
            chosen, chances = drawn(logits.float(), uniform[rows, step], sampling.temperature, sampling.top_p)
            going = []
            for row, token, chance in zip(rows.tolist(), chosen.tolist(), chances.tolist(), strict=True):
                tokens[row].append(token)
                logps[row].append(chance)
                ended = token in self._ends or self._stopped(tokens[row], sampling.stop)
                finish[row] = "stop" if ended else "length"
                going.append(not ended)
            state.last = chosen
            if not any(going):
                break
            if not all(going):
                kept = torch.tensor(going, device=device)
                state.keep(kept)
                rows = rows[kept]
        made = [
            Completion(tuple(ids), tuple(chances), self._text(ids), why)
            for ids, chances, why in zip(tokens, logps, finish, strict=True)
        ]
        return [
            tuple(made[begin : begin + sampling.completions]) for begin in range(0, len(made), sampling.completions)
        ]

    def _prefill(self, prompts: list[Prompt], count: int, device: torch.device) -> _State:
        """Keys and values of all prompts but their last tokens, which the first step reads, for each completion."""
        lasts = [next(piece[-1] for piece in reversed(prompt) if piece) for prompt in prompts]
        paths = [_without_last(prompt) for prompt in prompts]
        packed = PackedBatch(*(part.to(device) for part in pack(paths, "tree")))
        cache = DynamicCache()
        inputs = model_inputs(packed, self.config, _dtype(self.model)) | {"use_cache": True, "past_key_values": cache}
        self.model(**inputs, logits_to_keep=1)
        columns, valid = _columns(packed)
        rows = packed.leaves[:, 0].unsqueeze(1)  # (C, 1) with columns (C, P)
        for layer in cache.layers:
            for name in ("keys", "values"):
                held = getattr(layer, name).transpose(1, 2)[rows, columns].transpose(1, 2)  # (C, H, P, D)
                setattr(layer, name, held.repeat_interleave(count, 0))
        lengths = valid.sum(1)
        positions = torch.arange(valid.shape[1], device=device).expand(valid.shape)
        return _State(
            cache,
            torch.tensor(lasts, device=device).repeat_interleave(count),
            positions.masked_fill(~valid, -1).repeat_interleave(count, 0),
            lengths.repeat_interleave(count),
        )

    def _step(self, state: _State) -> Tensor:
        """(B, V) logits behind the last tokens, which are read."""
        state.positions = torch.cat([state.positions, state.next.unsqueeze(1)], 1)
        inputs = step_inputs(state.last, state.next, state.positions, self.config, _dtype(self.model))
        logits: Tensor = self.model(**inputs, past_key_values=state.cache, use_cache=True).logits[:, -1]
        state.next = state.next + 1
        return logits

    def _stopped(self, tokens: list[int], stop: tuple[str, ...]) -> bool:
        return any(
            text in self.tokenizer.decode(tokens[-len(text) - TAIL :], skip_special_tokens=True) for text in stop
        )

    def _text(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class _State:
    """What decoding goes on from: B completions that still grow."""

    def __init__(self, cache: DynamicCache, last: Tensor, positions: Tensor, next_: Tensor) -> None:
        self.cache = cache
        self.last = last
        """(B,) tokens that are not read yet."""
        self.positions = positions
        """(B, K) position of each key, -1 where there is none."""
        self.next = next_
        """(B,) position of `last`."""

    def keep(self, rows: Tensor) -> None:
        """Drop the completions that have ended; rows is (B,) bool."""
        self.cache.batch_select_indices(rows.nonzero().flatten())
        self.last, self.positions, self.next = self.last[rows], self.positions[rows], self.next[rows]


def _neighbours(prompts: Sequence[Prompt]) -> list[int]:
    """Places of the prompts, those that share a beginning together, in order of first appearance."""
    known: dict[tuple[tuple[int, ...], ...], int] = {}
    keys = [known.setdefault(tuple(map(tuple, prompt[:-1])), len(known)) for prompt in prompts]
    return sorted(range(len(prompts)), key=lambda place: (keys[place], place))


def _without_last(prompt: Prompt) -> list[Sequence[int]]:
    pieces = [piece for piece in prompt if piece]
    pieces[-1] = pieces[-1][:-1]
    return [piece for piece in pieces if piece]


def _columns(packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Where in its row each token of a path stands, (C, P), and which of these exist."""
    seen = ancestors(packed.parents)[packed.leaves[:, 0], packed.leaves[:, 1]]  # (C, M)
    nodes = packed.nodes[packed.leaves[:, 0]]  # (C, L)
    own = seen.gather(1, nodes.clamp_min(0)) & (nodes >= 0)
    lengths = own.sum(1)
    first = torch.argsort((~own).byte(), dim=1, stable=True)[:, : int(lengths.max())]
    return first, torch.arange(first.shape[1], device=first.device) < lengths.unsqueeze(1)


def _ends(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Tokens that end an answer: the tokenizer's, and those of the model's settings, as chat models have several."""
    settings: Any = getattr(model, "generation_config", None)
    named: Any = getattr(settings, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)


def _dtype(model: nn.Module) -> torch.dtype:
    return next(parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())


@contextmanager
def _evaluated(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
