"""Completions against a pass over the whole text for every token."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from radreward.data.tokenizer import load_tokenizer
from radreward.models import Backbone, LoRA
from radreward.models.rollout_engine import Completion, SamplingParams, sample_tokens
from radreward.models.transformers_engine import TransformersEngine

FAMILIES = ("llama", "qwen2", "gemma", "gemma2", "mistral", "phi")


def engine(family: str, batch_size: int = 3, lora: bool = False) -> TransformersEngine:
    torch.manual_seed(1)
    model = Backbone(f"tiny-{family}", lora=LoRA(r=2) if lora else None).build(causal_lm=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Random weights prefer no token: these do. Adapters begin as nothing: these do not.
            parameter.copy_(torch.randn_like(parameter) if "lora_B" in name else parameter * 3)
    return TransformersEngine(model, load_tokenizer(f"tiny-{family}"), batch_size)


def prompts() -> list[list[list[int]]]:
    generator = torch.Generator().manual_seed(2)

    def some(count: int) -> list[int]:
        return torch.randint(3, 250, (count,), generator=generator).tolist()

    reference = [1, *some(30)]  # longer than the window of those that have one
    return [
        [reference, some(1)],
        [[1], some(7)],
        [reference, some(9)],
        [[1, 4]],
        [reference[:1], reference[1:], some(4)],
    ]


def apart(model: nn.Module, prompt: Sequence[Sequence[int]], completion: Completion) -> Tensor:
    """(T, V) logits of a completion from one pass over everything."""
    tokens = [token for piece in prompt for token in piece]
    with torch.no_grad():
        logits: Tensor = model(torch.tensor([[*tokens, *completion.tokens]]), use_cache=False).logits[0]
    return logits[len(tokens) - 1 : -1]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_likeliest_token_is_taken_each_time(family: str) -> None:
    made = engine(family)
    for prompt, completion in zip(prompts(), made.greedy(prompts(), 6), strict=True):
        logits = apart(made.model, prompt, completion)
        assert logits.argmax(-1).tolist() == list(completion.tokens)
        logps = logits.log_softmax(-1).max(-1).values
        torch.testing.assert_close(torch.tensor(completion.logps), logps, atol=1e-4, rtol=1e-4)
        assert completion.finish_reason == ("stop" if completion.tokens[-1] == 2 else "length")


def test_no_number_is_drawn_for_the_likeliest_token(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine("llama")
    expected = made.greedy(prompts(), 4)
    monkeypatch.setattr(torch, "rand", None)
    assert made.greedy(prompts(), 4) == expected
    with pytest.raises(TypeError):
        made.sample(prompts(), SamplingParams(2, 4))


def test_adapters_take_part() -> None:
    with_adapters, without = engine("llama", lora=True), engine("llama")
    completion = with_adapters.greedy(prompts()[:1], 5)[0]
    assert apart(with_adapters.model, prompts()[0], completion).argmax(-1).tolist() == list(completion.tokens)
    assert completion.logps != without.greedy(prompts()[:1], 5)[0].logps


def test_draws_do_not_depend_on_batches_and_follow_the_seed() -> None:
    settings = SamplingParams(3, 8, 0.7, 0.9, seed=5)
    alone, together = engine("llama", 1).sample(prompts(), settings), engine("llama", 100).sample(prompts(), settings)
    tokens = [[completion.tokens for completion in group] for group in together]
    assert tokens == [[completion.tokens for completion in group] for group in alone]
    assert all(len(set(group)) > 1 for group in tokens)
    other = engine("llama", 100).sample(prompts(), settings._replace(seed=6))
    assert tokens != [[completion.tokens for completion in group] for group in other]


def test_log_probabilities_are_of_the_tempered_model() -> None:
    made = engine("qwen2")
    for prompt, group in zip(prompts(), made.sample(prompts(), SamplingParams(2, 5, 0.5, 0.8)), strict=True):
        for completion in group:
            logps = (apart(made.model, prompt, completion) / 0.5).log_softmax(-1)
            chosen = logps.gather(1, torch.tensor(completion.tokens).unsqueeze(1)).flatten()
            torch.testing.assert_close(torch.tensor(completion.logps), chosen, atol=1e-4, rtol=1e-4)


def test_a_text_of_stop_ends_a_completion() -> None:
    made = engine("llama")
    whole = made.greedy(prompts()[:1], 12)[0]
    stop = whole.text[2:4]
    ended = made.greedy(prompts()[:1], 12, (stop,))[0]
    assert ended.finish_reason == "stop"
    assert ended.tokens == whole.tokens[: len(ended.tokens)]
    assert ended.text.endswith(stop)
    assert stop not in ended.text[:-1]


def test_the_model_is_as_it_was() -> None:
    made = engine("llama")
    made.model.train()
    before = {name: value.clone() for name, value in made.model.state_dict().items()}
    made.greedy(prompts(), 2)
    assert made.model.training
    assert all(torch.equal(value, before[name]) for name, value in made.model.state_dict().items())


def test_nothing_asked_gives_nothing() -> None:
    assert engine("llama").greedy([], 4) == []


def test_a_prompt_needs_two_tokens() -> None:
    with pytest.raises(ValueError, match="at least two tokens"):
        engine("llama").greedy([[[1]]], 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SamplingParams(0), "`completions`"),
        (SamplingParams(max_new_tokens=0), "`max_new_tokens`"),
        (SamplingParams(temperature=-1), "`temperature`"),
        (SamplingParams(top_p=0), "`top_p`"),
        (SamplingParams(2, temperature=0), "all are equal"),
    ],
)
def test_settings_out_of_range_are_refused(settings: SamplingParams, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine("llama").sample(prompts(), settings)


def test_shares_of_draws_are_probabilities() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    uniform = (torch.arange(2000) + 0.5) / 2000
    tokens, _ = sample_tokens(logits.expand(2000, 4), uniform, 1.0, 1.0)
    torch.testing.assert_close(tokens.bincount(minlength=4) / 2000, logits.softmax(0), atol=1e-3, rtol=0)
    kept, _ = sample_tokens(
        logits.expand(2000, 4), uniform, 1.0, 0.7
    )  # the two likeliest have 0.88 together, one has 0.64
    expected = logits[:2].softmax(0)
    torch.testing.assert_close(kept.bincount(minlength=4)[:2] / 2000, expected, atol=1e-3, rtol=0)
    assert int(kept.max()) == 1
