"""The elements of a JSON array in a file, one in memory at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

_CHUNK_SIZE = 2**16
"""Bytes that are read at once."""
_OUTSIDE_TEXT = re.compile(rb'["{}\[\],]')
_INSIDE_TEXT = re.compile(rb'["\\\n]')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITESPACE = b" \t\r\n"


class JSONArrayError(ValueError):
    """A file that is not one JSON array."""


def array_elements(file: BinaryIO, max_size: int) -> Iterator[bytes]:
    r"""Yield the text of each element of the array in a file, in order; the text is not checked.

    An element ends at the comma or bracket outside its own brackets and texts. The quote of a text that does not end in
    its line is skipped, because JSON has no line break in texts, so that a missing quote spoils few elements.

    Args:
        file: The file, at its start.
        max_size: Largest number of bytes of an element.

    Raises:
        JSONArrayError: If the file has no array, more than one value, no end of the array, or a larger element.

    >>> import io
    >>> list(array_elements(io.BytesIO(b'[{"a": [1, 2]}, "x,y"]'), 100))
    [b'{"a": [1, 2]}', b'"x,y"']
    """
    scanner = _Scanner(file, max_size)
    scanner.open_array()
    is_last = False
    while not is_last:
        text, is_last = scanner.next_element()
        if text or not is_last or scanner.number > 1:  # [] has no element; [1,] has an empty one
            yield text
    scanner.check_end()


class _Scanner:
    """Position in a file: `_buffer` starts at the current element."""

    def __init__(self, file: BinaryIO, max_size: int) -> None:
        self._file, self._max_size = file, max_size
        self._buffer = bytearray()
        self.number = 0
        """Number of the current element, from 1."""

    def open_array(self) -> None:
        """Skip the start of the array."""
        while self._read() and len(self._start()) < 1 + len(_BYTE_ORDER_MARK):
            pass
        start = self._start()
        if not start.startswith(b"["):
            raise JSONArrayError(
                f"Expected a JSON array of objects but it starts with {_shown(start)}. Name a file "
                "with one object per line .jsonl"
            )
        self._buffer = bytearray(start[1:])

    def _start(self) -> bytes:
        """Return the bytes read so far without white space at their start."""
        return bytes(self._buffer).removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITESPACE)

    def next_element(self) -> tuple[bytes, bool]:
        """Return the text of the next element, and True if it is the last one."""
        self.number += 1
        position, depth, text_start = 0, 0, -1
        while True:
            in_text = text_start >= 0
            match = (_INSIDE_TEXT if in_text else _OUTSIDE_TEXT).search(self._buffer, position)
            if match is None and self._read():
                position = max(position, len(self._buffer) - _CHUNK_SIZE)
                continue
            token = match.group() if match else b""
            if in_text and token in (b"\n", b""):  # the text is never closed: its quote has no meaning
                position, text_start = text_start, -1
            elif match is None:
                raise JSONArrayError(f"Expected an end of the array but element {self.number} is never closed")
            elif in_text:
                position = match.end() + (token == b"\\")  # skip the escaped character
                text_start = text_start if token == b"\\" else -1
            elif token == b'"':
                position = text_start = match.end()
            elif depth == 0 and token in b",]":
                text = bytes(self._buffer[: match.start()]).strip(_WHITESPACE)
                del self._buffer[: match.end()]
                return text, token == b"]"
            else:
                position, depth = match.end(), max(0, depth + (token in b"{[") - (token in b"}]"))

    def check_end(self) -> None:
        """Check that only white space follows the array."""
        while not self._buffer.strip(_WHITESPACE):
            self._buffer.clear()
            if not self._read():
                return
        raise JSONArrayError(f"Expected the end of the file after the array but got {_shown(self._buffer.strip())}")

    def _read(self) -> bool:
        """Append bytes of the file; return False at its end."""
        if len(self._buffer) > self._max_size:
            raise JSONArrayError(f"Expected at most {self._max_size:,} bytes in element {self.number} but it has more")
        chunk = self._file.read(_CHUNK_SIZE)
        self._buffer += chunk
        return bool(chunk)


def _shown(content: bytes | bytearray) -> str:
    return repr(bytes(content[:20]).decode(errors="replace")) if content else "nothing"
