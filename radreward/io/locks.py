"""File locks; the operating system releases them when their process ends or is killed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from filelock import BaseFileLock

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""Errors of a file system without locks."""


class Lock(NamedTuple):
    """A lock that this process holds."""

    path: Path
    handle: BaseFileLock
    process_id: int

    def release(self) -> None:
        """Delete the file and release the lock; do nothing in a forked child, which does not hold the lock."""
        if self.process_id == os.getpid():
            with suppress(OSError):  # Windows cannot delete an open file; there, the handle deletes it
                self.path.unlink()
            self.handle.release()


def try_lock(path: Path, required: bool = True) -> Lock | None:
    """Lock a file, which is created if absent.

    Args:
        path: The file.
        required: False accepts a file system without locks, on which the file is then not locked.

    Returns:
        The lock; None if it is held already.

    Raises:
        OSError: If the file cannot be written, or the file system has no locks.
    """
    from filelock import FileLock, Timeout  # imported here, because it takes a tenth of a second

    handle = FileLock(path, blocking=False, thread_local=False, fallback_to_soft=False)
    try:
        handle.acquire()
    except Timeout:
        return None
    except OSError as error:
        if required or error.errno not in _NO_LOCKS:
            raise
    return Lock(path, handle, os.getpid())
