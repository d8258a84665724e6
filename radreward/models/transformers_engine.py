"""Completions by a transformers model, in batches that read shared prefixes once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache, DynamicLayer, PreTrainedConfig, PreTrainedTokenizerBase

from radreward.data.packing import pack, paths_of
from radreward.devices import copy_to
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt, sample_tokens
from radreward.models.shared_prompts import SharedPrompts
from radreward.models.transformers_attention import decoding_inputs, is_encoder, packed_inputs
from radreward.types import PackedBatch

_STOP_LOOKBACK = 8
"""Tokens, in addition to the length of a stop text, that are decoded to search for it; it may start inside a token."""
_FREE_COLUMNS = 128
"""Columns by which the buffers of keys and values grow."""


class TransformersEngine(RolloutEngine):
    """Decoding with a cache: one pass over the prompts as a tree, then one step per token of all completions.

    Args:
        model: A causal language model, with or without adapters; each call uses its current weights.
        tokenizer: Its tokenizer.
        batch_size: Maximum number of completions that are decoded together.

    Raises:
        ValueError: If `batch_size` is not positive, or the model is an encoder.
        InputError: If the architecture cannot read trees.
    """

    def __init__(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase, batch_size: int = 64) -> None:
        if batch_size < 1:
            raise ValueError(f"Expected `batch_size` to be >= 1 but got {batch_size}.")
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.config: PreTrainedConfig = model.config  # type: ignore[assignment]  # of every transformers model
        if is_encoder(self.config):
            raise ValueError(f"Expected a decoder but got the encoder {self.config.model_type}.")
        self._eos_token_ids = _eos_token_ids(model, tokenizer)

    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """See `RolloutEngine.sample`."""
        params.validate()
        for prompt in prompts:
            if sum(map(len, prompt)) < 2:
                raise ValueError("Expected prompts of at least two tokens.")
        shape = len(prompts), params.num_completions, params.max_new_tokens
        if params.temperature == 0:  # greedy decoding uses no random numbers
            uniform = torch.zeros(()).expand(shape)
        else:
            uniform = torch.rand(shape, generator=torch.Generator().manual_seed(params.seed))
        completions: list[tuple[Completion, ...]] = [()] * len(prompts)
        prompts_per_batch = max(1, self.batch_size // params.num_completions)
        order = _prefix_order(prompts)
        with torch.no_grad(), _eval_mode(self.model):
            for start in range(0, len(order), prompts_per_batch):
                indices = order[start : start + prompts_per_batch]
                batch = self._decode_batch([prompts[index] for index in indices], uniform[indices], params)
                for index, group in zip(indices, batch, strict=True):
                    completions[index] = group
        return completions

    def _decode_batch(
        self, prompts: list[TokenizedPrompt], uniform: Tensor, params: SamplingParams
    ) -> list[tuple[Completion, ...]]:
        """Return the completions of some prompts; uniform is (prompts, G, T)."""
        device = next(self.model.parameters()).device
        state = self._prefill(prompts, params.num_completions, device)
        uniform = uniform.flatten(0, 1).to(device)
        tokens: list[list[int]] = [[] for _ in range(len(uniform))]
        logps: list[list[float]] = [[] for _ in range(len(uniform))]
        finish_reasons = ["length"] * len(uniform)
        rows = torch.arange(len(uniform), device=device)  # the completion of each row that is still growing
        for step in range(params.max_new_tokens):
            logits = self._step(state)
            next_tokens, next_logps = sample_tokens(
                logits.float(), uniform[rows, step], params.temperature, params.top_p
            )
            growing = []
            for row, token, logp in zip(rows.tolist(), next_tokens.tolist(), next_logps.tolist(), strict=True):
                tokens[row].append(token)
                logps[row].append(logp)
                ended = token in self._eos_token_ids or self._has_stop_string(tokens[row], params.stop)
                finish_reasons[row] = "stop" if ended else "length"
                growing.append(not ended)
            state.last_tokens = next_tokens
            if not any(growing):
                break
            if not all(growing):
                state.select(growing)
                rows = rows[torch.tensor(growing, device=device)]
        completions = [
            Completion(tuple(ids), tuple(values), self._decode_text(ids), reason)
            for ids, values, reason in zip(tokens, logps, finish_reasons, strict=True)
        ]
        size = params.num_completions
        return [tuple(completions[start : start + size]) for start in range(0, len(completions), size)]

    def _prefill(self, prompts: list[TokenizedPrompt], num_completions: int, device: torch.device) -> _DecodingState:
        """Compute keys and values of all prompts except their last tokens, which `_step` reads."""
        last_tokens = [next(piece[-1] for piece in reversed(prompt) if piece) for prompt in prompts]
        paths = [_drop_last_token(prompt) for prompt in prompts]
        packed = pack(paths).to(device)
        cache = DynamicCache()
        inputs = packed_inputs(self.model, packed) | {"use_cache": True, "past_key_values": cache}
        self.model(**inputs, logits_to_keep=1)
        columns, is_token = _path_columns(packed)  # (P, K)
        layers = tuple(
            (_of_prompts(keys, columns), _of_prompts(values, columns))
            for keys, values, *_ in cache  # of T tokens
        )
        rows = torch.arange(len(prompts), device=device).repeat_interleave(num_completions)
        cache.layers = [_GrowingLayer(keys[rows, :, :0], values[rows, :, :0]) for keys, values in layers]
        positions = torch.arange(is_token.shape[1], device=device).expand(is_token.shape)
        return _DecodingState(
            cache,
            SharedPrompts.create(layers, tuple(rows.tolist())),
            torch.tensor(last_tokens, device=device)[rows],
            positions.masked_fill(~is_token, -1)[rows],
            is_token.sum(1)[rows],
        )

    def _step(self, state: _DecodingState) -> Tensor:
        """Read the last tokens and return the (B, V) logits of the next."""
        state.key_positions = torch.cat([state.key_positions, state.next_positions.unsqueeze(1)], 1)
        dtype = next(parameter.dtype for parameter in self.model.parameters() if parameter.is_floating_point())
        inputs = decoding_inputs(state.last_tokens, state.next_positions, state.key_positions, self.config, dtype)
        inputs["shared_prompts"] = state.prompts
        logits: Tensor = self.model(**inputs, past_key_values=state.cache, use_cache=True).logits[:, -1]
        state.next_positions = state.next_positions + 1
        return logits

    def _has_stop_string(self, tokens: list[int], stop: tuple[str, ...]) -> bool:
        return any(
            text in self.tokenizer.decode(tokens[-len(text) - _STOP_LOOKBACK :], skip_special_tokens=True)
            for text in stop
        )

    def _decode_text(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class _GrowingLayer(DynamicLayer):
    """Keys and values of one layer, (B, H, L, D) each, in preallocated buffers; appending copies only the new token."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # of transformers
        self.is_initialized = True
        self._buffers = [keys, values]
        self._length = keys.shape[2]
        self._expose()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append keys and values of the next tokens, and return all."""
        start = self._length
        self._length += key_states.shape[2]
        for index, states in enumerate((key_states, value_states)):
            if self._length > self._buffers[index].shape[2]:
                self._buffers[index] = F.pad(self._buffers[index], (0, 0, 0, _FREE_COLUMNS))
            self._buffers[index][:, :, start : self._length] = states
        return self._expose()

    def batch_select_indices(self, indices: Tensor) -> None:
        """Select rows of the batch."""
        self._buffers = [buffer[indices] for buffer in self._buffers]
        self._expose()

    def _expose(self) -> tuple[Tensor, Tensor]:
        """Set and return the used columns, which transformers reads."""
        self.keys, self.values = (buffer[:, :, : self._length] for buffer in self._buffers)
        return self.keys, self.values


@dataclass(slots=True)
class _DecodingState:
    """State of B completions that are still growing."""

    cache: DynamicCache
    """Keys and values of the tokens of the completions."""
    prompts: SharedPrompts
    last_tokens: Tensor
    """(B,) tokens that are not read yet."""
    key_positions: Tensor
    """(B, K) position of each key, -1 for padding."""
    next_positions: Tensor
    """(B,) positions of `last_tokens`."""

    def select(self, growing: list[bool]) -> None:
        """Drop completions that have ended."""
        rows = torch.tensor(growing, device=self.last_tokens.device)
        self.prompts = self.prompts.select(growing)
        self.cache.batch_select_indices(rows.nonzero().flatten())
        self.last_tokens = self.last_tokens[rows]
        self.key_positions = self.key_positions[rows]
        self.next_positions = self.next_positions[rows]


def _prefix_order(prompts: Sequence[TokenizedPrompt]) -> list[int]:
    """Return the indices of the prompts, grouped by shared prefix, in order of first appearance."""
    groups: dict[tuple[tuple[int, ...], ...], int] = {}
    keys = [groups.setdefault(tuple(map(tuple, prompt[:-1])), len(groups)) for prompt in prompts]
    return sorted(range(len(prompts)), key=lambda index: (keys[index], index))


def _drop_last_token(prompt: TokenizedPrompt) -> list[Sequence[int]]:
    pieces = [piece for piece in prompt if piece]
    pieces[-1] = pieces[-1][:-1]
    return [piece for piece in pieces if piece]


def _of_prompts(states: Tensor, columns: Tensor) -> Tensor:
    """Return (1, H, T, D) keys or values as (P, H, K, D) by the (P, K) columns of each prompt."""
    return states[0, :, columns].transpose(0, 1).contiguous()


def _path_columns(packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Return the (C, P) indices of each path's tokens, and a (C, P) mask that excludes padding."""
    nodes = torch.split(torch.arange(len(packed.input_ids)), list(packed.node_lengths))
    columns = [torch.cat([nodes[node] for node in path]) for path in paths_of(packed)]
    padded = copy_to(pad_sequence(columns, batch_first=True, padding_value=-1), packed.input_ids.device)
    return padded.clamp_min(0), padded >= 0


def _eos_token_ids(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return the end tokens of the tokenizer and of the model's settings; chat models have several."""
    config: Any = getattr(model, "generation_config", None)
    eos: Any = getattr(config, "eos_token_id", None)
    ids = eos if isinstance(eos, list) else [eos]
    return frozenset(token for token in (*ids, tokenizer.eos_token_id) if token is not None)


@contextmanager
def _eval_mode(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
