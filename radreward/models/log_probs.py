"""Log-probabilities of completions, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from radreward.data.collators.sft import TargetTokens
from radreward.data.packing import node_starts, pack
from radreward.devices import copy_to
from radreward.errors import check_choice
from radreward.models.transformers_attention import packed_inputs
from radreward.types import PackedBatch

CompletionPacking = Literal["tree", "rows"]
"""tree: one row for a prompt and its completions. rows: one row per completion."""

TOKENS_PER_CHUNK = 1024
"""Tokens of which float32 logits exist at a time: with a vocabulary of 128,000, they take 0.5 GB."""


def completion_log_probs(
    model: nn.Module,
    prompt: Sequence[int],
    completions: Sequence[Sequence[int]],
    temperature: float = 1.0,
    packing: CompletionPacking = "tree",
) -> Tensor:
    """Return the log-probabilities of the tokens of completions after one prompt.

    With packing "tree" the prompt is read once; values and gradients equal those of separate rows.

    Args:
        model: A causal language model of transformers, with or without adapters of peft.
        prompt: P > 0 token ids.
        completions: Token ids of each of G non-empty completions.
        temperature: Divisor of the logits, as in sampling.
        packing: See `CompletionPacking`.

    Returns:
        (G, T) float32, 0 after the end of a completion.

    Raises:
        ValueError: If the prompt or a completion is empty.

    >>> from radreward.models.tiny_backbones import tiny_model
    >>> model = tiny_model("llama", causal_lm=True)
    >>> completion_log_probs(model, [1, 70], [[71], [72, 73]]).shape
    torch.Size([2, 2])
    """
    check_choice("packing", packing, get_args(CompletionPacking))
    if not prompt or not completions or not all(completions):
        raise ValueError("Expected a non-empty prompt and non-empty completions.")
    if packing == "rows":
        parts = [_row_log_probs(model, prompt, [completion], temperature) for completion in completions]
    else:
        parts = [_row_log_probs(model, prompt, completions, temperature)]
    lengths = [len(completion) for completion in completions]
    return pad_sequence(list(torch.split(torch.cat(parts), lengths)), batch_first=True)


def rollout_log_probs(
    model: nn.Module,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    temperature: float = 1.0,
    packing: CompletionPacking = "tree",
    backward_per_prompt: bool = False,
) -> Tensor:
    """Return the (B, G, T) log-probabilities of G completions of each of B prompts, see `completion_log_probs`.

    With `backward_per_prompt`, the forward pass of a prompt is repeated in the backward pass, so that the activations
    of one prompt exist at a time. Gradients are the same.
    """

    def log_probs(prompt: Sequence[int], group: Sequence[Sequence[int]]) -> Tensor:
        return completion_log_probs(model, prompt, group, temperature, packing).T

    groups: list[Tensor] = [
        checkpoint(log_probs, prompt, group, use_reentrant=False) if backward_per_prompt else log_probs(prompt, group)
        for prompt, group in zip(prompts, completions, strict=True)
    ]
    return pad_sequence(groups, batch_first=True).transpose(1, 2)  # groups are (T, G)


def _row_log_probs(
    model: Any, prompt: Sequence[int], completions: Sequence[Sequence[int]], temperature: float
) -> Tensor:
    """Return the log-probabilities of all completions, one after the other."""
    causal_lm = unwrap_peft(model)
    packed = pack([[prompt, completion] for completion in completions]).to(causal_lm.device)
    # Each token is predicted by the one before it; the first of a completion by the last of the prompt.
    previous = torch.arange(len(packed.input_ids)) - 1
    starts = node_starts(packed)
    previous[[starts[node] for node in packed.leaf_nodes]] = len(prompt) - 1
    columns = copy_to(previous[len(prompt) :], causal_lm.device)
    logits = causal_lm(**packed_inputs(causal_lm, packed), logits_to_keep=columns).logits[0]
    return token_log_probs(logits, packed.input_ids[len(prompt) :], temperature)


def token_log_probs(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the (n,) float32 log-probabilities of tokens from (n, V) logits of any type.

    More than `TOKENS_PER_CHUNK` tokens are computed in chunks, and again in the backward pass, so that the logits of a
    chunk exist in float32, not those of all tokens.
    """
    if len(ids) <= TOKENS_PER_CHUNK:
        return _chunk_log_probs(logits, ids, temperature)
    chunks = zip(torch.split(logits, TOKENS_PER_CHUNK), torch.split(ids, TOKENS_PER_CHUNK), strict=True)
    return torch.cat([checkpoint(_chunk_log_probs, *chunk, temperature, use_reentrant=False) for chunk in chunks])


def _chunk_log_probs(logits: Tensor, ids: Tensor, temperature: float) -> Tensor:
    logits = logits.float()
    if temperature != 1.0:
        logits = logits / temperature
    return -F.cross_entropy(logits, ids, reduction="none")


def next_token_loss(model: Any, packed: PackedBatch, targets: TargetTokens) -> Tensor:
    """Return the () mean cross-entropy of the target tokens under a causal language model."""
    logits = model(**packed_inputs(model, packed), logits_to_keep=targets.columns).logits[0]
    return -token_log_probs(logits, targets.ids).mean()


def unwrap_peft(model: Any) -> Any:
    """Return the transformers model inside a model with adapters of peft, or the model itself without adapters."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
