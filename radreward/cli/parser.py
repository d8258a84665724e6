"""The list of commands, and the parser that calls a command's `run` with its options."""

from __future__ import annotations

from argparse import ArgumentError
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from jsonargparse import ArgumentParser, Namespace

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.help import CommandHelpFormatter, command_list
from radreward.cli.signature import add_signature, call_with_options
from radreward.errors import InputError
from radreward.extras import require_extra
from radreward.io.terminal import print_line

COMMANDS: dict[str, str | None] = {
    "synthesize": None,
    "fit": "train",
    "evaluate": "report",
    "score": None,
    "tune": "train",
    "compare": "report",
    "convert": None,
    "benchmark": "report",
    "summarize": "report",
    "rate": None,
    "serve": "serve",
    "judge-sentences": None,
    "fit-regressor": "report",
    "experiments": None,
    "list": None,
}
"""Commands in the order of `radreward --help`, with the extra that each needs; each is the module of that name."""


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that a command line names.

    Args:
        arguments: The command and its options; without any, the help is printed.

    Returns:
        The exit code of the command.

    Raises:
        InputError: If there is no such command, its extra is not installed, or an option is unknown, missing or wrong.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print_line(command_list({name: _summary(_module(name)) for name in COMMANDS}))
        return 0
    if arguments[0] == "--version":
        print_line(f"radreward {version('radreward')}")
        return 0
    name, *options = arguments
    option, _, value = name.partition("=")
    if option == "--print-completion":
        _print_completion(" ".join([value, *options]).strip())
        return 0
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`radreward --help` lists them."
        raise InputError(f"Expected a command but got {name!r}. {hint}")
    command = _module(name)
    if name == "fit":  # its options are the constructors of what it builds
        run: Callable[[], int] = partial(command.run, options)
    else:
        run = partial(call_with_options, command.run, parse_options(name, options))
    if extra := COMMANDS[name]:
        require_extra(f"`radreward {name}`", extra)
    with suppress_library_warnings(), user_errors():
        return run()


def parse_options(name: str, arguments: Sequence[str]) -> Namespace:
    """Parse the options of a command other than `fit`, without running it.

    Raises:
        InputError: If an option is unknown, missing or wrong.
    """
    command = _module(name)
    parser = ArgumentParser(
        prog=f"radreward {name}",
        description=_summary(command),
        formatter_class=CommandHelpFormatter,
        exit_on_error=False,
        allow_abbrev=False,
    )
    add_signature(parser, command.run)
    try:
        options: Namespace = parser.parse_args(arguments)
    except ArgumentError as error:
        from radreward.cli.option_errors import option_error

        raise InputError(option_error(str(error), name)) from error
    return options


def _print_completion(shell: str) -> None:
    from radreward.cli.completion import completion_script

    print_line(completion_script(shell, {name: _module(name).run for name in COMMANDS}))


def _module(name: str) -> ModuleType:
    return import_module(f"radreward.cli.{name.replace('-', '_')}")


def _summary(command: ModuleType) -> str:
    return (command.run.__doc__ or "").splitlines()[0]
