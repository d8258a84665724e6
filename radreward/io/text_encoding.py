"""Files of text that are not UTF-8: the encoding that they look like, and what to do."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Literal

from radreward.errors import InputError
from radreward.io.input_files import open_input

TextFormat = Literal["CSV", "JSONL", "JSON"]
_START_SIZE = 64
_SPREADSHEET_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""First bytes of .xlsx, .ods and .xls."""


def check_start(path: Path, expected: TextFormat) -> None:
    """Check that a file does not start like a spreadsheet or like text in UTF-16.

    Raises:
        InputError: If it does. The message names the remedy.
        OSError: If it cannot be read.
    """
    with open_input(path) as file:
        start = file.read(_START_SIZE)
    if start.startswith(_SPREADSHEET_STARTS):
        got = "a spreadsheet"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _alternates_with_null(start):
        got = "UTF-16"
    else:
        return
    raise InputError(f"{path}: Expected {expected} in UTF-8 but it looks like {got}; {_remedy(expected)}.")


def encoding_problem(text: str, expected: TextFormat) -> str:
    r"""Return the end of a message on text that was decoded with `surrogateescape` and is not UTF-8.

    >>> encoding_problem("caf\udce9", "CSV")
    "but it looks like Windows-1252; save the file as 'CSV UTF-8'"
    """
    try:
        text.encode("utf-8", "surrogateescape").decode("cp1252")
        name = "Windows-1252"
    except UnicodeError:
        name = "another encoding"
    return f"but it looks like {name}; {_remedy(expected)}"


def _remedy(expected: TextFormat) -> str:
    return "save the file as 'CSV UTF-8'" if expected == "CSV" else "save the file as UTF-8"


def _alternates_with_null(start: bytes) -> bool:
    """Return True if every second byte is null, as in a header in UTF-16 without a mark of its byte order."""
    even, odd = start[::2], start[1::2]
    return len(start) >= 8 and ((any(even) and not any(odd)) or (any(odd) and not any(even)))
