"""How likely a model finds completions of a prompt, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models.attention import model_inputs
from radreward.models.tree_attention import TreeLayout, enable_tree_attention

CompletionPacking = Literal["tree", "rows"]
"""tree: one row for a prompt and its completions. rows: a row for each."""

_NO_MASK = torch.zeros(1, 1, 1, 1)  # 4-D: transformers makes none of its own


def completion_log_probs(
    model: nn.Module,
    prompt: Sequence[int],
    completions: Sequence[Sequence[int]],
    temperature: float = 1.0,
    packing: CompletionPacking = "tree",
) -> Tensor:
    """Log-probabilities of the tokens of completions after one prompt.

    Packed, the prompt is read once: the same values and gradients as from separate rows.

    Args:
        model: A model of transformers with a language-model head, adapters of peft in it or not.
        prompt: P > 0 token ids.
        completions: Token ids of each of G completions, none of them empty.
        temperature: By which logits are divided, as in drawing.
        packing: How completions stand in rows.

    Returns:
        (G, T) float32, 0 behind the end of a completion.

    Raises:
        ValueError: If the prompt or a completion is empty.

    >>> from radreward.models.tiny_backbones import tiny_model
    >>> model = tiny_model("llama", writes=True)
    >>> completion_logps(model, [1, 70], [[71], [72, 73]]).shape
    torch.Size([2, 2])
    """
    if not prompt or not completions or not all(completions):
        raise ValueError("Expected a prompt and completions that are not empty.")
    if packing == "rows":
        parts = [_row_log_probs(model, prompt, [completion], temperature) for completion in completions]
    else:
        parts = [_row_log_probs(model, prompt, completions, temperature)]
    lengths = [len(completion) for completion in completions]
    return pad_sequence(list(torch.split(torch.cat(parts), lengths)), batch_first=True)


def _row_log_probs(
    model: Any, prompt: Sequence[int], completions: Sequence[Sequence[int]], temperature: float
) -> Tensor:
    """(sum of the lengths) log-probabilities, completion after completion."""
    causal = unwrap_peft(model)
    device = causal.device
    tree = TreeLayout.from_lengths(len(prompt), [len(completion) for completion in completions])
    tokens = torch.tensor([token for piece in (prompt, *completions) for token in piece], device=device)
    if enable_tree_attention(causal):
        inputs: dict[str, Any] = {
            "input_ids": tokens.unsqueeze(0),
            "position_ids": tree.position_ids(device),
            "attention_mask": _NO_MASK.to(device),
            "tree": tree,
            "use_cache": False,
        }
    else:
        packed = pack([[prompt, completion] for completion in completions], "tree")
        inputs = model_inputs(type(packed)(*(part.to(device) for part in packed)), causal.config, causal.dtype)
    # A token is predicted by the one before it, the first of a completion by the last of the prompt.
    before = torch.arange(len(tokens), device=device) - 1
    before[[tree.prompt_length, *tree.completion_ends[:-1]]] = tree.prompt_length - 1
    logits = causal(**inputs, logits_to_keep=before[tree.prompt_length :]).logits[0].float() / temperature
    logps: Tensor = logits.gather(1, tokens[tree.prompt_length :].unsqueeze(1)).squeeze(1) - logits.logsumexp(1)
    return logps


def unwrap_peft(model: Any) -> Any:
    """The model of transformers, in which peft's adapters are."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def adapters_disabled(model: Any) -> AbstractContextManager[Any]:
    """The model as it was before its adapters were trained, without a second copy of the weights.

    Raises:
        InputError: If it has none.
    """
    if not hasattr(model, "disable_adapter"):
        raise InputError("Expected a model with adapters: without them its state before training is not kept.")
    context: AbstractContextManager[Any] = model.disable_adapter()
    return context
