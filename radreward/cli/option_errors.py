"""Messages of jsonargparse as one line: the option, "Expected … but got …", and a remedy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from pydoc import locate
from traceback import extract_tb
from typing import get_type_hints

from radreward.cli.arguments import OPTIONS
from radreward.cli.fit_options import FIT_OPTIONS

_KEY = re.compile(r'[Pp]arser key "([^"]+)":?')
_ARGUMENTS = {"runs": "PATH"}
"""Placeholders of arguments that are no options."""
_REQUIRED = re.compile(r"arguments are required: (.*)")
_UNRECOGNIZED = re.compile(r"unrecognized arguments: ([^\s=]+)(?:=(\S+))?")
_WITHOUT_VALUE = re.compile(r"argument (\S+): expected (?:at least )?one argument")
_NEEDLESS_VALUE = re.compile(r"argument (\S+): ignored explicit argument (.*)")
_UNKNOWN = re.compile(
    r"(?:class_path '(?P<path>[\w.]+)':|Group '(?P<group>[\w.]+)' does not accept|)\s*"
    r"(?:nested key|[Oo]ption|Key) '?(?P<name>[\w.]+)'? is not (?:accepted|expected)"
    r"|Group '(?P<parent>[\w.]+)' does not accept (?:nested key|option) '?(?P<child>[\w.]+)"
)
_NO_CLASS = re.compile(
    r"dot import path string: (?P<name>\S+)"
    r"|class_path '(?P<path>[\w.]+)':\s*(?:- )?(?:No module named|module '[\w.]+' has no attribute)"
    r"|Not a valid subclass of|Import path (?P<other>[\w.]+) does not correspond to a subclass of"
    r" (?P<base>\w+)"
    r"|does not correspond to a subclass of"
)
_ABSTRACT = re.compile(r"Expected an instantiatable class, but (?:(?P<path>[\w.]+) )?is abstract")
_MODULE_OF_CLASS = re.compile(r"(?:Expected a path but |')(\w[\w.]*)\.[A-Z]")
"""A name such as `my_losses.MyLoss`; classes start with a capital letter, names of files do not end with one."""
_TYPE = re.compile(r"<class '(?!jsonargparse)(\w+\.[\w.]+)'>")
_CLASS_PATH = re.compile(r"class_path '([\w.]+)'")
_FAILED_LINK = re.compile(r"Call to compute_fn of link .* failed: (.*)", re.DOTALL)
_KIND = re.compile(r"Expected an? (.+?)(?:\. Got value:|$)", re.MULTILINE)
_VALUE = re.compile(r"(?:Got|Given) value: (.*)")
_NESTED_VALUE = re.compile(r"NestedArg\(key='(.*)', val='(.*)'\)")
_AROUND = (
    "Does not validate against",
    "Problem with given class_path",
    "Subtypes:",
    "Errors:",
    "Given value type:",
    "Given value:",
    "Expected a <class 'NoneType'>",
    "Expected a path but",
)
"""Starts of the lines that jsonargparse prints around a constructor's message."""


def option_error(text: str, command: str) -> str:
    r"""Return a message of jsonargparse, or of a constructor that it called, as one line.

    The remedy refers to the help of `command`, whose options were parsed.

    >>> option_error('Parser key "per_reference":\n  Expected a <class \'int\'>. Got value: x', "synthesize")
    '--per-reference: Expected an int but got x. See `radreward synthesize --help`.'
    >>> option_error("the following arguments are required: output, input", "score")
    'Expected the options --output and --input but got neither. See `radreward score --help`.'
    >>> option_error("unrecognized arguments: --per 3", "score")
    'Expected a known option but got --per. See `radreward score --help`.'
    >>> option_error("Expected `groups` to be >= 1 but got 0.", "synthesize")
    'Expected `groups` to be >= 1 but got 0.'
    """
    return " ".join(_translate(text, command).split())


