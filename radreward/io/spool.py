"""Records in a temporary file, so that memory does not grow with their texts."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar, overload

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
