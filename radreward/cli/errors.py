"""What is wrong, in one line; and silence about what nobody can mend."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import yaml

from radreward.errors import InputError

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
"""What jsonargparse says around the line that matters."""


@contextmanager
def suppress_library_warnings() -> Iterator[None]:
    """Without what libraries say on import and nobody can act on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.", DeprecationWarning)
        yield


@contextmanager
def user_errors(constructing: bool = False) -> Iterator[None]:
    """Turn what users can mend into `InputError`, files that cannot be used too; the rest keeps its traceback.

    Args:
        building: Whether constructors run on users' settings, so that a ValueError is about these.
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
        if path is None:
            raise
        raise InputError(f"{path}: cannot be used ({error.strerror}).") from error
    except Exception as error:
        # Lightning's, by its name: to import it takes seconds, and few commands train.
        if isinstance(error, kinds) or type(error).__name__ == "MisconfigurationException":
            raise InputError(simplify_jsonargparse_error(str(error))) from error
        raise


def warn_overwrite(path: Path) -> None:
    """One line, where a run that begins will replace what another has written."""
    if path.exists():
        print(f"Will be replaced by this run: {path}", file=sys.stderr)


def validate_config_files(arguments: Sequence[str]) -> None:
    """Read the files after --config for what jsonargparse tells without a name: one of them is no YAML.

    Raises:
        InputError: If one cannot be read; names the file, the line and the column.
    """
    for at, entry in enumerate(arguments):
        name, _, given = entry.partition("=")
        path = Path(given or "".join(arguments[at + 1 : at + 2]))
        if name not in ("--config", "-c") or not path.is_file():
            continue
        try:
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            raise InputError(f"{path}{where}: Expected YAML but {error.problem}.") from error
        except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: Expected YAML in UTF-8 but it cannot be read ({one_line(error)}).") from error
        if not isinstance(settings, dict):
            found = "nothing" if settings is None else type(settings).__name__
            raise InputError(f"{path}: Expected settings by name but got {found}.")


def one_line(error: BaseException) -> str:
    r"""The message without line breaks; of an error in a worker process only what the worker said.

    >>> one_line(ValueError("Caught it in a worker.\nTraceback ...\nradreward.errors.InputError: a.csv: gone"))
    'a.csv: gone'
    """
    text = str(error).strip()
    found = re.search(r"Traceback.*\n(?:[\w.]+Error): (.*)", text, re.DOTALL)
    return " ".join((found[1] if found else text).split())


def simplify_jsonargparse_error(text: str) -> str:
    r"""The line that matters in a message of jsonargparse.

    >>> explain('Parser key "data.records":\n  Expected a <class \'str\'>. Got value: 3')
    'data.records: Expected a str. Got value: 3'
    >>> explain('Parser key "model":\n  - Problem with class_path:\n    Parser key "hidden":\n Expected a number.')
    'model.hidden: Expected a number.'
    >>> explain('Parser key "a":\n  - Expected a <class \'int\'>\n  - Expected a <class \'bool\'>\n  Given value: x')
    'a: Expected a int; Expected a bool (given: x)'
    """
    keys = re.findall(r'[Pp]arser key "([^"]+)"', text)
    key = ".".join(keys)
    if len(keys) > 1:  # a class inside a class: the innermost is what is wrong
        text = re.sub(r'.*[Pp]arser key "[^"]+"', f'Parser key "{key}"', text, flags=re.DOTALL)
    if found := re.search(r"Expected a dot import path string: (\S+)", text):
        return _unknown_class(key, found[1], text)
    if found := re.search(r"class_path '([\w.]+)':\s+Option '(\w+)' is not accepted", text):
        return _unknown_option(key, found[1], found[2])
    if found := re.search(r"unrecognized arguments: (.*)", text, re.DOTALL):
        return f"unknown setting {found[1].split()[0]}; `radreward fit --help` lists all."
    if found := re.search(
        r"Key '?([\w.]+)'? is not expected|Group '?([\w.]+)'? does not accept nested key '?([\w.]+)", text
    ):
        return f"unknown setting {found[1] or f'{found[2]}.{found[3]}'}; `radreward fit --help` lists all."
    if found := re.search(r"Not a valid subclass of (\w+)\. Got value: (.*)", text):
        where = "criteria" if key.endswith(".criteria") else key  # named once, linked to where they are used
        return f"{where}: Expected the name of a {found[1]}, or class_path and init_args, but got {found[2]}."
    lines = [re.sub(r'[Pp]arser key "([^"]+)":', r"\1:", line.strip().removeprefix("- ")) for line in text.splitlines()]
    kept = dict.fromkeys(line for line in lines if line and not line.startswith(_BOILERPLATE))
    plain = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", "; ".join(kept).replace(":; ", ": "))
    plain = re.sub(r"; Given value: (.*)$", r" (given: \1)", plain)
    return re.sub(r"typing\.Literal\[(.*?)\]", r"one of \1", plain)


def _unknown_class(key: str, name: str, text: str) -> str:
    """Which class was meant, where one of the family has a like name."""
    found = re.search(r"<class '(?!jsonargparse)(\w+\.[\w.]*)\.(\w+)'>", text)
    module, base = found.groups() if found else ("radreward.data.collators.base", "Collator")
    family = getattr(importlib.import_module(module), base)
    names = sorted(_concrete(family))
    plain = {entry.lower(): entry for entry in names}  # `radcliq-significance` means RadCliQSignificance
    near = get_close_matches(name.rsplit(".", 1)[-1].lower().replace("-", ""), plain, n=1)
    hint = f"Did you mean {plain[near[0]]}?" if near else f"Expected one of {', '.join(names)}, or a class of your own."
    return f"{key}: there is no {base} {name!r}. {hint}"


def _concrete(family: type) -> set[str]:
    names = set() if inspect.isabstract(family) else {family.__name__}
    return names.union(*map(_concrete, family.__subclasses__()))


def _unknown_option(key: str, path: str, option: str) -> str:
    module, name = path.rsplit(".", 1)
    options = list(inspect.signature(getattr(importlib.import_module(module), name)).parameters)
    near = get_close_matches(option, options, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Expected one of {', '.join(options)}."
    if not options:
        hint = "It has none."
    if key == "criteria":
        hint += " A file of criteria is set with --criteria=CriteriaFromYAML --criteria.path=FILE."
    return f"{key}: {name} has no setting {option!r}. {hint}"
