"""The list of commands, and how a command line becomes a call of a command's `run`."""

from __future__ import annotations

import re
from argparse import ArgumentError
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from jsonargparse import ArgumentParser, Namespace

from radreward.cli.signature import CommandHelpFormatter, add_signature, call_with_options
from radreward.errors import InputError
from radreward.io.terminal import print_line

COMMANDS = (
    *("synthesize", "fit", "evaluate", "score", "tune", "compare"),
    *("convert", "benchmark", "summarize", "rate", "serve"),
    *("judge-sentences", "fit-regressor", "refine"),
    *("synthesize-llm", "review-agreement", "experiments", "list"),
)
"""Commands in the order of `radreward --help`; each is the module of that name."""


def run_command(arguments: Sequence[str]) -> int:
    """Run the command that a command line names.

    Args:
        arguments: The command and its options; without any, the help is printed.

    Returns:
        The exit code of the command.

    Raises:
        InputError: If there is no such command, or an option is unknown, missing or wrong.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        print_line(_help())
        return 0
    if arguments[0] == "--version":
        print_line(f"radreward {version('radreward')}")
        return 0
    name, *options = arguments
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`radreward --help` lists them."
        raise InputError(f"Expected a command but got {name!r}. {hint}")
    command = _module(name)
    if name == "fit":  # its options are the constructors of what it builds
        code: int = command.run(options)
        return code
    return call_with_options(command.run, parse_options(name, options))


def parse_options(name: str, arguments: Sequence[str]) -> Namespace:
    """Parse the options of a command other than `fit`, without running it.

    Args:
        name: The command.
        arguments: Its options.

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
        raise InputError(f"{_option_error(str(error))} See `radreward {name} --help`.") from error
    return options


def _module(name: str) -> ModuleType:
    return import_module(f"radreward.cli.{name.replace('-', '_')}")


def _summary(command: ModuleType) -> str:
    return (command.run.__doc__ or "").splitlines()[0]


def _help() -> str:
    rows = (f"  {name:<18}{_summary(_module(name))}" for name in COMMANDS)
    return "\n".join(
        (
            "usage: radreward COMMAND [options]",
            "",
            "Train and use metrics that judge radiology reports. For research only.",
            "",
            "commands:",
            *rows,
            "",
            "`radreward COMMAND --help` lists the options of a command; `radreward --version` prints the version.",
        )
    )


def _option_error(text: str) -> str:
    r"""Return the relevant line of a jsonargparse message, with the option as the user types it.

    >>> _option_error('Parser key "per_reference":\n  Expected a <class \'int\'>. Got value: x')
    '--per-reference: Expected an int but got x.'
    >>> _option_error("the following arguments are required: output, input")
    'Expected the options --output, --input.'
    >>> _option_error("unrecognized arguments: --per 3")
    'Expected a known option but got --per.'
    """
    if match := re.search(r"arguments are required: (.*)", text):
        names = [f"--{name.replace('_', '-')}" for name in match[1].split(", ")]
        return f"Expected the option{'s' * (len(names) > 1)} {', '.join(names)}."
    if match := re.search(r"unrecognized arguments: (\S+)", text):
        return f"Expected a known option but got {match[1]}."
    if match := re.search(r'[Pp]arser key "(\w+)":\s+(?:- )?Expected a (.*?)\. Got value: (.*)', text, re.DOTALL):
        option, kind, value = f"--{match[1].replace('_', '-')}", match[2], match[3].splitlines()[0]
        if choices := re.search(r"Literal\[(.*)\]", kind):
            listed = choices[1].replace("'", "")
            return f"{option}: Expected one of {listed} but got {value}."
        name = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", kind)
        return f"{option}: Expected {'an' if name[0] in 'aeiou' else 'a'} {name} but got {value}."
    return f"{' '.join(text.split())}."
