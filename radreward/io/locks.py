"""Locks of files: the operating system releases them when their process ends, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""Errors of a file system without locks."""
_held: set[int] = set()
"""Descriptors of the locks of this process."""


def _close_locks() -> None:
    """Close the locks in a forked child, which would otherwise hold them after its parent was killed."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_close_locks)


def try_lock(path: Path, required: bool = True) -> int | None:
    """Lock a file, which is created if absent.

    Args:
        path: The file.
        required: False accepts a file system without locks, where nothing is locked.

    Returns:
        The descriptor that holds the lock; None if the lock is held already.

    Raises:
        OSError: If the file cannot be written, or the file system has no locks.
    """
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            if required or error.errno not in _NO_LOCKS:
                os.close(descriptor)
                raise
        if _is_file_of(path, descriptor):
            _held.add(descriptor)
            return descriptor
        os.close(descriptor)  # the previous holder deleted the file between the two calls


def _is_file_of(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


def release_lock(path: Path, descriptor: int) -> None:
    """Delete the file of a lock, and release the lock."""
    if descriptor in _held:  # not in a forked child
        path.unlink(missing_ok=True)
        _held.remove(descriptor)
        os.close(descriptor)
