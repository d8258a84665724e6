"""Chat model that runs a Hugging Face language model on this machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from jinja2 import TemplateError
from torch import Tensor
from transformers import AutoModelForCausalLM, GenerationConfig, LogitsProcessor, LogitsProcessorList

from radreward.data.tokenizer import load_tokenizer, resolve_backbone
from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.io.hub import LOADING_ERRORS, hub_error_reason, pretrained_options
from radreward.llm.chat_model import STATUS_OK, ChatModel, failed_response
from radreward.llm.messages import ChatRequest, ChatResponse, Message
from radreward.llm.response_cache import ResponseCache

_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")


class LocalChatModel(ChatModel):
    """A causal language model that decodes in batches, greedily or with one sampling seed per request.

    The tokenizer's chat template, if it has one, formats messages. Their text never becomes a special token:
    "<|im_end|>" in a report stays ten characters. Up to rounding, a response does not depend on its batch. A request is
    never truncated. If the request and its longest response exceed the model's positions, the request gets a status and
    no response.

    Args:
        name: Local folder or Hub name.
        batch_size: Maximum number of requests per batch.
        device: Device of the model, see `radreward.devices.resolve_device`.
        dtype: Type of the weights; "auto" is the type in the files.
        local_files_only: Never download from the Hub.
        cache: See `ChatModel`.
        budget: See `ChatModel`.
        progress: See `ChatModel`.

    Raises:
        ValueError: If a number is out of range.
        InputError: If no language model can be loaded.
    """

    def __init__(
        self,
        name: str,
        batch_size: int = 8,
        device: str = "auto",
        dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        local_files_only: bool = False,
        cache: ResponseCache | None = None,
        budget: int | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(cache, budget, progress)
        if batch_size < 1:
            raise ValueError(f"Expected `batch_size` to be >= 1 but got {batch_size}.")
        self.name = name
        self.batch_size = batch_size
        self.dtype = dtype
        self.device = resolve_device(device)
        self.tokenizer: Any = load_tokenizer(name, local_files_only)
        self.model = self._load(local_files_only)
        self._eos_token_ids = _eos_token_ids(self.model.generation_config.eos_token_id, self.tokenizer.eos_token_id)
        # The model's own settings, such as a repetition penalty, would override those of the request.
        self.model.generation_config = GenerationConfig()

    def _load(self, local_files_only: bool) -> Any:
        path = resolve_backbone(self.name)
        try:
            model: Any = AutoModelForCausalLM.from_pretrained(
                path, dtype=self.dtype, **pretrained_options(path, local_files_only)
            )
        except LOADING_ERRORS as error:
            raise InputError(
                f"{self.name}: no language model can be loaded from it ({hub_error_reason(error)})."
            ) from error
        return model.to(self.device).eval()

    @property
    def model_id(self) -> str:
        """Name, version and type of the weights. For a folder, also names, sizes and times of its files."""
        folder = Path(resolve_backbone(self.name))
        files = sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        version = getattr(self.model.config, "_commit_hash", None)
        return f"local {self.name} {version} {self.dtype} {hashlib.sha256(repr(stats).encode()).hexdigest()}"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel._generate`."""
        prompts = [self.encode(request.messages) for request in requests]
        pending: list[int] = []
        for index in sorted(range(len(requests)), key=lambda index: len(prompts[index])):  # minimizes padding
            error = self._length_error(len(prompts[index]), requests[index].max_tokens)
            if error:
                on_response(index, failed_response(error))
            else:
                pending.append(index)
        for start in range(0, len(pending), self.batch_size):
            batch: list[int] = []
            for index in pending[start : start + self.batch_size]:
                bound = len(prompts[index]) + requests[index].max_tokens
                if self.budget.reserve(bound):
                    batch.append(index)
                else:
                    on_response(index, failed_response(self.budget.exceeded_message(bound)))
            responses = self._generate_batch([prompts[index] for index in batch], [requests[index] for index in batch])
            for index, response in zip(batch, responses, strict=True):
                spent = (response.prompt_tokens or 0) + (response.completion_tokens or 0)
                self.budget.release(len(prompts[index]) + requests[index].max_tokens, spent)
                on_response(index, response)

    def _length_error(self, prompt_tokens: int, max_tokens: int) -> str | None:
        positions = getattr(self.model.config, "max_position_embeddings", None)
        if positions is None or prompt_tokens + max_tokens <= positions:
            return None
        return f"not sent: {prompt_tokens} tokens and a response of up to {max_tokens} exceed the model's {positions}"

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Return the token ids of a prompt, up to the start of the response."""
        # The template formats placeholders; contents replace them as tokens, so that none becomes a special token.
        marked = [Message(role, f"\ue000{index}\ue001") for index, (role, _) in enumerate(messages)]
        contents = [content for _, content in messages]
        if self.tokenizer.chat_template is None:
            start = [] if self.tokenizer.bos_token_id is None else [self.tokenizer.bos_token_id]
            return [*start, *self._fill_template(_plain_layout(marked), contents)]
        try:
            return self._fill_template(self._apply_template(marked), contents)
        except TemplateError:
            if messages[0].role != "system":
                raise
        # Some templates reject a system turn: prepend it to the user's.
        joined = Message("user", f"{marked[0].content}\n\n{marked[1].content}")
        return self._fill_template(self._apply_template([joined, *marked[2:]]), contents)

    def _apply_template(self, messages: Sequence[Message]) -> str:
        turns = [{"role": role, "content": content} for role, content in messages]
        return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _fill_template(self, rendered: str, contents: Sequence[str]) -> list[int]:
        pieces = _PLACEHOLDER.split(rendered)  # text, number, text, number, ..., text
        if pieces[1::2] != [str(index) for index in range(len(contents))]:
            raise InputError(f"{self.name}: Expected a chat template that renders every message once.")
        pieces[1::2] = contents
        ids: list[int] = []
        for index, piece in enumerate(pieces):
            is_content = index % 2 == 1
            ids += self.tokenizer.encode(
                piece, add_special_tokens=False, split_special_tokens=is_content, verbose=False
            )
        return ids

    @torch.inference_mode()
    def _generate_batch(self, prompts: Sequence[list[int]], requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        if not prompts:
            return []
        length = max(map(len, prompts))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[pad] * (length - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (length - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        config = GenerationConfig(
            max_new_tokens=max(request.max_tokens for request in requests),
            do_sample=False,  # the logits processor samples
            eos_token_id=self._eos_token_ids or None,
            pad_token_id=pad,
        )
        rows = self.model.generate(
            ids.to(self.device),
            attention_mask=mask.to(self.device),
            generation_config=config,
            logits_processor=LogitsProcessorList([PerRowSampler(requests)]),
        )[:, length:].tolist()
        return [
            self._to_response(row, len(prompt), request)
            for row, prompt, request in zip(rows, prompts, requests, strict=True)
        ]

    def _to_response(self, token_ids: list[int], prompt_tokens: int, request: ChatRequest) -> ChatResponse:
        token_ids = token_ids[: request.max_tokens]
        end = next((index for index, token in enumerate(token_ids) if token in self._eos_token_ids), None)
        text = self.tokenizer.decode(token_ids[:end], skip_special_tokens=True)
        completion_tokens = len(token_ids) if end is None else end + 1
        finish_reason = "length" if end is None else "stop"
        status = STATUS_OK if text else f"no text ({finish_reason})"
        return ChatResponse(text, finish_reason, prompt_tokens, completion_tokens, status)


class _RowSampling(NamedTuple):
    temperature: float
    top_p: float
    generator: torch.Generator


class PerRowSampler(LogitsProcessor):
    """Logits processor for sampling by greedy search with one seed per row, so that no row depends on its batch.

    The maximum of logit / temperature + Gumbel noise is a sample from the softmax (Gumbel, 1954; Maddison et al.,
    2014). Rows of temperature 0 are unchanged.

    Args:
        requests: One per row.
    """

    def __init__(self, requests: Sequence[ChatRequest]) -> None:
        self.rows = [
            _RowSampling(request.temperature, request.top_p, torch.Generator().manual_seed(request.seed))
            for request in requests
        ]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Map (B, L) tokens so far and (B, V) logits to (B, V) scores whose maximum is the next token."""
        scores = scores.float().clone()
        for row, (temperature, top_p, generator) in enumerate(self.rows):
            if temperature == 0:
                continue
            logits = scores[row] / temperature  # (V,)
            if top_p < 1:
                ordered, tokens = logits.softmax(-1).sort(descending=True)
                before = ordered.cumsum(-1) - ordered  # probability of all more likely tokens
                logits[tokens[before >= top_p]] = -torch.inf
            uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64).clamp_min(1e-300)
            scores[row] = logits + (-(-uniform.log()).log()).to(logits)
        return scores


def _plain_layout(messages: Sequence[Message]) -> str:
    """Format messages for a model without a chat template."""
    prefixes = {"system": "", "user": "User: ", "assistant": "Assistant: "}
    return "\n\n".join([f"{prefixes[role]}{content}" for role, content in messages] + ["Assistant:"])


def _eos_token_ids(*ids: int | list[int] | None) -> list[int]:
    """Return all end-of-text tokens; each argument is one id, a list of ids, or None."""
    tokens = {token for entry in ids if entry is not None for token in (entry if isinstance(entry, list) else [entry])}
    return sorted(tokens)
