"""The vLLM engine with a fake vLLM, and with the real one if it is installed."""

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


class FakeLLM:
    """Fake vLLM that answers every prompt with TEXTS and records its calls."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.calls: list[tuple[Any, Any, Any, dict[str, torch.Tensor]]] = []
        self.states: list[str] = []

    def sleep(self, level: int) -> None:
        self.states.append(f"sleep {level}")

    def wake_up(self) -> None:
        self.states.append("wake up")

    def generate(self, prompts: Any, params: Any, lora_request: Any, use_tqdm: bool) -> list[Any]:
        self.calls.append(
            (prompts, params, lora_request, load_file(Path(lora_request.path) / "adapter_model.safetensors"))
        )
        tokens = [byte_tokenizer(encoder=False).encode(text, add_special_tokens=False) for text in TEXTS]
        outputs = [
            SimpleNamespace(
                token_ids=ids,
                logprobs=[{token: SimpleNamespace(logprob=-0.5 * index)} for index, token in enumerate(ids)],
                finish_reason=reason,
            )
            for ids, reason in zip(tokens, ("stop", "length"), strict=True)
        ]
        return [SimpleNamespace(outputs=outputs[: params[0].n]) for _ in prompts]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    package, lora, request = ModuleType("vllm"), ModuleType("vllm.lora"), ModuleType("vllm.lora.request")
    package.__dict__.update(
        LLM=FakeLLM, SamplingParams=SimpleNamespace, TokensPrompt=dict, __spec__=SimpleNamespace(name="vllm")
    )
    request.__dict__["LoRARequest"] = lambda name, number, path: SimpleNamespace(name=name, number=number, path=path)
    for name, module in (("vllm", package), ("vllm.lora", lora), ("vllm.lora.request", request)):
        monkeypatch.setitem(sys.modules, name, module)


def make(folder: Path, **settings: Any) -> tuple[VLLMEngine, Any]:
    backbone = Backbone(str(folder), LoRA(4))
    model: Any = backbone.build(causal_lm=True)
    return VLLMEngine(backbone, model, byte_tokenizer(encoder=False), 64, **settings), model


def test_sample_passes_prompts_settings_and_completions(folder: Path, vllm: None) -> None:
    engine, _ = make(folder)
    sampling = SamplingParams(2, 9, temperature=0.7, top_p=0.9, seed=5, stop=("</a>",))
    completions = engine.sample([[[1, 70], [71]], [[1], [72, 73]]], sampling)
    llm: Any = engine._llm
    assert llm.settings["model"] == str(folder)
    assert llm.settings["max_lora_rank"] == 8
    assert llm.settings["trust_remote_code"] is False
    prompts, params, _, _ = llm.calls[0]
    assert [prompt["prompt_token_ids"] for prompt in prompts] == [[1, 70, 71], [1, 72, 73]]
    assert [(p.n, p.max_tokens, p.temperature, p.top_p, p.stop) for p in params] == [(2, 9, 0.7, 0.9, ["</a>"])] * 2
    assert params[0].seed != params[1].seed
    assert [[completion.text for completion in group] for group in completions] == [list(TEXTS)] * 2
    assert [completion.finish_reason for completion in completions[0]] == ["stop", "length"]
    assert completions[0][0].logps[:3] == (0.0, -0.5, -1.0)
    assert engine.greedy([[[1, 70]]], 4)[0].text == TEXTS[0]


def test_sample_loads_the_current_adapters_and_deletes_previous_ones(folder: Path, vllm: None) -> None:
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


def test_stand_in_vllm_sleeps_between_samplings_if_requested(folder: Path, vllm: None) -> None:
    for sleep, states in ((True, ["sleep 1", "wake up", "sleep 1"]), (False, [])):
        engine, _ = make(folder, gpu_memory_utilization=0.7, sleep=sleep)
        for _ in range(2):
            engine.sample([[[1, 70]]], SamplingParams(2, 4))
        llm: Any = engine._llm
        assert llm.states == states
        assert (llm.settings["enable_sleep_mode"], llm.settings["gpu_memory_utilization"]) == (sleep, 0.7)


def test_constructor_without_vllm_raises(folder: Path) -> None:
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vLLM is installed")
    with pytest.raises(InputError, match=r"vLLM needs `vllm`, which is not installed: pip install 'radreward\[vllm\]'"):
        make(folder)


def test_constructor_unsupported_model_raises(folder: Path, vllm: None) -> None:
    model, tokenizer = tiny_model("llama", causal_lm=True), byte_tokenizer(encoder=False)
    for backbone, message in (
        (Backbone(str(folder), None), "requires adapters"),
        (Backbone("tiny-llama"), "cannot load 'tiny-llama'"),
        (Backbone(str(folder), LoRA(1000)), "rank of at most 512"),
    ):
        with pytest.raises(InputError, match=message):
            VLLMEngine(backbone, model, tokenizer, 64)
    for wrong in ({"gpu_memory_utilization": 0.0}, {"max_length": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            VLLMEngine(Backbone(str(folder)), model, tokenizer, **({"max_length": 64} | wrong))


@pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None or not torch.cuda.is_available(),
    reason="needs vLLM and a GPU: set RADREWARD_GPU=1 on a machine with both",
)
def test_greedy_with_vllm_equals_the_transformers_engine(folder: Path) -> None:
    engine, model = make(folder)
    prompts = [[[1, *range(70, 90)]], [[1, 72, 73]]]
    expected = TransformersEngine(model.cuda(), byte_tokenizer(encoder=False)).greedy(prompts, 8)
    assert [completion.tokens for completion in engine.greedy(prompts, 8)] == [
        completion.tokens for completion in expected
    ]
