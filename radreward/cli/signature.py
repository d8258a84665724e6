"""Command-line options from the typed signature of a command: one option per parameter, help from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from docstring_parser import parse as parse_docstring
from jsonargparse import ArgumentParser, Namespace

_REQUIRED = inspect.Parameter.empty
_MAX_CHOICES = 40
"""Letters of all choices of an option up to which they are its placeholder in the help."""


class _Option(NamedTuple):
    name: str
    type: Any
    default: Any
    positional: bool
    help: str


def _signature_options(owner: Any) -> Iterator[_Option]:
    """Yield the options of a function or a dataclass; fields of a dataclass parameter follow in its place."""
    types = get_type_hints(owner)
    helps = {entry.arg_name: entry.description or "" for entry in parse_docstring(owner.__doc__ or "").params}
    for name, parameter in inspect.signature(owner).parameters.items():
        if is_dataclass(types[name]):
            yield from _signature_options(types[name])
        else:
            positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            text = " ".join(helps[name].split()).rstrip(".")
            yield _Option(name.rstrip("_"), types[name], parameter.default, positional, text)


def signature_arguments(function: Callable[..., Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and settings of one option per parameter of a function, for `ArgumentParser.add_argument`.

    A positional-only parameter becomes a positional argument, a `bool` a flag, a `Sequence` takes several values, and
    the fields of a dataclass become options of their own. The parameter of `--from` is `from_`, because Python reserves
    the word. The function needs type hints and a docstring in Google style.
    """
    for option in _signature_options(function):
        settings: dict[str, Any] = {"help": option.help}
        if option.default is not _REQUIRED:
            settings["default"] = list(option.default) if isinstance(option.default, tuple) else option.default
        elif not option.positional:
            settings["required"] = True
        if option.type is bool:
            settings["action"] = "store_true"
        elif get_origin(option.type) is Sequence:
            nargs = "*" if option.positional and "default" in settings else "+"
            settings |= {"type": get_args(option.type)[0], "nargs": nargs}
        else:
            given = [kind for kind in get_args(option.type) if kind is not NoneType]
            # The error for `int | None` would list both.
            settings["type"] = given[0] if NoneType in get_args(option.type) and len(given) == 1 else option.type
        settings |= _placeholder(option)
        yield option.name if option.positional else f"--{option.name.replace('_', '-')}", settings


def _placeholder(option: _Option) -> dict[str, str]:
    """Return the placeholder of the value in `--help`; the help names choices that are too many for one."""
    kinds = (option.type, *get_args(option.type))
    if option.type is bool:
        return {}
    if get_origin(option.type) is Literal:
        choices = get_args(option.type)
        if sum(map(len, choices)) <= _MAX_CHOICES:
            return {}
        return {"metavar": "NAME", "help": f"{option.help}: {', '.join(choices)}"}
    for kind, name in ((Path, "PATH"), (int, "N"), (float, "X")):
        if kind in kinds:
            return {"metavar": name}
    return {} if option.positional else {"metavar": option.name.removesuffix("_by").rpartition("_")[2].upper()}


def add_signature(parser: ArgumentParser, function: Callable[..., Any]) -> None:
    """Add one option per parameter of a function to a parser, see `signature_arguments`."""
    for name, settings in signature_arguments(function):
        parser.add_argument(name, **settings)


def call_with_options(function: Callable[..., int], options: Namespace) -> int:
    """Call a function with the parsed options that `add_signature` added for it."""
    types = get_type_hints(function)
    positional, keyword = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        value = _value(name, types[name], options)
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            keyword[name] = value
    return function(*positional, **keyword)


def _value(name: str, kind: Any, options: Namespace) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        types = get_type_hints(kind)
        return kind(**{field.name: _value(field.name, types[field.name], options) for field in fields(kind)})
    return options[name.rstrip("_")]
