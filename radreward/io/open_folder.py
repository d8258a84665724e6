"""Folders that stay open, so that their name cannot be given to a link while their content is deleted."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from types import TracebackType

from radreward.io.in_place import is_reparse_point

_USES_DESCRIPTORS = hasattr(os, "O_DIRECTORY") and {os.open, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
"""False on Windows, where folders cannot be opened and entries are found by their paths."""


class OpenFolder:
    """A folder whose entries are found relative to it; links are never followed.

    Args:
        path: The folder. Its last name must not be a link.

    Raises:
        OSError: If it is a link or no folder, or cannot be opened.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path, OpenFolder(Path(path)) as folder:
    ...     _ = Path(path, "a.txt").write_text("a")
    ...     folder.delete("a.txt")
    ...     folder.names()
    []
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None
        state = os.lstat(path)
        if is_reparse_point(state) or not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "it is a link or a file", str(path))
        if _USES_DESCRIPTORS:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return os.listdir(self.path if self.descriptor is None else self.descriptor)

    def is_of_this_user(self) -> bool:
        """Return True if the folder belongs to the user of this process, or if the system has no such owners."""
        return is_of_this_user(os.lstat(self.path) if self.descriptor is None else os.fstat(self.descriptor))

    def inode(self, name: str) -> int:
        """Return the inode of an entry, a link's own if it is a link."""
        return self._stat(name).st_ino

    def delete(self, name: str) -> None:
        """Delete a file, a link, or a folder with its content; the target of a link stays."""
        state = self._stat(name)
        if stat.S_ISDIR(state.st_mode) and not is_reparse_point(state):
            shutil.rmtree(self._located(name), dir_fd=self.descriptor)
        else:
            os.unlink(self._located(name), dir_fd=self.descriptor)

    def move(self, name: str, path: Path) -> None:
        """Move an entry to a path on the same disk."""
        os.rename(self._located(name), path, src_dir_fd=self.descriptor)

    def _stat(self, name: str) -> os.stat_result:
        return os.stat(self._located(name), dir_fd=self.descriptor, follow_symlinks=False)

    def _located(self, name: str) -> str | Path:
        return self.path / name if self.descriptor is None else name


def is_of_this_user(state: os.stat_result) -> bool:
    """Return True if a file belongs to the user of this process, or if the system has no such owners."""
    return not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
