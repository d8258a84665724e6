"""What vLLM is asked and how its answers are read, by a double of it; the real one where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from radreward.data.tokenizer import byte_tokenizer
from radreward.errors import InputError
from radreward.models import Backbone, LoRA
from radreward.models.rollout_engine import SamplingParams
from radreward.models.tiny_backbones import tiny_model
from radreward.models.transformers_engine import TransformersEngine
from radreward.models.vllm_engine import VLLMEngine

TEXTS = ("<a>1</a>", "endless")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_model("llama", causal_lm=True).save_pretrained(tmp_path / "backbone")
    byte_tokenizer(encoder=False).save_pretrained(tmp_path / "backbone")
    return tmp_path / "backbone"


class Double:
    """Answers every prompt with TEXTS, and keeps what it was asked."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.calls: list[tuple[Any, Any, Any, dict[str, torch.Tensor]]] = []

    def generate(self, prompts: Any, params: Any, lora_request: Any, use_tqdm: bool) -> list[Any]:
        self.calls.append(
            (prompts, params, lora_request, load_file(Path(lora_request.path) / "adapter_model.safetensors"))
        )
        tokens = [byte_tokenizer(encoder=False).encode(text, add_special_tokens=False) for text in TEXTS]
        outputs = [
            SimpleNamespace(
                token_ids=ids,
                logprobs=[{token: SimpleNamespace(logprob=-0.5 * place)} for place, token in enumerate(ids)],
                finish_reason=reason,
            )
            for ids, reason in zip(tokens, ("stop", "length"), strict=True)
        ]
        return [SimpleNamespace(outputs=outputs[: params[0].n]) for _ in prompts]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    package, lora, request = ModuleType("vllm"), ModuleType("vllm.lora"), ModuleType("vllm.lora.request")
    package.__dict__.update(
        LLM=Double, SamplingParams=SimpleNamespace, TokensPrompt=dict, __spec__=SimpleNamespace(name="vllm")
    )
    request.__dict__["LoRARequest"] = lambda name, number, path: SimpleNamespace(name=name, number=number, path=path)
    for name, module in (("vllm", package), ("vllm.lora", lora), ("vllm.lora.request", request)):
        monkeypatch.setitem(sys.modules, name, module)


def make(folder: Path) -> tuple[VLLMEngine, Any]:
    backbone = Backbone(str(folder), LoRA(4))
    model: Any = backbone.build(causal_lm=True)
    return VLLMEngine(backbone, model, byte_tokenizer(encoder=False), 64), model


def test_prompts_settings_and_answers_are_handed_on(folder: Path, vllm: None) -> None:
    engine, _ = make(folder)
    sampling = SamplingParams(2, 9, temperature=0.7, top_p=0.9, seed=5, stop=("</a>",))
    found = engine.sample([[[1, 70], [71]], [[1], [72, 73]]], sampling)
    double: Any = engine._llm
    assert double.settings["model"] == str(folder)
    assert double.settings["max_lora_rank"] == 8
    assert double.settings["trust_remote_code"] is False
    prompts, params, _, _ = double.calls[0]
    assert [prompt["prompt_token_ids"] for prompt in prompts] == [[1, 70, 71], [1, 72, 73]]
    assert [(p.n, p.max_tokens, p.temperature, p.top_p, p.stop) for p in params] == [(2, 9, 0.7, 0.9, ["</a>"])] * 2
    assert params[0].seed != params[1].seed
    assert [[completion.text for completion in group] for group in found] == [list(TEXTS)] * 2
    assert [completion.finish_reason for completion in found[0]] == ["stop", "length"]
    assert found[0][0].logps[:3] == (0.0, -0.5, -1.0)
    assert engine.greedy([[[1, 70]]], 4)[0].text == TEXTS[0]


def test_it_is_given_the_adapters_of_now_and_no_old_ones_stay(folder: Path, vllm: None) -> None:
    engine, model = make(folder)
    engine.sample([[[1, 70]]], SamplingParams(2, 4))
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "lora_B" in name:
                value.fill_(1.0)
    engine.sample([[[1, 70]]], SamplingParams(2, 4))
    (_, _, first, before), (_, _, second, after) = engine._llm.calls
    assert first.number != second.number
    assert not any(value.any() for name, value in before.items() if "lora_B" in name)
    assert all((value == 1).all() for name, value in after.items() if "lora_B" in name)
    assert not Path(first.path).exists()


def test_without_it_there_is_one_clear_message(folder: Path) -> None:
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vLLM is installed")
    with pytest.raises(InputError, match=r"vllm is not installed: pip install 'radreward\[vllm\]'"):
        make(folder)


def test_what_it_cannot_draw_from_is_refused(folder: Path, vllm: None) -> None:
    model, tokenizer = tiny_model("llama", causal_lm=True), byte_tokenizer(encoder=False)
    for backbone, told in (
        (Backbone(str(folder), None), "needs adapters"),
        (Backbone("tiny-llama"), "cannot load 'tiny-llama'"),
        (Backbone(str(folder), LoRA(1000)), "rank 512 at most"),
    ):
        with pytest.raises(InputError, match=told):
            VLLMEngine(backbone, model, tokenizer, 64)
    for wrong in ({"memory": 0.0}, {"max_length": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            VLLMEngine(Backbone(str(folder)), model, tokenizer, **({"max_length": 64} | wrong))


@pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None or not torch.cuda.is_available(), reason="needs vLLM and a GPU"
)
def test_the_real_one_draws_what_the_model_itself_would(folder: Path) -> None:
    engine, model = make(folder)
    prompts = [[[1, *range(70, 90)]], [[1, 72, 73]]]
    expected = TransformersEngine(model.cuda(), byte_tokenizer(encoder=False)).greedy(prompts, 8)
    assert [one.tokens for one in engine.greedy(prompts, 8)] == [one.tokens for one in expected]
