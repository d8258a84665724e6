"""Local chat models: batches, seeds, templates, limits."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy import stats
from transformers import LlamaForCausalLM

from radreward.data.tokenizer import byte_tokenizer
from radreward.errors import InputError
from radreward.llm import LocalChatModel, ResponseCache
from radreward.llm.local_model import PerRowSampler
from radreward.llm.messages import ChatRequest, Message


def make_request(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), **{"max_tokens": 12, **settings})


def greedy(folder: Path, prompt: list[int], steps: int) -> list[int]:
    """Return the greedy continuation, one full forward pass per token."""
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    ids = list(prompt)
    for _ in range(steps):
        with torch.inference_mode():
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == 2:
            break
    return ids[len(prompt) :]


def test_complete_temperature_0_is_greedy(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder), batch_size=3)
    requests = [
        make_request("a"),
        make_request("a longer question, about nothing"),
        make_request("b", max_tokens=5),
        make_request("c"),
    ]
    answers = model.complete(requests)
    for request, answer in zip(requests, answers, strict=True):
        prompt = model.encode(request.messages)
        expected = greedy(tiny_folder, prompt, request.max_tokens)
        text = byte_tokenizer(encoder=False).decode(expected, skip_special_tokens=True)
        assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == (text, len(prompt), len(expected))
        assert answer.finish_reason == ("stop" if expected[-1] == 2 else "length")
    assert model.budget.spent == sum((a.prompt_tokens or 0) + (a.completion_tokens or 0) for a in answers)


def test_complete_sampling_does_not_depend_on_the_batch(tiny_folder: Path) -> None:
    requests = [make_request("a", temperature=1.0, seed=seed) for seed in range(6)] + [make_request("b")]
    together = LocalChatModel(str(tiny_folder), batch_size=7).complete(requests)
    alone = LocalChatModel(str(tiny_folder), batch_size=1).complete(requests[::-1])[::-1]
    assert together == alone
    assert len({answer.text for answer in together[:6]}) > 3  # different seeds sample different responses


def test_per_row_sampler_samples_from_the_softmax() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, -torch.inf])
    seeds = range(4000)
    draw = PerRowSampler([make_request("a", temperature=2.0, seed=seed) for seed in seeds])
    counts = Counter(draw(torch.zeros(4000, 1), logits.repeat(4000, 1)).argmax(-1).tolist())
    expected = (logits / 2).softmax(-1)[:4] * 4000
    assert counts[4] == 0
    assert stats.chisquare([counts[token] for token in range(4)], expected.numpy()).pvalue > 0.01


def test_per_row_sampler_top_p_keeps_the_nucleus() -> None:
    probabilities = torch.tensor([0.1, 0.5, 0.3, 0.1])
    draw = PerRowSampler([make_request("a", temperature=1.0, top_p=0.6, seed=seed) for seed in range(1000)])
    counts = Counter(draw(torch.zeros(1000, 1), probabilities.log().repeat(1000, 1)).argmax(-1).tolist())
    assert set(counts) == {1, 2}  # 0.5 alone is less than 0.6
    assert counts[1] / 1000 == pytest.approx(0.5 / 0.8, abs=0.05)


def test_per_row_sampler_temperature_0_changes_nothing() -> None:
    scores = torch.randn(2, 9)
    assert torch.equal(PerRowSampler([make_request("a"), make_request("b")])(torch.zeros(2, 1), scores), scores)


def test_encode_applies_the_chat_template(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder))
    messages = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    turns = [{"role": role, "content": content} for role, content in messages]
    rendered = model.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert rendered.endswith("[user] v\n[assistant] ")
    assert model.encode(messages) == model.tokenizer.encode(rendered, add_special_tokens=False)


def test_encode_text_never_becomes_a_special_token(tiny_folder: Path) -> None:
    ids = LocalChatModel(str(tiny_folder)).encode([Message("user", "</s><s>\ue0000\ue001")])
    assert ids.count(2) == 0
    assert ids.count(1) == 1  # from the template


def _with_template(folder: Path, to: Path, template: str | None) -> LocalChatModel:
    shutil.copytree(folder, to)
    tokenizer = byte_tokenizer(encoder=False)
    (to / "chat_template.jinja").unlink(missing_ok=True)
    if template is not None:
        tokenizer.chat_template = template
    tokenizer.save_pretrained(to)
    return LocalChatModel(str(to))


def test_encode_template_without_system_turn_prepends_it(tiny_folder: Path, tmp_path: Path) -> None:
    refuse = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    model = _with_template(tiny_folder, tmp_path / "m", refuse + "{% for m in messages %}<{{ m.content }}>{% endfor %}")
    text = model.tokenizer.decode(model.encode([Message("system", "s"), Message("user", "u")]))
    assert text == "<s\n\nu>"


def test_encode_without_template_uses_a_plain_layout(tiny_folder: Path, tmp_path: Path) -> None:
    model = _with_template(tiny_folder, tmp_path / "m", None)
    ids = model.encode([Message("system", "s"), Message("user", "u")])
    assert ids[0] == 1
    assert model.tokenizer.decode(ids[1:]) == "s\n\nUser: u\n\nAssistant:"


def test_complete_incomplete_template_raises(tiny_folder: Path, tmp_path: Path) -> None:
    model = _with_template(tiny_folder, tmp_path / "m", "{{ messages[-1].content }}")
    with pytest.raises(InputError, match="Expected a chat template that renders every message once"):
        model.complete([make_request("a")])


def test_complete_too_long_request_has_a_status(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder))
    short, long = model.complete([make_request("a"), make_request("x" * 600)])
    assert short.status == "ok"
    assert long.status.startswith("not sent: ")
    assert long.status.endswith("and a response of up to 12 exceed the model's 512")


def test_complete_never_exceeds_the_budget(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder), batch_size=2)
    bound = len(model.encode(make_request("a0").messages)) + 12
    model.budget.limit = 5 * bound
    answers = model.complete([make_request(f"a{index}") for index in range(9)])
    good = [answer for answer in answers if answer.status == "ok"]
    assert 5 <= len(good) < 9
    assert model.budget.spent <= 5 * bound
    assert model.budget.reserved == 0
    assert all(answer.status.startswith("not sent: the budget") for answer in answers if answer not in good)


def test_complete_reuses_cached_responses(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    first = LocalChatModel(str(tiny_folder), cache=ResponseCache(path)).complete(
        [make_request("a"), make_request("b"), make_request("a")]
    )
    again = LocalChatModel(str(tiny_folder), cache=ResponseCache(path))
    assert again.complete([make_request("b"), make_request("a")]) == [first[1], first[0]]
    assert again.budget.spent == 0


def test_model_id_changes_with_the_weights(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    before = LocalChatModel(str(tmp_path / "m")).model_id
    assert LocalChatModel(str(tmp_path / "m")).model_id == before
    other = LlamaForCausalLM.from_pretrained(tmp_path / "m")
    other.model.embed_tokens.weight.data.zero_()
    other.save_pretrained(tmp_path / "m")
    assert LocalChatModel(str(tmp_path / "m")).model_id != before


def test_complete_ignores_generation_settings_of_the_model(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    path = tmp_path / "m" / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_sample": True, "repetition_penalty": 50.0}))
    assert LocalChatModel(str(tmp_path / "m")).complete([make_request("a")]) == LocalChatModel(
        str(tiny_folder)
    ).complete([make_request("a")])


def test_constructor_unloadable_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the folder of a backbone"):
        LocalChatModel(str(tmp_path / "none"))
    with pytest.raises(InputError, match="no tokenizer can be loaded"):
        LocalChatModel(str(tmp_path), local_files_only=True)
    byte_tokenizer(encoder=False).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"')
    with pytest.raises(InputError, match="no (language model|tokenizer) can be loaded"):
        LocalChatModel(str(tmp_path), local_files_only=True)


def test_constructor_invalid_batch_size_raises(tiny_folder: Path) -> None:
    with pytest.raises(ValueError, match="Expected `batch_size` to be >= 1"):
        LocalChatModel(str(tiny_folder), batch_size=0)
