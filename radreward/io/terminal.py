"""Printing of lines; names, paths, statuses and answers of servers are untrusted and printed as plain text."""

from __future__ import annotations

import re
import sys

_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    "|(?:\x1b[\\]P^_X]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC: titles, links; DCS
    "|\x1b[ -/]*[0-~]"
)
"""Escape sequences of terminals (ECMA-48); each alternative ends at the next control character, so time is linear."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters besides tab and line feed, and characters that reorder or break lines."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""A half of a pair of UTF-16, which no UTF-8 file can hold."""


def printable(text: object) -> str:
    r"""Return a text without escape sequences, control characters and bidirectional overrides.

    A lone surrogate cannot be printed and becomes U+FFFD; file names that are not UTF-8 contain such surrogates.

    >>> printable("a\x1b[31mb\x07\u202ec\x1b]0;title\x07")
    'abc'
    """
    return SURROGATE.sub("\ufffd", _CONTROL.sub("", _SEQUENCE.sub("", str(text))))


class ClosedOutputError(BrokenPipeError):
    """The reader of the standard output has closed the pipe, as `head` does after its last line."""


def print_line(text: object) -> None:
    """Print a line on standard output.

    Raises:
        ClosedOutputError: If the reader has closed the pipe.
    """
    try:
        print(printable(text), flush=True)
    except BrokenPipeError as error:
        raise ClosedOutputError(*error.args) from error


def print_status(text: object) -> None:
    """Print a line on standard error."""
    print(printable(text), file=sys.stderr, flush=True)
