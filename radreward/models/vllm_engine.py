"""Completions by vLLM, which reads the adapters as they are at each call: an extra, on a GPU."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from radreward.data.tokenizer import TINY_PREFIX, resolve_backbone
from radreward.errors import InputError
from radreward.models.backbone import Backbone
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt

INSTALL_HINT = "pip install 'radreward[vllm]', in an environment of its own: it needs the torch it was built for"


class VLLMEngine(RolloutEngine):
    """Draws with vLLM, which holds the frozen weights a second time, and reads a prompt once for all its completions.

    The adapters go to it through a folder at every call. Its log-probabilities are those of its own kernels: training
    does not use them, and logs how far they are from its own.

    Args:
        backbone: What is trained; vLLM loads its frozen weights by its name.
        model: The model with adapters, as peft makes it.
        tokenizer: Its tokenizer.
        max_length: Most tokens of a prompt and its completion.
        memory: Share of the GPU's memory that vLLM may take.

    Raises:
        InputError: If vLLM is not installed, or cannot draw from such a model.
        ValueError: If `memory` or `max_length` is out of its range.
    """

    def __init__(
        self,
        backbone: Backbone,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int,
        gpu_memory_utilization: float = 0.4,
    ) -> None:
        if not 0 < gpu_memory_utilization < 1:
            raise ValueError(f"Expected `memory` to be in (0, 1) but got {gpu_memory_utilization}.")
        if max_length < 1:
            raise ValueError(f"Expected `max_length` to be >= 1 but got {max_length}.")
        check_vllm(backbone)
        from vllm import LLM

        self.model, self.tokenizer = model, tokenizer
        self._folder = Path(tempfile.mkdtemp(prefix="radreward-adapters-"))
        weakref.finalize(self, shutil.rmtree, self._folder, True)  # also runs when the process ends
        self._calls = 0
        self._llm = LLM(
            model=resolve_backbone(backbone.name),
            dtype=backbone.dtype,
            max_model_len=max_length,
            gpu_memory_utilization=gpu_memory_utilization,
            enable_prefix_caching=True,
            enable_lora=True,
            max_lora_rank=_max_lora_rank(backbone),
            max_loras=1,
            logprobs_mode="processed_logprobs",  # of the tempered model; with top_p below 1, of the likeliest tokens
            trust_remote_code=False,
        )

    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """See `RolloutEngine.sample`."""
        params.validate()
        from vllm import SamplingParams, TokensPrompt

        if not all(any(prompt) for prompt in prompts):
            raise ValueError("Expected prompts that are not empty.")
        each = [
            SamplingParams(
                n=params.num_completions,
                temperature=params.temperature,
                top_p=params.top_p,
                max_tokens=params.max_new_tokens,
                seed=(params.seed + place) % 2**63,  # so that equal prompts are not answered alike
                stop=list(params.stop) or None,
                include_stop_str_in_output=True,
                logprobs=0,
            )
            for place in range(len(prompts))
        ]
        asked = [TokensPrompt(prompt_token_ids=[token for piece in prompt for token in piece]) for prompt in prompts]
        outputs = self._llm.generate(asked, each, lora_request=self._lora_request(), use_tqdm=False)
        return [tuple(self._to_completion(one) for one in output.outputs) for output in outputs]

    def _lora_request(self) -> Any:
        """The adapters of now under a number that vLLM has not seen; those of the call before are deleted."""
        from vllm.lora.request import LoRARequest

        self._calls += 1
        old, folder = (self._folder / str(number) for number in (self._calls - 1, self._calls))
        self.model.save_pretrained(folder, safe_serialization=True)
        shutil.rmtree(old, ignore_errors=True)
        return LoRARequest(f"step-{self._calls}", self._calls, str(folder))

    def _to_completion(self, output: Any) -> Completion:
        tokens = tuple(output.token_ids)
        logps = tuple(float(found[token].logprob) for token, found in zip(tokens, output.logprobs, strict=True))
        text = self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Completion(tokens, logps, str(text), "length" if output.finish_reason == "length" else "stop")


def check_vllm(backbone: Backbone) -> None:
    """Whether vLLM is there and can draw from a model.

    Raises:
        InputError: If not; says what to do.
    """
    if importlib.util.find_spec("vllm") is None:
        raise InputError(
            f"model.rollouts.engine: vllm is not installed: {INSTALL_HINT}; or set the engine to transformers."
        )
    if backbone.lora is None:
        raise InputError("model.rollouts.engine: vllm needs adapters (model.backbone.lora): they are what it is given.")
    if backbone.name.startswith(TINY_PREFIX):
        raise InputError(f"model.rollouts.engine: vllm cannot load {backbone.name!r}, whose weights are in no folder.")


def _max_lora_rank(backbone: Backbone) -> int:
    """The least rank that vLLM has kernels for and that holds the adapters.

    >>> from radreward.models import LoRA
    >>> _rank(Backbone("name", LoRA(4))), _rank(Backbone("name", LoRA(20)))
    (8, 32)
    """
    rank = backbone.lora.r if backbone.lora else 0
    ranks = (8, 16, 32, 64, 128, 256, 320, 512)
    found = next((held for held in ranks if held >= rank), None)
    if found is None:
        raise InputError(f"model.backbone.lora.r: vllm holds adapters of rank {ranks[-1]} at most but got {rank}.")
    return found
