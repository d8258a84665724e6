"""Options of the commands that ask a language model, and the model they describe."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from radreward.cli.errors import user_errors
from radreward.cli.inputs import check_minimum
from radreward.errors import InputError
from radreward.io.terminal import print_status

if TYPE_CHECKING:
    from radreward.llm import ChatModel


@dataclass(frozen=True)
class LLMOptions:
    """Choice of a language model, and limits of its use.

    Args:
        chat: A server with the OpenAI protocol, or a model on this machine.
        model: Name of the model; with `--chat local` a folder or a Hub name. Defaults to OPENAI_MODEL.
        base_url: Address of the server. Defaults to OPENAI_BASE_URL.
        temperature: Sampling temperature.
        max_tokens: Maximum number of tokens in an answer.
        max_tokens_field: Request field that limits the length of an answer.
        allow_remote: Allow reports to leave this machine for the server.
        concurrency: Maximum number of simultaneous requests, or rows per batch with `--chat local`.
        timeout: Seconds after which a request fails.
        budget: Maximum number of tokens of all requests and answers; by default unlimited.
        dry_run: Print the number of requests and tokens and send nothing.
    """

    chat: Literal["server", "local"] = "server"
    model: str | None = None
    base_url: str | None = None
    temperature: float = 1.0
    max_tokens: int = 4096
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    allow_remote: bool = False
    concurrency: int = 16
    timeout: float = 120.0
    budget: int | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Check the settings of the answers early: they are used long after the model is loaded."""
        check_minimum(0, temperature=self.temperature)
        check_minimum(1, max_tokens=self.max_tokens)

    def load(self, cache: Path) -> ChatModel:
        """Return the model; its responses are cached in the file `cache`.

        Raises:
            InputError: If there is no such model, or a number is out of range.
        """
        from radreward.llm import LocalChatModel, OpenAIChatModel, ResponseCache

        warnings.showwarning = _print_warning  # restored after the command, by `suppress_library_warnings`
        with user_errors(constructing=True):
            if self.chat == "server":
                return OpenAIChatModel(
                    self.model,
                    self.base_url,
                    self.max_tokens_field,
                    self.allow_remote,
                    self.concurrency,
                    timeout=self.timeout,
                    cache=ResponseCache(cache),
                    budget=self.budget,
                    progress=True,
                )
            if not self.model:
                raise InputError("--model: Expected the folder or the name of a model for --chat local but got none.")
            return LocalChatModel(
                self.model, self.concurrency, cache=ResponseCache(cache), budget=self.budget, progress=True
            )


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning about data that leave this machine, without a line of source code."""
    print_status(f"radreward: {message}")
