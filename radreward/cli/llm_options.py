"""Which language model a command asks: arguments, and the model that they mean."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from radreward.llm import ChatModel


def add_chat(parser: ArgumentParser, max_tokens: int = 2048) -> None:
    """Arguments of commands that ask a language model."""
    group = parser.add_argument_group("language model")
    group.add_argument(
        "--chat", choices=("server", "local"), default="server", help="a server that speaks OpenAI's protocol, or here"
    )
    group.add_argument("--model", default=None, help="its name; with local, a folder or a hub name; else OPENAI_MODEL")
    group.add_argument("--base-url", default=None, help="of the server; else OPENAI_BASE_URL")
    group.add_argument(
        "--length-field",
        choices=("max_tokens", "max_completion_tokens"),
        default="max_tokens",
        help="the field by which the server bounds an answer",
    )
    group.add_argument("--send-reports", action="store_true", help="let reports leave this machine for the server")
    group.add_argument("--concurrency", type=int, default=16, help="requests under way at a time, or rows of a batch")
    group.add_argument("--timeout", type=float, default=120.0, help="seconds for an attempt of a request")
    group.add_argument("--max-tokens", type=int, default=max_tokens, help="of an answer")
    group.add_argument("--budget", type=int, default=None, help="tokens that may be spent in all; no limit without")


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What leaves the machine, without a line of code."""
    print(f"radreward: {message}", file=sys.stderr)


def chat_model(options: Namespace, cache: Path) -> ChatModel:
    """The model that the arguments mean; its answers are kept in `cache`. Called inside `quiet`.

    Raises:
        InputError: If there is no such model.
        ValueError: If a number is out of its range.
    """
    from radreward.errors import InputError
    from radreward.llm import LocalChatModel, OpenAIChatModel, ResponseCache

    warnings.showwarning = _tell  # until the end of `quiet`
    if options.chat == "server":
        return OpenAIChatModel(
            options.model,
            options.base_url,
            options.length_field,
            options.send_reports,
            options.concurrency,
            timeout=options.timeout,
            cache=ResponseCache(cache),
            budget=options.budget,
            progress=True,
        )
    if not options.model:
        raise InputError("--model: Expected the folder or the name of a language model with --chat local.")
    return LocalChatModel(
        options.model, options.concurrency, cache=ResponseCache(cache), budget=options.budget, progress=True
    )
