"""The separator of the columns of a CSV file, detected from its header or declared before it."""

from __future__ import annotations

import re
from typing import TextIO

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Separators of columns, with their names."""
_MAX_HEADER = 2**16
"""Characters of the header that are searched."""
_QUOTED = re.compile(r'(?:^|(?<=[,;\t]))"[^"]*(?:""[^"]*)*"')
_OPEN_QUOTE = re.compile(r'(?:^|[,;\t])"')
_DECLARATION = re.compile(r"sep=([,;\t])[\r\n]*", re.IGNORECASE)


def declared_separator(file: TextIO) -> str | None:
    r"""Return the separator that the first line of a file declares, as for Excel, or None; the line is read.

    >>> import io
    >>> declared_separator(io.StringIO("sep=;\r\nid;reference\r\n")), declared_separator(io.StringIO("id;reference\n"))
    (';', None)
    """
    match = _DECLARATION.fullmatch(file.readline(_MAX_HEADER))
    return match[1] if match else None


def header_separators(file: TextIO) -> list[str]:
    r"""Return the separators that occur in the header outside quotes.

    Args:
        file: The file, at its start; its lines keep their ends.

    >>> import io
    >>> header_separators(io.StringIO('id;"a,b";reference\n1,2;3;4\n'))
    [';']
    """
    header = unquoted = ""
    while len(header) < _MAX_HEADER and (line := file.readline(_MAX_HEADER)):
        header += line
        unquoted = _QUOTED.sub("", header)
        if not _OPEN_QUOTE.search(unquoted):
            break
    return [separator for separator in SEPARATORS if separator in unquoted]
