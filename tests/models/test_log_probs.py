"""Log-probabilities and gradients of one shared row equal those of separate rows and plain sequences."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from radreward.models import Backbone, LoRA
from radreward.models.log_probs import completion_log_probs, rollout_log_probs, token_log_probs
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


def _saved_bytes(compute: Callable[[], Tensor]) -> tuple[Tensor, int]:
    """Return a result, and the bytes that its backward pass needs."""
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        return compute(), sum(storages.values())


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_token_log_probs_in_chunks_have_equal_gradients_and_save_no_float32_logits(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    logits, ids = torch.randn(50, 400).bfloat16().requires_grad_(), torch.randint(400, (50,))
    weights = torch.randn(50)
    expected, expected_bytes = _saved_bytes(lambda: token_log_probs(logits, ids, temperature))
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), logits)
    monkeypatch.setattr("radreward.models.log_probs.TOKENS_PER_CHUNK", 16)
    actual, actual_bytes = _saved_bytes(lambda: token_log_probs(logits, ids, temperature))
    (gradient,) = torch.autograd.grad((actual * weights).sum(), logits)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-6, atol=1e-6)
    assert expected_bytes >= 4 * 50 * 400
    assert actual_bytes <= 2 * 50 * 400 + 8 * 50


def test_rollout_log_probs_backward_per_prompt_has_equal_gradients_and_saves_no_activations() -> None:
    model: Any = Backbone("tiny-llama", LoRA(4)).build(causal_lm=True).train()
    prompts, completions = [PROMPT, PROMPT[:9]], [COMPLETIONS, COMPLETIONS[:1] * 3]
    expected, expected_bytes = _saved_bytes(lambda: rollout_log_probs(model, prompts, completions, 0.7))
    actual, actual_bytes = _saved_bytes(
        lambda: rollout_log_probs(model, prompts, completions, 0.7, backward_per_prompt=True)
    )
    assert torch.equal(actual, expected)
    assert actual_bytes < expected_bytes / 100
    expected_gradients = gradients(model, expected)
    for name, value in gradients(model, actual).items():
        torch.testing.assert_close(value, expected_gradients[name], rtol=1e-6, atol=1e-6)
