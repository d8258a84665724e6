"""One-line error messages, and filters for library warnings nobody can act on."""

from __future__ import annotations

import os
import re
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radreward.errors import InputError
from radreward.extras import extra_of, missing_package
from radreward.io.terminal import print_status


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
        constructing: True if the block only calls constructors with the user's settings, so that a ValueError or
            TypeError means a wrong setting. In a computation, it would mean a bug in this package.

    Raises:
        InputError: For wrong settings, unusable files, values that are not finite, and extras that are not installed.
    """
    kinds = (FloatingPointError, ValueError, TypeError) if constructing else (FloatingPointError,)
    try:
        yield
    except InputError:
        raise
    except ModuleNotFoundError as error:
        if error.name and extra_of(error.name):
            raise missing_package("This command", error.name) from error
        raise
    except OSError as error:
        path = error.filename2 or error.filename
        if path is None:  # a pipe or a network
            raise
        raise InputError(f"{path}: Expected a usable file or folder but got {error.strerror!r}.") from error
    except Exception as error:
        # Lightning's exception is compared by name: importing it takes seconds, and few commands train.
        if isinstance(error, (*kinds, ArgumentError)) or type(error).__name__ == "MisconfigurationException":
            from radreward.cli.option_errors import option_error

            raise InputError(option_error(str(error), "fit")) from error
        raise


def discard_unwritable_output() -> None:
    """Discard buffered output if its reader has closed the pipe; otherwise Python prints a second error at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn_overwrite(path: Path) -> None:
    """Print a line if a run will replace an existing file."""
    if path.exists():
        print_status(f"This run will replace {path}.")


def error_line(error: BaseException) -> str:
    r"""Return the message of an error in one line; for an error in a worker process, the worker's message.

    >>> error_line(ValueError("Caught it in a worker.\nTraceback ...\nradreward.errors.InputError: a.csv: gone"))
    'a.csv: gone'
    """
    text = str(error).strip()
    match = re.search(r"Traceback.*\n(?:[\w.]+Error): (.*)", text, re.DOTALL)
    return " ".join((match[1] if match else text).split())
