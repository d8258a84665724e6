"""Log-probabilities and gradients of one shared row equal those of separate rows and plain sequences."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from radreward.models import Backbone, LoRA
from radreward.models.log_probs import completion_log_probs
from radreward.models.tiny_backbones import tiny_model

PROMPT = [1, *range(10, 50)]
COMPLETIONS = [[60, 61, 62, 63, 2], [70], [60, 61, 99, *range(100, 130)]]
FAMILIES = ["gemma", "gemma2", "llama", "mistral", "phi", "qwen2"]


def plain(model: nn.Module, temperature: float = 1.0) -> Tensor:
    """Return log-probabilities of a plain forward pass, one sequence at a time."""
    rows = []
    for completion in COMPLETIONS:
        tokens = torch.tensor([[*PROMPT, *completion]])
        logits = (model(input_ids=tokens).logits[0].float() / temperature).log_softmax(-1)
        rows.append(torch.stack([logits[len(PROMPT) + t - 1, token] for t, token in enumerate(completion)]))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def gradients(model: nn.Module, values: Tensor) -> dict[str, Tensor]:
    weights = torch.linspace(-1, 2, values.numel()).view_as(values)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    grads = torch.autograd.grad((values * weights).sum(), list(trained.values()), allow_unused=True)
    return {name: grad for name, grad in zip(trained, grads, strict=True) if grad is not None}


def assert_same_gradients(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(actual[name], value, rtol=1e-4, atol=1e-5 * float(value.abs().max()) + 1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_completion_log_probs_tree_rows_and_sequences_agree(family: str) -> None:
    model: Any = tiny_model(family, causal_lm=True)
    expected = plain(model, 0.7)
    expected_gradients = gradients(model, expected)
    for packing in ("tree", "rows"):
        actual = completion_log_probs(model, PROMPT, COMPLETIONS, 0.7, packing)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
        assert_same_gradients(gradients(model, actual), expected_gradients)


def test_completion_log_probs_gradient_checkpointing_keeps_gradients() -> None:
    twice: Any = Backbone("tiny-llama", LoRA(4), gradient_checkpointing=True).build(causal_lm=True).train()
    once: Any = Backbone("tiny-llama", LoRA(4)).build(causal_lm=True).train()
    once.load_state_dict(twice.state_dict())
    expected_gradients = gradients(once, completion_log_probs(once, PROMPT, COMPLETIONS))
    assert expected_gradients
    assert_same_gradients(gradients(twice, completion_log_probs(twice, PROMPT, COMPLETIONS)), expected_gradients)


@pytest.mark.parametrize(("prompt", "completions"), [([], [[1]]), ([1], [[]]), ([1], [])])
def test_completion_log_probs_empty_input_raises(prompt: list[int], completions: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        completion_log_probs(tiny_model("llama", causal_lm=True), prompt, completions)
