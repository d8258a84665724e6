"""One-line error messages, and filters for library warnings nobody can act on."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from radreward.errors import InputError
from radreward.io.terminal import print_status
from radreward.io.yaml_files import read_yaml

_BOILERPLATE = (
    "Does not validate against",
    "Subtypes:",
    "Errors:",
    "Given value type:",
    "Given value: Namespace",
    "Given value: NestedArg",
    "Expected a <class 'NoneType'>",
    "Expected a path but",
)
"""Starts of the lines that jsonargparse prints around the relevant one."""


_MISSING_CLASS = re.compile(
    r"class_path '([\w.]+)':\s*(?:- )?(?:No module named '([\w.]+)'|module '[\w.]+' has no attribute)"
)


@contextmanager
def suppress_library_warnings() -> Iterator[None]:
    """Hide warnings that libraries raise on import."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.", DeprecationWarning)
        yield


@contextmanager
def user_errors(constructing: bool = False) -> Iterator[None]:
    """Convert errors that the user can fix into `InputError`; all others keep their traceback.

    Args:
        constructing: True if constructors run on the user's settings, so that a ValueError is about these.

    Raises:
        InputError: For wrong settings, unusable files, and values that are not finite.
    """
    kinds = (FloatingPointError, ValueError, TypeError) if constructing else (FloatingPointError,)
    try:
        yield
    except InputError:
        raise
    except ArgumentError as error:
        raise InputError(simplify_jsonargparse_error(str(error))) from error
    except OSError as error:
        path = error.filename2 or error.filename
        if path is None:  # a pipe or a network
            raise
        raise InputError(f"{path}: cannot be used ({error.strerror}).") from error
    except Exception as error:
        # Lightning's exception is compared by name: importing it takes seconds, and few commands train.
        if isinstance(error, kinds) or type(error).__name__ == "MisconfigurationException":
            raise InputError(simplify_jsonargparse_error(str(error))) from error
        raise


