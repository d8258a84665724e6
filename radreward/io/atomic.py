"""Files and folders that are written to the disk completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from radreward.errors import InputError
from radreward.io.scratch import REPLACED, SCRATCH_SUFFIX, locked_scratch_folder

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of a write; the operating system names no file in them."""
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""Errors of network file systems that do not sync folders."""


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield the path of a scratch file that replaces `path` if the block ends without an error.

    The folder is created if absent.

    Raises:
        InputError: If the file cannot be written, see also `check_output_file`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "a.txt")) as scratch:
    ...         _ = scratch.write_text("complete")
    ...     Path(folder, "a.txt").read_text(), os.listdir(folder)
    ('complete', ['a.txt'])
    """
    path = Path(path)
    check_output_file(path)
    with _scratch_folder(path) as (scratch, mode):
        new = scratch / path.name
        yield new
        _sync_file(new, mode)
        os.replace(new, path)
        _sync_folder(path.parent)


def check_output_file(path: Path) -> None:
    """Check that a path is free, a file, or a link, which is replaced: a device such as /dev/null must not be.

    Raises:
        InputError: If it is a folder, a device, a pipe or a socket.
    """
    if path.is_dir():
        raise InputError(f"{path}: Expected a file to write but it is a folder.")
    if path.exists() and not (path.is_file() or path.is_symlink()):
        raise InputError(f"{path}: Expected a file to write but it is a device, a pipe or a socket.")


def write_text_file(path: str | Path, text: str) -> None:
    """Write a text as UTF-8, see `atomic_file`."""
    with atomic_file(path) as new:
        new.write_text(text, encoding="utf-8")


@contextmanager
def atomic_folder(folder: str | Path, marker_files: Collection[str], description: str) -> Iterator[Path]:
    """Yield a scratch folder that replaces `folder` if the block ends without an error.

    An `InputError` of the block names files in `folder` instead of the scratch folder.

    Args:
        folder: The folder to write.
        marker_files: Names of files; an existing folder with any of them may be replaced.
        description: Content of such a folder, for messages.

    Raises:
        InputError: If the folder holds something else, or cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with atomic_folder(Path(parent, "model"), {"config.json"}, "a model") as scratch:
    ...         _ = Path(scratch, "config.json").write_text("{}")
    ...     os.listdir(Path(parent, "model"))
    ['config.json']
    """
    folder = Path(folder)
    replaceable = any((folder / name).is_file() for name in marker_files)
    if folder.exists() and not replaceable and (folder.is_file() or any(folder.iterdir())):
        actual = "is a file" if folder.is_file() else "holds other files"
        raise InputError(
            f"{folder}: Expected a folder that is new, empty or holds {description} but it {actual}. Choose another."
        )
    with _scratch_folder(folder) as (scratch, mode):
        new = scratch / folder.name
        new.mkdir()
        try:
            yield new
        except InputError as error:
            raise InputError(str(error).replace(str(new), str(folder))) from error
        for entry in new.rglob("*"):
            if entry.is_dir():
                _sync_folder(entry)
            else:
                _sync_file(entry, mode)
        _sync_folder(new)
        if folder.exists():
            os.replace(folder, scratch / REPLACED)
        os.replace(new, folder)
        _sync_folder(folder.parent)


def delete_path(path: Path) -> None:
    """Delete a file, a link, or a folder with its content."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def remove_folder(folder: Path) -> None:
    """Delete a folder atomically: if the process is killed, the folder is complete or gone."""
    with _scratch_folder(folder) as (scratch, _):
        os.replace(folder, scratch / folder.name)


@contextmanager
def _scratch_folder(path: Path) -> Iterator[tuple[Path, int]]:
    """Yield a scratch folder beside `path`, and the permissions of its files; disk errors of the block name `path`."""
    with ExitStack() as stack:
        try:
            scratch = stack.enter_context(locked_scratch_folder(path))
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            yield scratch
        except OSError as error:
            names = f"{error.filename} {error.filename2}"
            if (error.filename is None and is_disk_error(error)) or SCRATCH_SUFFIX in names:
                raise unwritable(path, error) from error
            raise


def is_disk_error(error: BaseException | None) -> bool:
    """Return True if an error is, or is caused by, a disk that is full, read-only or broken."""
    if isinstance(error, OSError):
        return error.errno in _DISK_ERRORS
    return error is not None and is_disk_error(error.__cause__)


def unwritable(path: Path, error: OSError) -> InputError:
    """Return an `InputError` with the output and the reason of an error of the operating system."""
    reason = os.strerror(error.errno) if error.errno else error
    return InputError(f"{path}: cannot be written ({reason}).")


def _sync_file(path: Path, mode: int) -> None:
    """Set the permissions of a file, and flush it to the disk."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows syncs writable files only
    try:
        path.chmod(mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Flush the names in a folder to the disk, if the system supports it."""
    if os.name == "nt":  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)
