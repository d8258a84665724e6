"""Random decoders, tokens and CPU timing, shared by the benchmarks of training steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaConfig, PreTrainedTokenizerFast


class ModelSize(NamedTuple):
    """Size of a random decoder."""

    width: int = 256
    layers: int = 4
    vocabulary: int = 1000


Gradients = dict[str, torch.Tensor]


def llama_config(size: ModelSize, eos_token_id: int | None) -> LlamaConfig:
    """Return the architecture of a random decoder."""
    return LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.width * 8 // 3,
        num_hidden_layers=size.layers,
        num_attention_heads=4,
        pad_token_id=0,
        eos_token_id=eos_token_id,
        bos_token_id=None,
    )


def special_tokenizer(special_tokens: Mapping[str, str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer of special tokens only: the benchmarks use token ids."""
    vocabulary = {token: index for index, token in enumerate(special_tokens.values())}
    words = Tokenizer(WordLevel(vocabulary, special_tokens["unk_token"]))
    options: dict[str, Any] = dict(special_tokens)
    return PreTrainedTokenizerFast(tokenizer_object=words, **options)


def random_tokens(length: int, vocabulary: int, source: torch.Generator, spread: float = 0.1) -> list[int]:
    """Return random token ids from 3, of a length that varies by the fraction `spread`."""
    factor = 1 + spread * (2 * float(torch.rand((), generator=source)) - 1)
    tokens: list[int] = torch.randint(3, vocabulary, (max(1, round(length * factor)),), generator=source).tolist()
    return tokens


def relative_difference(actual: Gradients, expected: Gradients) -> float:
    """Return the norm of the difference of all gradients, relative to that of the expected ones."""
    assert actual.keys() == expected.keys()
    difference = math.sqrt(sum(float((actual[name] - value).square().sum()) for name, value in expected.items()))
    return difference / math.sqrt(sum(float(value.square().sum()) for value in expected.values()))


def backward_call(model: nn.Module, step: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """Return a call that computes the gradients of the loss that `step` returns."""

    def call() -> None:
        model.zero_grad()
        torch.autograd.backward(step())

    return call


def cpu_milliseconds(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the CPU milliseconds of each call in each round; calls take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(1000 * (time.process_time() - start))
    return times


class RolloutTokens(NamedTuple):
    """Prompts, their completions and the advantages of these."""

    prompts: list[list[int]]
    completions: list[list[list[int]]]
    advantages: torch.Tensor
    """(B, G)."""


def peer_inputs(batch: RolloutTokens) -> dict[str, torch.Tensor]:
    """Return rows in the form of TRL's trainer: prompts padded on the left, completions on the right."""
    rows = [
        (prompt, completion)
        for prompt, group in zip(batch.prompts, batch.completions, strict=True)
        for completion in group
    ]

    def padded(pieces: list[list[int]], side: str) -> tuple[torch.Tensor, torch.Tensor]:
        ids = pad_sequence([torch.tensor(piece) for piece in pieces], batch_first=True, padding_side=side)
        ones = [torch.ones(len(piece), dtype=torch.int64) for piece in pieces]
        return ids, pad_sequence(ones, batch_first=True, padding_side=side)

    prompt_ids, prompt_mask = padded([prompt for prompt, _ in rows], "left")
    completion_ids, completion_mask = padded([completion for _, completion in rows], "right")
    return {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
        "advantages": batch.advantages.flatten(),
        "num_items_in_batch": completion_mask.sum(),
    }
