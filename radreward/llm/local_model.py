"""Answers of a Hugging Face model on this machine."""

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
from radreward.errors import InputError
from radreward.llm.chat_model import STATUS_OK, ChatModel, failed_response
from radreward.llm.response_cache import ResponseCache
from radreward.types import ChatRequest, ChatResponse, Message

_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")


class LocalChatModel(ChatModel):
    """A causal language model, in batches; greedy where `temperature` is 0, else drawn by the request's seed.

    Messages are laid out by the tokenizer's chat template where it has one. Their text never becomes a special token:
    a report that says "<|im_end|>" says ten characters. A request does not depend on its batch, but for rounding. One
    that does not fit into the model's positions together with its longest answer is not cut: its status says so.

    Args:
        name: A local folder or a hub name.
        batch_size: Requests at a time.
        device: Where it runs; "auto" is the first GPU where there is one.
        dtype: In which the weights are held; "auto" is that of the files.
        local_files_only: Never fetch anything from the hub.
        cache: See `ChatModel`.
        budget: See `ChatModel`.
        progress: See `ChatModel`.

    Raises:
        ValueError: If a number is out of its range.
        InputError: If there is no such model, or no language model.
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
        self.device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        self.tokenizer: Any = load_tokenizer(name)
        self.model = self._load(local_files_only)
        self._eos_token_ids = _eos_token_ids(self.model.generation_config.eos_token_id, self.tokenizer.eos_token_id)
        # A model's own settings, a penalty on repetition for one, would answer otherwise than was asked.
        self.model.generation_config = GenerationConfig()

    def _load(self, local_files_only: bool) -> Any:
        try:
            model: Any = AutoModelForCausalLM.from_pretrained(
                resolve_backbone(self.name),
                dtype=self.dtype,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=local_files_only,
            )
        except (OSError, ValueError, ImportError) as error:
            said = " ".join(str(error).split())[:300].rstrip(".")
            raise InputError(f"{self.name}: no language model can be loaded from it ({said}).") from error
        return model.to(self.device).eval()

    @property
    def model_id(self) -> str:
        """The name, the version of the weights and their type; of a folder, names, sizes and times of its files."""
        folder = Path(resolve_backbone(self.name))
        files = sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []
        listed = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        version = getattr(self.model.config, "_commit_hash", None)
        return f"local {self.name} {version} {self.dtype} {hashlib.sha256(repr(listed).encode()).hexdigest()}"

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        """See `ChatModel.answer`."""
        prompts = [self.encode(request.messages) for request in requests]
        fits: list[int] = []
        for index in sorted(range(len(requests)), key=lambda index: len(prompts[index])):  # little padding
            problem = self._length_error(len(prompts[index]), requests[index].max_tokens)
            if problem:
                on_response(index, failed_response(problem))
            else:
                fits.append(index)
        for start in range(0, len(fits), self.batch_size):
            batch: list[int] = []
            for index in fits[start : start + self.batch_size]:
                most = len(prompts[index]) + requests[index].max_tokens
                if self.budget.reserve(most):
                    batch.append(index)
                else:
                    on_response(index, failed_response(self.budget.exceeded_message(most)))
            answers = self._generate_batch([prompts[index] for index in batch], [requests[index] for index in batch])
            for index, answer in zip(batch, answers, strict=True):
                spent = (answer.prompt_tokens or 0) + (answer.completion_tokens or 0)
                self.budget.release(len(prompts[index]) + requests[index].max_tokens, spent)
                on_response(index, answer)

    def _length_error(self, prompt_tokens: int, max_tokens: int) -> str | None:
        positions = getattr(self.model.config, "max_position_embeddings", None)
        if positions is None or prompt_tokens + max_tokens <= positions:
            return None
        return f"not asked: {prompt_tokens} tokens and an answer of up to {max_tokens} are more than the model's {positions}"

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a prompt, up to where the answer begins."""
        # The template lays out marks; the contents take their places as tokens, so that none of them is special.
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
        # Some templates have no place for a system's turn: it goes before the user's.
        joined = Message("user", f"{marked[0].content}\n\n{marked[1].content}")
        return self._fill_template(self._apply_template([joined, *marked[2:]]), contents)

    def _apply_template(self, messages: Sequence[Message]) -> str:
        turns = [{"role": role, "content": content} for role, content in messages]
        return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _fill_template(self, rendered: str, contents: Sequence[str]) -> list[int]:
        pieces = _PLACEHOLDER.split(rendered)  # text, number, text, number, ..., text
        if pieces[1::2] != [str(index) for index in range(len(contents))]:
            raise InputError(f"{self.name}: its chat template does not show every message once.")
        pieces[1::2] = contents
        ids: list[int] = []
        for place, piece in enumerate(pieces):
            ids += self.tokenizer.encode(
                piece, add_special_tokens=False, split_special_tokens=place % 2 == 1, verbose=False
            )
        return ids

    @torch.inference_mode()
    def _generate_batch(self, prompts: Sequence[list[int]], requests: Sequence[ChatRequest]) -> list[ChatResponse]:
        if not prompts:
            return []
        longest = max(map(len, prompts))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[pad] * (longest - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        settings = GenerationConfig(
            max_new_tokens=max(request.max_tokens for request in requests),
            do_sample=False,  # the processor draws
            eos_token_id=self._eos_token_ids or None,
            pad_token_id=pad,
        )
        rows = self.model.generate(
            ids.to(self.device),
            attention_mask=mask.to(self.device),
            generation_config=settings,
            logits_processor=LogitsProcessorList([PerRowSampler(requests)]),
        )[:, longest:].tolist()
        return [
            self._to_response(row, len(prompt), request)
            for row, prompt, request in zip(rows, prompts, requests, strict=True)
        ]

    def _to_response(self, token_ids: list[int], prompt_tokens: int, request: ChatRequest) -> ChatResponse:
        token_ids = token_ids[: request.max_tokens]
        end = next((place for place, token in enumerate(token_ids) if token in self._eos_token_ids), None)
        text = self.tokenizer.decode(token_ids[:end], skip_special_tokens=True)
        count = len(token_ids) if end is None else end + 1
        finish = "length" if end is None else "stop"
        return ChatResponse(text, finish, prompt_tokens, count, STATUS_OK if text else f"no text ({finish})")


class _RowSampling(NamedTuple):
    temperature: float
    top_p: float
    generator: torch.Generator


class PerRowSampler(LogitsProcessor):
    """Turns greedy search into draws, every row by its own seed, so that a row does not depend on its batch.

    The largest of logit / temperature + Gumbel noise is a draw from the softmax (Gumbel, 1954; Maddison et al., 2014).
    Rows of temperature 0 stay as they are.

    Args:
        requests: One for each row.
    """

    def __init__(self, requests: Sequence[ChatRequest]) -> None:
        self.rows = [
            _RowSampling(request.temperature, request.top_p, torch.Generator().manual_seed(request.seed))
            for request in requests
        ]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """(B, L) tokens so far and (B, V) logits to (B, V) whose largest is the next token."""
        scores = scores.float().clone()
        for row, (temperature, top_p, generator) in enumerate(self.rows):
            if temperature == 0:
                continue
            logits = scores[row] / temperature  # (V,)
            if top_p < 1:
                ordered, places = logits.softmax(-1).sort(descending=True)
                before = ordered.cumsum(-1) - ordered  # probability of all likelier tokens
                logits[places[before >= top_p]] = -torch.inf
            uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64).clamp_min(1e-300)
            scores[row] = logits + (-(-uniform.log()).log()).to(logits)
        return scores


def _plain_layout(messages: Sequence[Message]) -> str:
    """A layout for models without a chat template."""
    titles = {"system": "", "user": "User: ", "assistant": "Assistant: "}
    return "\n\n".join([f"{titles[role]}{content}" for role, content in messages] + ["Assistant:"])


def _eos_token_ids(*ids: int | list[int] | None) -> list[int]:
    """Tokens that end an answer, from one number, several or none."""
    found = {token for entry in ids if entry is not None for token in (entry if isinstance(entry, list) else [entry])}
    return sorted(found)
