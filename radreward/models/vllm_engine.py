"""Completions by vLLM, which loads the current adapters at each call; requires an extra and a GPU."""

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
from radreward.extras import missing_package
from radreward.models.backbone import Backbone
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt


class VLLMEngine(RolloutEngine):
    """Sampling with vLLM, which holds a second copy of the frozen weights and reads a prompt once for all completions.

    Adapters are passed through a folder at every call. Log-probabilities are those of vLLM's kernels: training logs
    their difference from its own and does not use them.

    Args:
        backbone: The trained backbone; vLLM loads its frozen weights by name.
        model: The model with adapters of peft.
        tokenizer: Its tokenizer.
        max_length: Maximum number of tokens of a prompt and its completion.
        gpu_memory_utilization: Fraction of the GPU's memory that vLLM may use.
        sleep: Move the weights of vLLM to the memory of the CPU and free its cache after each call.

    Raises:
        InputError: If vLLM is not installed, or does not support the model.
        ValueError: If `gpu_memory_utilization` or `max_length` is out of range.
    """

    def __init__(
        self,
        backbone: Backbone,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int,
        gpu_memory_utilization: float = 0.4,
        sleep: bool = False,
    ) -> None:
        if not 0 < gpu_memory_utilization < 1:
            raise ValueError(f"Expected `gpu_memory_utilization` to be in (0, 1) but got {gpu_memory_utilization}.")
        if max_length < 1:
            raise ValueError(f"Expected `max_length` to be >= 1 but got {max_length}.")
        check_vllm(backbone)
        import vllm

        self.model = model
        self.tokenizer = tokenizer
        self._folder = Path(tempfile.mkdtemp(prefix="radreward-adapters-"))
        weakref.finalize(self, shutil.rmtree, self._folder, True)  # also runs when the process ends
        self._calls = 0
        self._sleeps = sleep
        self._llm = vllm.LLM(
            model=resolve_backbone(backbone.name),
            dtype=backbone.dtype,
            max_model_len=max_length,
            gpu_memory_utilization=gpu_memory_utilization,
            enable_prefix_caching=True,
            enable_sleep_mode=sleep,
            enable_lora=True,
            max_lora_rank=_max_lora_rank(backbone),
            max_loras=1,
            logprobs_mode="processed_logprobs",  # with temperature; with top_p below 1, of the nucleus
            trust_remote_code=False,
        )

    def sample(self, prompts: Sequence[TokenizedPrompt], params: SamplingParams) -> list[tuple[Completion, ...]]:
        """See `RolloutEngine.sample`."""
        params.validate()
        import vllm

        if not all(any(prompt) for prompt in prompts):
            raise ValueError("Expected prompts that are not empty.")
        vllm_params = [
            vllm.SamplingParams(
                n=params.num_completions,
                temperature=params.temperature,
                top_p=params.top_p,
                max_tokens=params.max_new_tokens,
                seed=(params.seed + index) % 2**63,  # equal prompts get different completions
                stop=list(params.stop) or None,
                include_stop_str_in_output=True,
                logprobs=0,
            )
            for index in range(len(prompts))
        ]
        tokens = [
            vllm.TokensPrompt(prompt_token_ids=[token for piece in prompt for token in piece]) for prompt in prompts
        ]
        if self._sleeps and self._calls:
            self._llm.wake_up()
        results = self._llm.generate(tokens, vllm_params, lora_request=self._lora_request(), use_tqdm=False)
        if self._sleeps:
            self._llm.sleep(level=1)  # keeps the weights in the memory of the CPU
        return [tuple(self._to_completion(output) for output in result.outputs) for result in results]

    def _lora_request(self) -> Any:
        """Save the current adapters under a new number, and delete those of the previous call."""
        from vllm.lora.request import LoRARequest

        self._calls += 1
        previous, folder = (self._folder / str(number) for number in (self._calls - 1, self._calls))
        self.model.save_pretrained(folder, safe_serialization=True)
        shutil.rmtree(previous, ignore_errors=True)
        return LoRARequest(f"step-{self._calls}", self._calls, str(folder))

    def _to_completion(self, output: Any) -> Completion:
        tokens = tuple(output.token_ids)
        logps = tuple(float(entry[token].logprob) for token, entry in zip(tokens, output.logprobs, strict=True))
        text = self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Completion(tokens, logps, str(text), "length" if output.finish_reason == "length" else "stop")


def check_vllm(backbone: Backbone) -> None:
    """Check that vLLM is installed and supports a backbone.

    Raises:
        InputError: If the check fails. The message names the remedy.
    """
    if importlib.util.find_spec("vllm") is None:
        raise InputError(f"{missing_package('model.rollouts.engine: vLLM', 'vllm')} Or set the engine to transformers.")
    if backbone.lora is None:
        raise InputError("model.rollouts.engine: vllm requires adapters (model.backbone.lora), which it loads.")
    if backbone.name.startswith(TINY_PREFIX):
        raise InputError(f"model.rollouts.engine: vllm cannot load {backbone.name!r}, whose weights are in no folder.")


def _max_lora_rank(backbone: Backbone) -> int:
    """Return the smallest rank that vLLM supports and that is not below that of the adapters.

    >>> from radreward.models import LoRA
    >>> _max_lora_rank(Backbone("name", LoRA(4))), _max_lora_rank(Backbone("name", LoRA(20)))
    (8, 32)
    """
    rank = backbone.lora.r if backbone.lora else 0
    supported = (8, 16, 32, 64, 128, 256, 320, 512)
    result = next((value for value in supported if value >= rank), None)
    if result is None:
        raise InputError(
            f"model.backbone.lora.r: Expected a rank of at most {supported[-1]}, the limit of vllm, but got {rank}."
        )
    return result
