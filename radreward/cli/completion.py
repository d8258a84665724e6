"""Scripts with which a shell completes the commands, their options and the values of these."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import shtab

from radreward.cli.fit_options import FIT_OPTIONS
from radreward.cli.signature import signature_arguments
from radreward.errors import InputError

SHELLS = ("bash", "zsh", "tcsh")
"""Shells for which `completion_script` returns a script."""


def completion_script(shell: str, commands: Mapping[str, Callable[..., int]]) -> str:
    """Return a script that completes `radreward` in a shell.

    It completes commands, options, choices, and paths of files. Of `fit`, whose other options are the settings of what
    it builds, it completes the options of `FIT_OPTIONS`.

    Args:
        shell: One of `SHELLS`.
        commands: Functions of the commands by name; see `signature_arguments`.

    Raises:
        InputError: If the shell is unknown.
    """
    if shell not in SHELLS:
        raise InputError(
            f"--print-completion: Expected one of {', '.join(SHELLS)} but got {repr(shell) if shell else 'nothing'}."
        )
    parser = ArgumentParser(prog="radreward")
    parser.add_argument("--version", action="store_true", help="Print the version")
    parser.add_argument("--print-completion", choices=SHELLS, help="Print a script that completes commands")
    subparsers = parser.add_subparsers()
    for name, run in commands.items():
        summary = (run.__doc__ or "").splitlines()[0]
        command = subparsers.add_parser(name, help=summary, description=summary)
        for option, settings in _fit_arguments() if name == "fit" else signature_arguments(run):
            _add_argument(command, option, settings)
    return shtab.complete(parser, shell)


def _fit_arguments() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "--config", {"type": Path, "help": "YAML file of settings"}
    yield "--seed", {"type": int, "help": "Seed of the run"}
    for name, settings in FIT_OPTIONS.items():
        kind = Path if name in ("run_dir", "ckpt_path", "init_from", "criteria") else settings["type"]
        yield f"--{name.replace('_', '-')}", {**settings, "type": kind}


def _add_argument(parser: ArgumentParser, name: str, settings: Mapping[str, Any]) -> None:
    """Add an option; its type, which argparse need not know, becomes the choices or the completion of paths."""
    kind = settings.get("type")
    known = {key: value for key, value in settings.items() if key != "type"}
    if get_origin(kind) is Literal:
        known["choices"] = get_args(kind)
    action = parser.add_argument(name, **known)
    if Path in (kind, *get_args(kind)):
        vars(action)["complete"] = shtab.FILE
