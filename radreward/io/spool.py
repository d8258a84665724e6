"""Records and streams in temporary files, so that memory does not grow with their texts."""

from __future__ import annotations

import io
import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Sequence
from tempfile import TemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar, overload

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")


class Spool(Sequence[T], Generic[T]):
    """A sequence of records in an unnamed file, one line of JSON each; it uses eight bytes of memory per record.

    Args:
        records: The records; read once.
        to_json: Converts a record into values that JSON can hold.
        from_json: Restores the record.

    >>> spool = Spool([{"id": "a"}, {"id": "b"}], dict, dict)
    >>> len(spool), spool[-1], spool[:1]
    (2, {'id': 'b'}, [{'id': 'a'}])
    """

    def __init__(self, records: Iterable[T], to_json: Callable[[T], Any], from_json: Callable[[Any], T]) -> None:
        self._from_json = from_json
        self._file = TemporaryFile()  # noqa: SIM115 - closed with the spool
        self._offsets = array("Q")
        for record in records:
            self._offsets.append(self._file.tell())
            self._file.write(json.dumps(to_json(record)).encode() + b"\n")

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        self._file.seek(self._offsets[index])
        return self._from_json(json.loads(self._file.readline()))

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # absent if no file could be created
            self._file.close()


class StreamSpool:
    """A copy of a stream in an unnamed file, which can be read more than once.

    Args:
        stream: The stream; read to its end.

    >>> import io
    >>> spool = StreamSpool(io.BytesIO(b"rows"))
    >>> [spool.open().read() for _ in range(2)]
    [b'rows', b'rows']
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lock = Lock()
        self._file = TemporaryFile()  # noqa: SIM115 - closed with the spool
        shutil.copyfileobj(stream, self._file)

    def open(self) -> io.BufferedReader:
        """Return a reader that starts at the first byte; readers do not move each other."""
        return io.BufferedReader(_SpoolReader(self))

    def read_at(self, position: int, size: int) -> bytes:
        """Return at most `size` bytes from a position."""
        with self._lock:
            self._file.seek(position)
            return self._file.read(size)

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # absent if no file could be created
            self._file.close()


class _SpoolReader(io.RawIOBase):
    """Reader of a `StreamSpool`."""

    def __init__(self, spool: StreamSpool) -> None:
        self._spool, self._position = spool, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        content = self._spool.read_at(self._position, len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)
