"""Groups in memory-mapped files, so that a data set needs no memory and its batches need no parsing."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import ABC
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import Dataset

from radreward.criteria import Criteria
from radreward.data.records import GROUP_SCHEMA, group_to_row, row_to_group
from radreward.types import ReportGroup

_GROUPS_PER_BATCH = 1000
"""Groups that are written at once."""


class SizedDataset(Dataset[Any], ABC):
    """Records with their lengths, indexed by a list of positions."""

    lengths: Sequence[int]

    def __len__(self) -> int:
        return len(self.lengths)


class ArrowGroupDataset(SizedDataset):
    """Groups of a memory-mapped Arrow file, with the length of each.

    Args:
        path: The file.
        rows: Rows of the groups in the file.
        lengths: Length of each group.
    """

    def __init__(self, path: Path, rows: Sequence[int], lengths: Sequence[int]) -> None:
        self.path, self.rows, self.lengths = path, rows, lengths
        self._table: pa.Table | None = None

    def __getitem__(self, indices: list[int]) -> list[ReportGroup]:
        table = self._open_table()
        return [row_to_group(table.slice(self.rows[index], 1).to_pylist()[0]) for index in indices]

    def references(self) -> Iterator[str]:
        """Yield the reference of each group."""
        references = self._open_table()["reference"]
        return (references[row].as_py() for row in self.rows)

    def error_shares(self, criteria: Criteria) -> Tensor:
        """Return (groups, N) shares of the candidates of each group with an error of each criterion."""
        rows = (self[[index]][0].candidates for index in range(len(self)))
        errors = (torch.stack([criteria.to_tensor(entry.errors or {}) for entry in candidates]) for candidates in rows)
        return torch.stack([(counts > 0).float().mean(0) for counts in errors])

    def _open_table(self) -> pa.Table:
        if self._table is None:  # opened on first use: each worker process maps the file itself
            self._table = pa.ipc.open_file(pa.memory_map(str(self.path))).read_all()
        return self._table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}


class ArrowGroupWriter:
    """Writer of the file of an `ArrowGroupDataset`; the file is complete when the block ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pending: list[dict[str, Any]] = []

    def append(self, group: ReportGroup) -> None:
        """Add a group."""
        self._pending.append(group_to_row(group))
        if len(self._pending) == _GROUPS_PER_BATCH:
            self._write()

    def _write(self) -> None:
        self._file.write_table(pa.Table.from_pylist(self._pending, schema=GROUP_SCHEMA))
        self._pending = []

    def __enter__(self) -> ArrowGroupWriter:
        self._file = pa.ipc.new_file(str(self.path), GROUP_SCHEMA)
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        self._file.close()


class TemporaryFolder:
    """A folder that is deleted with the last reference to this object, or when the process ends.

    (Unlike `tempfile.TemporaryDirectory`, a copy in a forked process deletes nothing.)

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="radreward-"))
        weakref.finalize(self, _delete_own, self.path, os.getpid())


def _delete_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder)