def _translate(text: str, command: str) -> str:
    """Return the translated message; a value in it may contain line breaks."""
    keys = _KEY.findall(text)
    inner = _KEY.split(text)[-1]  # a class inside a class: the innermost one is wrong
    outer = text.removesuffix(inner)
    key = ".".join(keys)
    prefix = f"{_option(key)}: " if key else ""
    see = f"See `radreward {command} --help`."
    value = _value(key, inner)
    if match := _FAILED_LINK.search(text):
        return match[1]
    if match := _REQUIRED.search(inner):
        names = match[1].split(", ")
        if key:
            return f"{key}.{names[0]}: Expected a value but got none. Set --{key}.{names[0]}."
        options = " and ".join(filter(None, (", ".join(map(_option, names[:-1])), _option(names[-1]))))
        several = len(names) > 1
        kind = "argument" if names[0] in _ARGUMENTS else "option"
        return f"Expected the {kind}{'s' * several} {options} but got {'neither' if several else 'none'}. {see}"
    if match := _UNRECOGNIZED.search(inner):
        return f"Expected a known option but got {match[1]}. {_remedy_of_option(match[1], match[2], command) or see}"
    if match := _WITHOUT_VALUE.search(inner):
        return f"{_option(match[1])}: Expected a value but got none. {see}"
    if match := _NEEDLESS_VALUE.search(inner):
        return f"{_option(match[1])}: Expected no value but got {match[2]}. {see}"
    if match := _UNKNOWN.search(inner):
        path, name = match["path"], match["name"] or match["child"]
        return f"{prefix}{_unknown_setting(path, match['group'] or match['parent'], name, see)}"
    if match := _ABSTRACT.search(inner):
        return f"{prefix}{_missing_methods(match['path'] or value or '')}"
    if failed := next(filter(None, map(_failed_import, _MODULE_OF_CLASS.findall(inner))), None):
        return f"{prefix}{failed}"
    if match := _NO_CLASS.search(inner):
        return f"{prefix}{_unknown_class(match, value, outer, inner)}"
    kinds = [kind for kind in _KIND.findall(inner.split("Given value type:")[0]) if "NoneType" not in kind]
    if kinds and value is not None:
        return f"{prefix}Expected {' or '.join(dict.fromkeys(map(_kind, kinds)))} but got {value}. {see}"
    lines = [line.strip().removeprefix("- ") for line in inner.splitlines()]
    relevant = dict.fromkeys(line for line in lines if line and not line.startswith(_AROUND))
    return prefix + "; ".join(relevant)


def _option(key: str) -> str:
    """Return a key as users type it: an option of the command line, or a setting of a configuration."""
    name = key.removeprefix("--")
    if name in _ARGUMENTS:
        return _ARGUMENTS[name]
    return name if "." in name else f"--{OPTIONS.get(name, name).replace('_', '-')}"


def _unknown_setting(path: str | None, group: str | None, name: str, see: str) -> str:
    """Return the message for an unknown setting of a class, a group or a configuration."""
    owner, known = group or "`radreward fit`", list[str]()
    if path:
        found = locate(path)
        owner, known = path.rpartition(".")[2], _setting_names(found) if callable(found) else []
    if near := get_close_matches(name, known, n=1):
        remedy = f"Did you mean {near[0]}?"
    elif known:
        remedy = f"Its settings are {', '.join(known)}."
    else:
        remedy = "It has none." if path else see
    return f"Expected a setting of {owner} but got {name!r}. {remedy}"


def _remedy_of_option(option: str, value: str | None, command: str) -> str | None:
    """Return how `tune` takes a setting of `fit` that was given to it as an option, or None for another option."""
    name = option.removeprefix("--").replace("-", "_")
    setting = next((setting for setting, option in OPTIONS.items() if option == name), name)
    if command != "tune" or not ("." in setting or setting in FIT_OPTIONS or setting in OPTIONS):
        return None
    return f"Give settings of fit without dashes: {setting}={value or 'VALUE'}."


def _setting_names(found: Callable[..., object]) -> list[str]:
    """Return the parameters of a constructor or function; **kwargs stands for those of the next base class."""
    names: dict[str, None] = {}
    for owner in inspect.getmro(found) if inspect.isclass(found) else [found]:
        function = vars(owner).get("__init__") if inspect.isclass(owner) else owner
        if function is None:
            continue  # it inherits its constructor
        parameters = list(inspect.signature(function).parameters.values())[inspect.isclass(owner) :]
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        names |= dict.fromkeys(parameter.name for parameter in parameters if parameter.kind not in variable)
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            break
    return list(names)


