"""Settings of a model folder: checks of format, fields, types, and of the files beside the settings."""

from __future__ import annotations

import inspect
import os
import reprlib
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint, read_json_object, write_json

FORMAT = 1
"""Default of the field `format`; only this module writes and checks the field."""
DIGESTS = "sha256"
"""Field with the SHA-256 of the other files of a model, by name."""
_MAX_INTEGER = 1_000_000
"""Maximum integer of a setting; a larger size would exhaust the memory."""
_MAX_MESSAGE = 600
"""Characters of a message about a setting."""


def write_config(
    path: str | Path, config: Mapping[str, Any], files: Collection[str] | None = None, format_version: int = FORMAT
) -> None:
    """Write the settings of a model folder, with the SHA-256 of its other files, which is checked on loading.

    Args:
        path: File of the settings.
        config: The settings without their format.
        files: Names of complete files, or of folders, beside it; None for settings without other files.
        format_version: Value of the field `format`.
    """
    saved = {"format": format_version, **config}
    if files is not None:
        saved[DIGESTS] = {name: file_fingerprint(Path(path).with_name(name)) for name in files}
    write_json(path, saved)


def read_config(
    path: str | Path,
    fields: Collection[str],
    format_version: int = FORMAT,
    files: Collection[str] | None = None,
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """Return the settings of a model folder, see `check_config`."""
    config = read_json_object(path)
    check_config(config, path, fields, format_version, files, optional)
    return config


def check_config(
    config: Mapping[str, Any],
    path: str | Path,
    fields: Collection[str],
    format_version: int = FORMAT,
    files: Collection[str] | None = None,
    optional: Collection[str] = (),
) -> None:
    """Check that settings have the expected format and fields, and that the files beside them are undamaged.

    Args:
        config: The settings.
        path: File of the settings.
        fields: Names of all fields, with or without `format`.
        format_version: Expected value of the field `format`.
        files: Names of files that `write_config` must have listed with their SHA-256; every listed file is checked.
            None for settings without other files.
        optional: Names of fields that may be missing.

    Raises:
        InputError: If the format differs, a field is missing or unknown, or a file is missing or damaged.

    >>> check_config({"format": 1, "depth": 3}, "config.json", {"depth"})
    """
    if config.get("format") != format_version or isinstance(config.get("format"), bool):
        raise InputError(
            f"{path}: Expected `format` to be {format_version!r} but got {reprlib.repr(config.get('format'))}. "
            "Train or save the model again with this version."
        )
    expected = {*fields, "format"} if files is None else {*fields, "format", DIGESTS}
    if wrong := sorted((expected ^ set(config)) - set(optional)):
        state = "missing" if wrong[0] in expected else "unknown"
        raise InputError(
            f"{path}: Expected the fields {', '.join(sorted(expected))} but {reprlib.repr(wrong[0])} is {state}."
        )
    for name in {DIGESTS, "training_info"} & set(config):
        if not isinstance(config[name], dict):
            raise InputError(f"{path}: Expected `{name}` to be an object but got {reprlib.repr(config[name])}.")
    if files is not None:
        _check_digests(Path(path), config[DIGESTS], files)


def _check_digests(path: Path, digests: Mapping[str, Any], files: Collection[str]) -> None:
    if missing := sorted(set(files) - set(digests)):
        raise InputError(f"{path}: Expected `{DIGESTS}` to list {missing[0]!r}. Save the model again.")
    for name, digest in digests.items():
        if Path(name).name != name:
            raise InputError(f"{path}: Expected `{DIGESTS}` to list names of files but got {reprlib.repr(name)}.")
        file = path.with_name(name)
        if not file.exists():
            raise InputError(f"{file}: Expected a file, which {path.name} lists, but there is none. Copy it again.")
        if file_fingerprint(file) != digest:
            raise InputError(
                f"{file}: Expected the content that was saved with {path.name} but its SHA-256 differs: it is damaged "
                "or was replaced. Copy the folder again."
            )


def check_settings(factory: Callable[..., Any], values: Any, field: str = "", required: Collection[str] = ()) -> None:
    """Check names and types of settings before a function or a constructor is called with them.

    Args:
        factory: The function. Parameters of other than plain JSON types are not checked.
        values: Arguments by name.
        field: Field of the settings that holds them, for messages.
        required: Names that must be present.

    Raises:
        InputError: If the values are not an object, a name is unknown or missing, or a value has another type. The
            message names the field.

    >>> def encoder(depth: int = 2) -> None: ...
    >>> check_settings(encoder, {"depth": "two"}, "encoder")
    Traceback (most recent call last):
    ...
    radreward.errors.InputError: Expected `encoder.depth` to be int but got 'two'.
    """
    if not isinstance(values, Mapping):
        raise InputError(f"Expected `{field}` to be an object but got {reprlib.repr(values)}.")
    if missing := [name for name in required if name not in values]:
        raise InputError(f"Expected `{field}` to have the field {missing[0]!r} but it is missing.")
    names = list(inspect.signature(factory).parameters)
    is_class = isinstance(factory, type)
    hints = get_type_hints(factory.__init__ if is_class else factory)
    for name, value in values.items():
        path = f"{field}.{name}" if field else name
        if name not in names:
            raise InputError(f"Expected `{field}` to have the fields {', '.join(names)} but got {reprlib.repr(name)}.")
        if name in hints and not _has_type(value, hints[name]):
            kind = inspect.formatannotation(hints[name]).replace("typing.", "")
            raise InputError(f"Expected `{path}` to be {kind} but got {reprlib.repr(value)}.")


def _has_type(value: Any, hint: Any) -> bool:
    """Return True if a JSON value has this type, or if JSON has no such type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_has_type(value, argument) for argument in arguments)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is list:
        return isinstance(value, list) and all(_has_type(entry, arguments[0]) for entry in value)
    if hint is int:
        return type(value) is int and abs(value) <= _MAX_INTEGER
    if hint is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    if hint in (str, bool, type(None)):
        return type(value) is hint
    return True


@contextmanager
def config_errors(path: str | Path) -> Iterator[None]:
    """Name the settings file in every error that the block raises when it builds an object from the fields.

    Raises:
        InputError: In place of any error of a wrong value.

    >>> with config_errors("config.json"):
    ...     int("one")
    Traceback (most recent call last):
    ...
    radreward.errors.InputError: config.json: a field has a wrong value (invalid literal for int() with base 10: 'one').
    """
    try:
        yield
    except InputError as error:
        named = str(error).startswith(str(Path(path).parent) + os.sep)
        raise InputError(_shorten(str(error)) if named else f"{path}: {_shorten(error)}") from error
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError, RuntimeError) as error:
        # RuntimeError: nesting is too deep, or a size exceeds the memory
        raise InputError(f"{path}: a field has a wrong value ({_shorten(error)}).") from error


def _shorten(error: object) -> str:
    """Return a message in one line without the middle of a long value."""
    text = " ".join(str(error).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE // 2]} … {text[-_MAX_MESSAGE // 2 :]}"
