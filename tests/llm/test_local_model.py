"""Answers of a local model: batches, seeds, layouts, limits."""

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
from radreward.types import ChatRequest, Message


def ask(text: str, **settings: Any) -> ChatRequest:
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), **{"max_tokens": 12, **settings})


def greedy(folder: Path, prompt: list[int], steps: int) -> list[int]:
    """The likeliest token each time, one whole pass a token."""
    model = LlamaForCausalLM.from_pretrained(folder).eval()
    ids = list(prompt)
    for _ in range(steps):
        with torch.inference_mode():
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        if ids[-1] == 2:
            break
    return ids[len(prompt) :]


def test_greedy_is_the_likeliest_token_each_time(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder), batch_size=3)
    requests = [ask("a"), ask("a longer question, about nothing"), ask("b", max_tokens=5), ask("c")]
    answers = model.complete(requests)
    for request, answer in zip(requests, answers, strict=True):
        prompt = model.encode(request.messages)
        expected = greedy(tiny_folder, prompt, request.max_tokens)
        text = byte_tokenizer(encoder=False).decode(expected, skip_special_tokens=True)
        assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == (text, len(prompt), len(expected))
        assert answer.finish_reason == ("stop" if expected[-1] == 2 else "length")
    assert model.budget.spent == sum((a.prompt_tokens or 0) + (a.completion_tokens or 0) for a in answers)


def test_draws_do_not_depend_on_the_batch(tiny_folder: Path) -> None:
    requests = [ask("a", temperature=1.0, seed=seed) for seed in range(6)] + [ask("b")]
    together = LocalChatModel(str(tiny_folder), batch_size=7).complete(requests)
    alone = LocalChatModel(str(tiny_folder), batch_size=1).complete(requests[::-1])[::-1]
    assert together == alone
    assert len({answer.text for answer in together[:6]}) > 3  # other seeds, other draws


def test_draws_are_from_the_softmax() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, -torch.inf])
    seeds = range(4000)
    draw = PerRowSampler([ask("a", temperature=2.0, seed=seed) for seed in seeds])
    counts = Counter(draw(torch.zeros(4000, 1), logits.repeat(4000, 1)).argmax(-1).tolist())
    expected = (logits / 2).softmax(-1)[:4] * 4000
    assert counts[4] == 0
    assert stats.chisquare([counts[token] for token in range(4)], expected.numpy()).pvalue > 0.01


def test_top_p_leaves_the_likeliest() -> None:
    probabilities = torch.tensor([0.1, 0.5, 0.3, 0.1])
    draw = PerRowSampler([ask("a", temperature=1.0, top_p=0.6, seed=seed) for seed in range(1000)])
    counts = Counter(draw(torch.zeros(1000, 1), probabilities.log().repeat(1000, 1)).argmax(-1).tolist())
    assert set(counts) == {1, 2}  # 0.5 alone is less than 0.6
    assert counts[1] / 1000 == pytest.approx(0.5 / 0.8, abs=0.05)


def test_temperature_0_is_left_as_it_is() -> None:
    scores = torch.randn(2, 9)
    assert torch.equal(PerRowSampler([ask("a"), ask("b")])(torch.zeros(2, 1), scores), scores)


def test_layout_is_that_of_the_template(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder))
    messages = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    turns = [{"role": role, "content": content} for role, content in messages]
    laid_out = model.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert laid_out.endswith("[user] v\n[assistant] ")
    assert model.encode(messages) == model.tokenizer.encode(laid_out, add_special_tokens=False)


def test_a_report_is_no_special_token(tiny_folder: Path) -> None:
    ids = LocalChatModel(str(tiny_folder)).encode([Message("user", "</s><s>\ue0000\ue001")])
    assert ids.count(2) == 0
    assert ids.count(1) == 1  # the template's own