def _missing_methods(path: str) -> str:
    """Return the message for a class with abstract methods; it names these methods."""
    missing = sorted(getattr(locate(path), "__abstractmethods__", ()))
    if not missing:
        return f"Expected a complete class but got an abstract one, {path!r}."
    return f"Expected a complete class but got an abstract one: {path} does not define {' and '.join(missing)}."


def _failed_import(module: str) -> str | None:
    """Return the message for a module that raises an error when it is imported; None for any other module."""
    try:
        import_module(module)
    except Exception as error:
        remedy = "Correct the file."
        if isinstance(error, ModuleNotFoundError):
            if f"{module}.".startswith(f"{error.name}."):  # there is no such module
                return None
            remedy = "Install the package, or correct the import."
        lines = [frame for frame in extract_tb(error.__traceback__) if frame.name == "<module>"]
        place = f" in {lines[-1].filename}, line {lines[-1].lineno}" if lines else ""  # a SyntaxError names its own
        text = f": {error}".rstrip(".: ")
        cause = f"{type(error).__name__}{place}{text}"
        return f"Expected a class in the module {module} but its import raised {cause}. {remedy}"
    return None


def _unknown_class(match: re.Match[str], value: str | None, outer: str, inner: str) -> str:
    """Return the message for an unusable class; it names the file that was searched, or a similar class."""
    name = match["name"] or match["path"] or match["other"] or value or ""
    if match["path"]:
        return f"Expected the import path of a class but got {name!r}. {_searched(name)}"
    base = _base_class(outer, inner)
    if base is None and match["base"] and locate(name) is not None:
        return f"Expected a subclass of {match['base']} but got {name!r}, which is none."
    if base is None:
        return f"Expected the name of a class but got {name!r}. Give its import path."
    by_lowercase = {entry.lower(): entry for entry in sorted(_concrete_subclasses(base))}
    got = "another class" if name.startswith("{") else repr(name)  # a mapping is the surrounding class
    expected = f"Expected the name of {_with_article(base.__name__)} but got {got}."
    if "." in name and locate(name) is not None:
        return f"{expected} It must be a subclass of {base.__name__}."
    if near := get_close_matches(name.rsplit(".", 1)[-1].lower().replace("-", ""), by_lowercase, n=1):
        return f"{expected} Did you mean {by_lowercase[near[0]]}?"
    if match["name"] and "." in name:
        return f"{expected} {_searched(name)}"
    return f"{expected} Choose one of {', '.join(by_lowercase.values())}, or the import path of a class of your own."


def _base_class(outer: str, inner: str) -> type | None:
    """Return the class that a setting expects, from the message or from the type of the constructor's parameter."""
    expected: object = None
    if found := _TYPE.search(inner):
        expected = locate(found[1])
    elif (owners := _CLASS_PATH.findall(outer)) and inspect.isclass(owner := locate(owners[-1])):
        expected = get_type_hints(owner.__init__).get(_KEY.findall(outer)[-1])
    return expected if inspect.isclass(expected) else None


def _searched(path: str) -> str:
    """Return the file in which the class of an import path was expected, and the problem with it."""
    module, _, name = path.rpartition(".")
    file = f"{module.replace('.', '/')}.py"
    if Path(file).is_file():
        return f"{file} defines no {name}."
    return f"There is no file {file} in {Path.cwd()}; give the import path from the folder you work in."


def _concrete_subclasses(family: type) -> set[str]:
    names = set() if inspect.isabstract(family) else {family.__name__}
    return names.union(*map(_concrete_subclasses, family.__subclasses__()))


def _value(key: str, inner: str) -> str | None:
    """Return the first value after the innermost error; the value of a nested key has the form `key=value`."""
    match = _VALUE.search(inner)
    if match and (nested := _NESTED_VALUE.match(match[1])):
        return nested[2] if key.endswith(nested[1]) else f"{nested[1]}={nested[2]}"
    return match[1] if match else None


def _kind(text: str) -> str:
    """Return the name of a type with its article.

    >>> _kind("<class 'int'>"), _kind("typing.Literal['a', 'b']"), _kind("list[str]")
    ('an int', 'one of a, b', 'a list[str]')
    """
    if choices := re.fullmatch(r"(?:typing\.)?Literal\[(.*)\]", text):
        return f"one of {choices[1].replace(chr(39), '')}"
    return _with_article(re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text))


def _with_article(name: str) -> str:
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
