"""CSV files that are not UTF-8: the encoding that they look like, and what to do."""

from __future__ import annotations

import codecs
from pathlib import Path

from radreward.errors import InputError

START_SIZE = 64
"""Number of bytes that `check_start` needs."""
CSV_REMEDY = "save the file as 'CSV UTF-8'"
_SPREADSHEET_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""First bytes of .xlsx, .ods and .xls."""


def check_start(path: Path, start: bytes) -> None:
    """Check that a file does not start like a spreadsheet or like text in UTF-16.

    Raises:
        InputError: If it does. The message names the remedy.
    """
    if start.startswith(_SPREADSHEET_STARTS):
        got = "a spreadsheet"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _alternates_with_null(start):
        got = "UTF-16"
    else:
        return
    raise InputError(f"{path}: Expected CSV in UTF-8 but it looks like {got}; {CSV_REMEDY}.")


def encoding_problem(text: str) -> str:
    r"""Return the end of a message on text that was decoded with `surrogateescape` and is not UTF-8.

    >>> encoding_problem("caf\udce9")
    "but it looks like Windows-1252; save the file as 'CSV UTF-8'"
    """
    try:
        text.encode("utf-8", "surrogateescape").decode("cp1252")
        name = "Windows-1252"
    except UnicodeError:
        name = "another encoding"
    return f"but it looks like {name}; {CSV_REMEDY}"


def _alternates_with_null(start: bytes) -> bool:
    """Return True if every second byte is null, as in a header in UTF-16 without a mark of its byte order."""
    even, odd = start[:START_SIZE:2], start[1:START_SIZE:2]
    return len(start) >= 8 and ((any(even) and not any(odd)) or (any(odd) and not any(even)))
