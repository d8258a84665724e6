"""Lock files: each holds a record of its process, and the operating system releases it when the process ends.

A lock file is a regular file with one name that is empty or holds such a record. Everything else, such as a symbolic
link, a hard link or a file of another program, is refused and stays unchanged.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.in_place import SAFE_FLAGS, check_kind, foreign_file

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""Errors of a file system without locks."""
_MAX_RECORD = 4096
"""Bytes of a record that are read; records are shorter."""
_KIND, _KIND_VALUE = "lock", "radreward"
"""First entry of every record."""
_MAX_ATTEMPTS = 100
"""Attempts to lock a file that other processes create and delete meanwhile."""
_held: set[int] = set()
"""Descriptors of the locks that this process holds."""


class Lock(NamedTuple):
    """A lock that this process holds."""

    path: Path
    descriptor: int
    dir_fd: int | None
    process_id: int

    def release(self) -> None:
        """Delete the file and release the lock; do nothing in a forked child, which does not hold the lock."""
        from filelock import unlock_descriptor

        if self.process_id == os.getpid():
            if os.name != "nt":  # Windows deletes closed files only
                self._delete()
            with suppress(OSError):  # the file system has no locks
                unlock_descriptor(self.descriptor)
            _held.discard(self.descriptor)
            os.close(self.descriptor)
            if os.name == "nt":
                self._delete()

    def _delete(self) -> None:
        with suppress(OSError):  # already deleted, or on Windows opened by another process
            os.unlink(_name(self.path, self.dir_fd), dir_fd=self.dir_fd)


def try_lock(path: Path, required: bool = True, dir_fd: int | None = None) -> Lock | None:
    """Lock a file, which is created if absent, and write the record of this process into it.

    Args:
        path: The file.
        required: False accepts a file system without locks, on which the file is then not locked.
        dir_fd: Descriptor of the folder of the file, if it is open.

    Returns:
        The lock; None if it is held already.

    Raises:
        InputError: If the file is no lock file, or may not be written.
        OSError: If the file cannot be created or written, or the file system has no locks.
    """
    for _ in range(_MAX_ATTEMPTS):
        descriptor = _open(path, dir_fd)
        kept = False
        try:
            if not _lock(descriptor, required):
                return None
            if not has_name(descriptor, path, dir_fd):  # deleted by its last owner since it was opened
                continue
            if not _is_own(descriptor):
                raise foreign_file(path, "a file of something else")
            try:
                _write_record(descriptor)
            except OSError:  # the disk is full
                os.unlink(_name(path, dir_fd), dir_fd=dir_fd)
                raise
            kept = True
            _held.add(descriptor)
            return Lock(path, descriptor, dir_fd, os.getpid())
        finally:
            if not kept:
                os.close(descriptor)
    return None


def read_record(path: Path, dir_fd: int | None = None) -> dict[str, Any] | None:
    """Return the record in a lock file: `pid`, `host`, `since` and `inode`; {} if it has none yet.

    Returns:
        The record; None if the file is absent, unreadable or no lock file.
    """
    try:
        check_kind(path, os.stat(_name(path, dir_fd), dir_fd=dir_fd, follow_symlinks=False))
        descriptor = os.open(_name(path, dir_fd), os.O_RDONLY | SAFE_FLAGS, dir_fd=dir_fd)
    except (OSError, InputError):
        return None
    try:
        return _read_record(descriptor)
    finally:
        os.close(descriptor)


def has_name(descriptor: int, path: Path, dir_fd: int | None = None) -> bool:
    """Return True if a path is the name of an open file; on Windows, the name of an open file cannot change."""
    try:
        state = os.stat(_name(path, dir_fd), dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.name == "nt" or os.path.samestat(os.fstat(descriptor), state)


def _name(path: Path, dir_fd: int | None) -> Path | str:
    return path if dir_fd is None else path.name


def _open(path: Path, dir_fd: int | None) -> int:
    """Open a lock file, which is created if absent, without following a link."""
    name = _name(path, dir_fd)
    exists = False
    with suppress(FileNotFoundError):
        check_kind(path, os.stat(name, dir_fd=dir_fd, follow_symlinks=False))
        exists = True
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | SAFE_FLAGS, 0o666, dir_fd=dir_fd)
    except PermissionError as error:
        if exists:
            raise foreign_file(path, "a file that you may not write") from error
        raise
    try:
        check_kind(path, os.fstat(descriptor))
    except InputError:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int, required: bool) -> bool:
    from filelock import lock_descriptor  # imported here, because it takes a tenth of a second

    try:
        return lock_descriptor(descriptor, blocking=False)
    except OSError as error:
        if required or error.errno not in _NO_LOCKS:
            raise
        return True


def _is_own(descriptor: int) -> bool:
    """Return True if a locked file is empty or holds a record."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 1) in (b"", b"\0") and _read_record(descriptor) is not None


def _read_record(descriptor: int) -> dict[str, Any] | None:
    """Return the record; {} if its process was killed before it wrote the record, None if the content is foreign.

    The record starts at the second byte, because Windows locks the first one, which is zero.
    """
    os.lseek(descriptor, 1, os.SEEK_SET)
    content = os.read(descriptor, _MAX_RECORD)
    if not content.strip(b"\0"):
        return {} if os.fstat(descriptor).st_size <= _MAX_RECORD else None
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get(_KIND) == _KIND_VALUE else None


def _write_record(descriptor: int) -> None:
    record = {
        _KIND: _KIND_VALUE,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": f"{datetime.now():%Y-%m-%d %H:%M:%S}",
        "inode": os.fstat(descriptor).st_ino,
    }
    os.ftruncate(descriptor, 1)
    os.lseek(descriptor, 1, os.SEEK_SET)
    os.write(descriptor, json.dumps(record).encode())


def _close_inherited() -> None:
    """Close the locks of the parent in a forked child, which would keep them locked after the parent's death."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