def discard_unwritable_output() -> None:
    """Discard what is left to print if nobody reads it; otherwise Python ends with a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn_overwrite(path: Path) -> None:
    """Print a line if a run will replace an existing file.

    Args:
        path: The file.
    """
    if path.exists():
        print_status(f"This run will replace {path}.")


def validate_config_files(arguments: Sequence[str]) -> None:
    """Check that every file after `--config` is a YAML mapping; jsonargparse does not name the file.

    Args:
        arguments: The command line of `fit`.

    Raises:
        InputError: If a file is missing, a directory, no YAML, or no mapping; names the file, line and column.
    """
    for index, entry in enumerate(arguments):
        name, _, value = entry.partition("=")
        if name not in ("--config", "-c"):
            continue
        path = Path(value or "".join(arguments[index + 1 : index + 2]))
        if path.is_dir():
            raise InputError(f"{path}: Expected a YAML file but got a directory.")
        if not path.is_file():
            raise InputError(f"{path}: Expected a YAML file but there is no such file.{_nearest_file(path)}")
        settings = read_yaml(path)
        if not isinstance(settings, dict):
            got = "an empty file" if settings is None else type(settings).__name__
            raise InputError(f"{path}: Expected settings as `key: value` but got {got}.")


def _nearest_file(path: Path) -> str:
    """Return a hint at the file of the same folder with the most similar name, or of the nearest existing folder."""
    folder = next((parent for parent in path.parents if parent.is_dir()), Path())
    files = {entry.name: entry for entry in sorted(folder.rglob("*.y*ml"))[:1000]}
    near = get_close_matches(path.name, files, n=1)
    return f" Did you mean {files[near[0]]}?" if near else ""


def error_line(error: BaseException) -> str:
    r"""Return the message of an error without line breaks; of an error in a worker process, the worker's message.

    Args:
        error: The error.

    >>> error_line(ValueError("Caught it in a worker.\nTraceback ...\nradreward.errors.InputError: a.csv: gone"))
    'a.csv: gone'
    """
    text = str(error).strip()
    match = re.search(r"Traceback.*\n(?:[\w.]+Error): (.*)", text, re.DOTALL)
    return " ".join((match[1] if match else text).split())


def simplify_jsonargparse_error(text: str) -> str:
    r"""Return the relevant line of a jsonargparse message.

    Args:
        text: The message.

    >>> simplify_jsonargparse_error('Parser key "data.records":\n  Expected a <class \'str\'>. Got value: 3')
    'data.records: Expected a str. Got value: 3'
    >>> simplify_jsonargparse_error('Parser key "model":\n  - Problem:\n    Parser key "rank":\n Expected a number.')
    'model.rank: Expected a number.'
    >>> simplify_jsonargparse_error('Parser key "a":\n  - Expected a <class \'int\'>\n  - Expected a <class \'bool\'>')
    'a: Expected a int; Expected a bool'
    """
    keys = re.findall(r'[Pp]arser key "([^"]+)"', text)
    key = ".".join(keys)
    if len(keys) > 1:  # a class inside a class: the innermost one is wrong
        text = re.sub(r'.*[Pp]arser key "[^"]+"', f'Parser key "{key}"', text, flags=re.DOTALL)
    if match := re.search(r"Expected a dot import path string: (\S+)", text):
        return _unknown_class(key, match[1], text)
    if (match := _MISSING_CLASS.search(text)) and (not match[2] or match[1].startswith(f"{match[2]}.")):
        return f"{key}: there is no class {match[1]!r}. {_searched(match[1])}"
    if match := re.search(r"class_path '([\w.]+)':\s+Option '(\w+)' is not accepted", text):
        return _unknown_option(key, match[1], match[2])
    if match := re.search(r"class_path '[\w.]+':\s+the following arguments are required: (\w+)", text):
        return f"{key}.{match[1]}: Expected a value but there is none. Set --{key}.{match[1]}."
    if match := re.search(r"Call to compute_fn of link .* failed: (.*)", text, re.DOTALL):
        return match[1]
    if match := re.search(r"unrecognized arguments: (.*)", text, re.DOTALL):
        return f"unknown setting {match[1].split()[0]}; `radreward fit --help` lists all."
    if match := re.search(
        r"Key '?([\w.]+)'? is not expected|Group '?([\w.]+)'? does not accept (?:nested key|option) '?([\w.]+)", text
    ):
        return f"unknown setting {match[1] or f'{match[2]}.{match[3]}'}; `radreward fit --help` lists all."
    if match := re.search(r"Not a valid subclass of (\w+)\. Got value: (.*)", text):
        return f"{key}: Expected the name of a {match[1]}, or class_path and init_args, but got {match[2]}."
    lines = [re.sub(r'[Pp]arser key "([^"]+)":', r"\1:", line.strip().removeprefix("- ")) for line in text.splitlines()]
    relevant = dict.fromkeys(line for line in lines if line and not line.startswith(_BOILERPLATE))
    plain = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", "; ".join(relevant).replace(":; ", ": "))
    plain = re.sub(r"; Given value: (.*)$", r" (given: \1)", plain)
    return re.sub(r"typing\.Literal\[(.*?)\]", r"one of \1", plain)


def _unknown_class(key: str, name: str, text: str) -> str:
    """Return the message for a class that cannot be imported: the file that was searched, or a similar class."""
    match = re.search(r"<class '(?!jsonargparse)(\w+\.[\w.]*)\.(\w+)'>", text)
    module, base = match.groups() if match else ("radreward.data.collators.base", "Collator")
    names = sorted(_concrete_subclasses(getattr(importlib.import_module(module), base)))
    by_lowercase = {entry.lower(): entry for entry in names}
    near = get_close_matches(name.rsplit(".", 1)[-1].lower().replace("-", ""), by_lowercase, n=1)
    if near:
        hint = f"Did you mean {by_lowercase[near[0]]}?"
    elif "." in name:
        hint = _searched(name)
    else:
        hint = f"Expected one of {', '.join(names)}, or the import path of a class of your own."
    return f"{key}: there is no {base} {name!r}. {hint}"


def _searched(path: str) -> str:
    """Return what was looked for under the import path of a user's class."""
    module, _, name = path.rpartition(".")
    file = f"{module.replace('.', '/')}.py"
    if Path(file).is_file():
        return f"{file} defines no {name}."
    return f"There is no file {file} in {Path.cwd()}; give the import path from the folder you work in."


def _concrete_subclasses(family: type) -> set[str]:
    names = set() if inspect.isabstract(family) else {family.__name__}
    return names.union(*map(_concrete_subclasses, family.__subclasses__()))


def _unknown_option(key: str, path: str, option: str) -> str:
    module, name = path.rsplit(".", 1)
    options = list(inspect.signature(getattr(importlib.import_module(module), name)).parameters)
    near = get_close_matches(option, options, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Expected one of {', '.join(options)}."
    return f"{key}: {name} has no setting {option!r}. {hint if options else 'It has none.'}"
