"""Completions against a forward pass over the complete text for every token."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from radreward.data.tokenizer import byte_tokenizer
from radreward.models import Backbone, LoRA
from radreward.models.rollout_engine import Completion, SamplingParams
from radreward.models.transformers_engine import TransformersEngine

FAMILIES = ("llama", "qwen2", "gemma", "gemma2", "mistral", "phi")


def engine(family: str, batch_size: int = 3, lora: bool = False) -> TransformersEngine:
    torch.manual_seed(1)
    model = Backbone(f"tiny-{family}", lora=LoRA(r=2) if lora else None).build(causal_lm=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Scaled weights prefer some tokens; adapters start at zero: these do not.
            parameter.copy_(torch.randn_like(parameter) if "lora_B" in name else parameter * 3)
    return TransformersEngine(model, byte_tokenizer(encoder=False), batch_size)


def prompts() -> list[list[list[int]]]:
    generator = torch.Generator().manual_seed(2)

    def some(count: int) -> list[int]:
        return torch.randint(3, 250, (count,), generator=generator).tolist()

    reference = [1, *some(30)]  # longer than a sliding window
    return [
        [reference, some(1)],
        [[1], some(7)],
        [reference, some(9)],
        [[1, 4]],
        [reference[:1], reference[1:], some(4)],
    ]


def full_logits(model: nn.Module, prompt: Sequence[Sequence[int]], completion: Completion) -> Tensor:
    """Return (T, V) logits of a completion from one forward pass."""
    tokens = [token for piece in prompt for token in piece]
    with torch.no_grad():
        logits: Tensor = model(torch.tensor([[*tokens, *completion.tokens]]), use_cache=False).logits[0]
    return logits[len(tokens) - 1 : -1]


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_takes_the_most_likely_token(family: str) -> None:
    sampler = engine(family)
    for prompt, completion in zip(prompts(), sampler.greedy(prompts(), 6), strict=True):
        logits = full_logits(sampler.model, prompt, completion)
        assert logits.argmax(-1).tolist() == list(completion.tokens)
        logps = logits.log_softmax(-1).max(-1).values
        torch.testing.assert_close(torch.tensor(completion.logps), logps, atol=1e-4, rtol=1e-4)
        assert completion.finish_reason == ("stop" if completion.tokens[-1] == 2 else "length")


def test_greedy_uses_no_random_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = engine("llama")
    expected = sampler.greedy(prompts(), 4)
    monkeypatch.setattr(torch, "rand", None)
    assert sampler.greedy(prompts(), 4) == expected
    with pytest.raises(TypeError):
        sampler.sample(prompts(), SamplingParams(2, 4))


def test_greedy_uses_adapters() -> None:
    with_adapters, without = engine("llama", lora=True), engine("llama")
    completion = with_adapters.greedy(prompts()[:1], 5)[0]
    assert full_logits(with_adapters.model, prompts()[0], completion).argmax(-1).tolist() == list(completion.tokens)
    assert completion.logps != without.greedy(prompts()[:1], 5)[0].logps


def test_sample_depends_on_the_seed_not_on_batches() -> None:
    settings = SamplingParams(3, 8, 0.7, 0.9, seed=5)
    alone, together = engine("llama", 1).sample(prompts(), settings), engine("llama", 100).sample(prompts(), settings)
    tokens = [[completion.tokens for completion in group] for group in together]
    assert tokens == [[completion.tokens for completion in group] for group in alone]
    assert all(len(set(group)) > 1 for group in tokens)
    different = engine("llama", 100).sample(prompts(), replace(settings, seed=6))
    assert tokens != [[completion.tokens for completion in group] for group in different]


def test_sample_log_probabilities_include_the_temperature() -> None:
    sampler = engine("qwen2")
    for prompt, group in zip(prompts(), sampler.sample(prompts(), SamplingParams(2, 5, 0.5, 0.8)), strict=True):
        for completion in group:
            logps = (full_logits(sampler.model, prompt, completion) / 0.5).log_softmax(-1)
            chosen = logps.gather(1, torch.tensor(completion.tokens).unsqueeze(1)).flatten()
            torch.testing.assert_close(torch.tensor(completion.logps), chosen, atol=1e-4, rtol=1e-4)


def test_greedy_stop_text_ends_a_completion() -> None:
    sampler = engine("llama")
    unstopped = sampler.greedy(prompts()[:1], 12)[0]
    stop = unstopped.text[2:4]
    ended = sampler.greedy(prompts()[:1], 12, (stop,))[0]
    assert ended.finish_reason == "stop"
    assert ended.tokens == unstopped.tokens[: len(ended.tokens)]
    assert ended.text.endswith(stop)
    assert stop not in ended.text[:-1]


def test_greedy_leaves_the_model_unchanged() -> None:
    sampler = engine("llama")
    sampler.model.train()
    before = {name: value.clone() for name, value in sampler.model.state_dict().items()}
    sampler.greedy(prompts(), 2)
    assert sampler.model.training
    assert all(torch.equal(value, before[name]) for name, value in sampler.model.state_dict().items())


def test_greedy_without_prompts_returns_nothing() -> None:
    assert engine("llama").greedy([], 4) == []


def test_greedy_prompt_of_one_token_raises() -> None:
    with pytest.raises(ValueError, match="at least two tokens"):
        engine("llama").greedy([[[1]]], 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SamplingParams(0), "`num_completions`"),
        (SamplingParams(max_new_tokens=0), "`max_new_tokens`"),
        (SamplingParams(temperature=-1), "`temperature`"),
        (SamplingParams(top_p=0), "`top_p`"),
        (SamplingParams(2, temperature=0), "all completions are equal"),
    ],
)
def test_sample_invalid_parameter_raises(settings: SamplingParams, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine("llama").sample(prompts(), settings)