def _with_template(folder: Path, to: Path, template: str | None) -> LocalChatModel:
    shutil.copytree(folder, to)
    tokenizer = byte_tokenizer(encoder=False)
    (to / "chat_template.jinja").unlink(missing_ok=True)
    if template is not None:
        tokenizer.chat_template = template
    tokenizer.save_pretrained(to)
    return LocalChatModel(str(to))


def test_a_template_without_a_system_turn(tiny_folder: Path, tmp_path: Path) -> None:
    refuse = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    model = _with_template(tiny_folder, tmp_path / "m", refuse + "{% for m in messages %}<{{ m.content }}>{% endfor %}")
    text = model.tokenizer.decode(model.encode([Message("system", "s"), Message("user", "u")]))
    assert text == "<s\n\nu>"


def test_a_model_without_a_template(tiny_folder: Path, tmp_path: Path) -> None:
    model = _with_template(tiny_folder, tmp_path / "m", None)
    ids = model.encode([Message("system", "s"), Message("user", "u")])
    assert ids[0] == 1
    assert model.tokenizer.decode(ids[1:]) == "s\n\nUser: u\n\nAssistant:"


def test_a_template_that_leaves_a_message_out(tiny_folder: Path, tmp_path: Path) -> None:
    model = _with_template(tiny_folder, tmp_path / "m", "{{ messages[-1].content }}")
    with pytest.raises(InputError, match="does not show every message once"):
        model.complete([ask("a")])


def test_what_does_not_fit_is_not_cut(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder))
    short, long = model.complete([ask("a"), ask("x" * 600)])
    assert short.status == "ok"
    assert long.status.startswith("not asked: ")
    assert long.status.endswith("and an answer of up to 12 are more than the model's 512")


def test_the_budget_is_never_passed(tiny_folder: Path) -> None:
    model = LocalChatModel(str(tiny_folder), batch_size=2)
    one = len(model.encode(ask("a0").messages)) + 12
    model.budget.limit = 5 * one
    answers = model.complete([ask(f"a{index}") for index in range(9)])
    good = [answer for answer in answers if answer.status == "ok"]
    assert 5 <= len(good) < 9
    assert model.budget.spent <= 5 * one
    assert model.budget.reserved == 0
    assert all(answer.status.startswith("not sent: the budget") for answer in answers if answer not in good)


def test_answers_are_kept(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    first = LocalChatModel(str(tiny_folder), cache=ResponseCache(path)).complete([ask("a"), ask("b"), ask("a")])
    again = LocalChatModel(str(tiny_folder), cache=ResponseCache(path))
    assert again.complete([ask("b"), ask("a")]) == [first[1], first[0]]
    assert again.budget.spent == 0


def test_other_weights_are_another_model(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    before = LocalChatModel(str(tmp_path / "m")).model_id
    assert LocalChatModel(str(tmp_path / "m")).model_id == before
    other = LlamaForCausalLM.from_pretrained(tmp_path / "m")
    other.model.embed_tokens.weight.data.zero_()
    other.save_pretrained(tmp_path / "m")
    assert LocalChatModel(str(tmp_path / "m")).model_id != before


def test_settings_of_the_model_itself_are_not_used(tiny_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_folder, tmp_path / "m")
    path = tmp_path / "m" / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_sample": True, "repetition_penalty": 50.0}))
    assert LocalChatModel(str(tmp_path / "m")).complete([ask("a")]) == LocalChatModel(str(tiny_folder)).complete(
        [ask("a")]
    )


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the folder of a backbone"):
        LocalChatModel(str(tmp_path / "none"))
    with pytest.raises(InputError, match="no tokenizer can be loaded"):
        LocalChatModel(str(tmp_path), local_files_only=True)
    byte_tokenizer(encoder=False).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"')
    with pytest.raises(InputError, match="no (language model|tokenizer) can be loaded"):
        LocalChatModel(str(tmp_path), local_files_only=True)


def test_settings_are_checked(tiny_folder: Path) -> None:
    with pytest.raises(ValueError, match="Expected `batch_size` to be >= 1"):
        LocalChatModel(str(tiny_folder), batch_size=0)
