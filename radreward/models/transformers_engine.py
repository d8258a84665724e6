"""Completions by a transformers model, in batches that share what prompts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedConfig, PreTrainedTokenizerBase

from radreward.data.packing import ancestor_mask, pack
from radreward.models.attention import decoding_inputs, is_encoder, model_inputs
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt, sample_tokens
from radreward.types import PackedBatch

STOP_LOOKBACK = 8
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
        self._eos_token_ids = _eos_token_ids(model, tokenizer)

    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """See `RolloutEngine.sample`."""
        params.validate()
        for prompt in prompts:
            if sum(map(len, prompt)) < 2:
                raise ValueError("Expected prompts of at least two tokens.")
        shape = len(prompts), params.num_completions, params.max_new_tokens
        if params.temperature == 0:  # nothing is drawn
            uniform = torch.zeros(()).expand(shape)
        else:
            uniform = torch.rand(shape, generator=torch.Generator().manual_seed(params.seed))
        found: list[tuple[Completion, ...]] = [()] * len(prompts)
        each = max(1, self.batch_size // params.num_completions)
        order = _prefix_order(prompts)
        with torch.no_grad(), _eval_mode(self.model):
            for begin in range(0, len(order), each):
                chosen = order[begin : begin + each]
                batch = self._decode_batch([prompts[place] for place in chosen], uniform[chosen], params)
                for place, completions in zip(chosen, batch, strict=True):
                    found[place] = completions
        return found

    def _decode_batch(
        self, prompts: list[TokenizedPrompt], uniform: Tensor, params: SamplingParams
    ) -> list[tuple[Completion, ...]]:
        """Completions of some prompts; uniform is (prompts, G, T)."""
        device = next(self.model.parameters()).device
        state = self._prefill(prompts, params.num_completions, device)
        uniform = uniform.flatten(0, 1).to(device)
        tokens: list[list[int]] = [[] for _ in range(len(uniform))]
        logps: list[list[float]] = [[] for _ in range(len(uniform))]
        finish = ["length"] * len(uniform)
        rows = torch.arange(len(uniform), device=device)  # the completion of each row that still grows
        for step in range(params.max_new_tokens):
            logits = self._step(state)
            chosen, chances = sample_tokens(logits.float(), uniform[rows, step], params.temperature, params.top_p)
            going = []
            for row, token, chance in zip(rows.tolist(), chosen.tolist(), chances.tolist(), strict=True):
                tokens[row].append(token)
                logps[row].append(chance)
                ended = token in self._eos_token_ids or self._has_stop_string(tokens[row], params.stop)
                finish[row] = "stop" if ended else "length"
                going.append(not ended)
            state.last_tokens = chosen
            if not any(going):
                break
            if not all(going):
                kept = torch.tensor(going, device=device)
                state.select(kept)
                rows = rows[kept]
        made = [
            Completion(tuple(ids), tuple(chances), self._decode_text(ids), why)
            for ids, chances, why in zip(tokens, logps, finish, strict=True)
        ]
        return [
            tuple(made[begin : begin + params.num_completions]) for begin in range(0, len(made), params.num_completions)
        ]

    def _prefill(self, prompts: list[TokenizedPrompt], num_completions: int, device: torch.device) -> _DecodingState:
        """Keys and values of all prompts but their last tokens, which the first step reads, for each completion."""
        lasts = [next(piece[-1] for piece in reversed(prompt) if piece) for prompt in prompts]
        paths = [_drop_last_token(prompt) for prompt in prompts]
        packed = PackedBatch(*(part.to(device) for part in pack(paths, "tree")))
        cache = DynamicCache()
        inputs = model_inputs(packed, self.config, _model_dtype(self.model)) | {
            "use_cache": True,
            "past_key_values": cache,
        }
        self.model(**inputs, logits_to_keep=1)
        columns, valid = _path_columns(packed)
        rows = packed.candidate_nodes[:, 0].unsqueeze(1)  # (C, 1) with columns (C, P)
        for layer in cache.layers:
            for name in ("keys", "values"):
                held = getattr(layer, name).transpose(1, 2)[rows, columns].transpose(1, 2)  # (C, H, P, D)
                setattr(layer, name, held.repeat_interleave(num_completions, 0))
        lengths = valid.sum(1)
        positions = torch.arange(valid.shape[1], device=device).expand(valid.shape)
        return _DecodingState(
            cache,
            torch.tensor(lasts, device=device).repeat_interleave(num_completions),
            positions.masked_fill(~valid, -1).repeat_interleave(num_completions, 0),
            lengths.repeat_interleave(num_completions),
        )

    def _step(self, state: _DecodingState) -> Tensor:
        """(B, V) logits behind the last tokens, which are read."""
        state.key_positions = torch.cat([state.key_positions, state.next_positions.unsqueeze(1)], 1)
        inputs = decoding_inputs(
            state.last_tokens, state.next_positions, state.key_positions, self.config, _model_dtype(self.model)
        )
        logits: Tensor = self.model(**inputs, past_key_values=state.cache, use_cache=True).logits[:, -1]
        state.next_positions = state.next_positions + 1
        return logits

    def _has_stop_string(self, tokens: list[int], stop: tuple[str, ...]) -> bool:
        return any(
            text in self.tokenizer.decode(tokens[-len(text) - STOP_LOOKBACK :], skip_special_tokens=True)
            for text in stop
        )

    def _decode_text(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class _DecodingState:
    """What decoding goes on from: B completions that still grow."""

    def __init__(self, cache: DynamicCache, last: Tensor, positions: Tensor, next_: Tensor) -> None:
        self.cache = cache
        self.last_tokens = last
        """(B,) tokens that are not read yet."""
        self.key_positions = positions
        """(B, K) position of each key, -1 where there is none."""
        self.next_positions = next_
        """(B,) position of `last`."""

    def select(self, rows: Tensor) -> None:
        """Drop the completions that have ended; rows is (B,) bool."""
        self.cache.batch_select_indices(rows.nonzero().flatten())
        self.last_tokens, self.key_positions, self.next_positions = (
            self.last_tokens[rows],
            self.key_positions[rows],
            self.next_positions[rows],
        )


def _prefix_order(prompts: Sequence[TokenizedPrompt]) -> list[int]:
    """Places of the prompts, those that share a beginning together, in order of first appearance."""
    known: dict[tuple[tuple[int, ...], ...], int] = {}
    keys = [known.setdefault(tuple(map(tuple, prompt[:-1])), len(known)) for prompt in prompts]
    return sorted(range(len(prompts)), key=lambda place: (keys[place], place))


def _drop_last_token(prompt: TokenizedPrompt) -> list[Sequence[int]]:
    pieces = [piece for piece in prompt if piece]
    pieces[-1] = pieces[-1][:-1]
    return [piece for piece in pieces if piece]


def _path_columns(packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Where in its row each token of a path stands, (C, P), and which of these exist."""
    seen = ancestor_mask(packed.parent_ids)[packed.candidate_nodes[:, 0], packed.candidate_nodes[:, 1]]  # (C, M)
    nodes = packed.node_ids[packed.candidate_nodes[:, 0]]  # (C, L)
    own = seen.gather(1, nodes.clamp_min(0)) & (nodes >= 0)
    lengths = own.sum(1)
    first = torch.argsort((~own).byte(), dim=1, stable=True)[:, : int(lengths.max())]
    return first, torch.arange(first.shape[1], device=first.device) < lengths.unsqueeze(1)


def _eos_token_ids(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Tokens that end an answer: the tokenizer's, and those of the model's settings, as chat models have several."""
    settings: Any = getattr(model, "generation_config", None)
    named: Any = getattr(settings, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)


def _model_dtype(model: nn.Module) -> torch.dtype:
    return next(parameter.dtype for parameter in model.parameters() if parameter.is_floating_point())


@contextmanager
def _eval_mode(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
