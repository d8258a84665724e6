"""Files and folders that are written to the disk completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from radreward.errors import InputError
from radreward.io.locks import Lock, try_lock

_SCRATCH_SUFFIX = ".radreward-tmp"
"""End of the names of scratch folders, `.<name of the output>-<8 random characters>.radreward-tmp`."""
_RANDOM_LENGTH = 8
_LOCK, _OLD = ".radreward-lock", ".radreward-old"
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of a write; the operating system names no file in them."""
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""Errors of network file systems that do not sync folders."""
_swept: set[Path] = set()
"""Folders in which this process has deleted the scratch folders of dead processes."""


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield the path of a scratch file that replaces `path` if the block ends without an error.

    The folder is created if absent.

    Raises:
        InputError: If the file cannot be written.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "a.txt")) as scratch:
    ...         _ = scratch.write_text("complete")
    ...     Path(folder, "a.txt").read_text(), os.listdir(folder)
    ('complete', ['a.txt'])
    """
    path = Path(path)
    with _scratch_folder(path) as scratch:
        new = scratch / path.name
        yield new
        _sync_file(new, _file_mode(scratch))
        os.replace(new, path)
        _sync_folder(path.parent)


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

    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with atomic_folder(Path(parent, "model"), {"config.json"}, "a model") as scratch:
    ...         _ = Path(scratch, "config.json").write_text("{}")
    ...     os.listdir(Path(parent, "model"))
    ['config.json']
    """
    folder = Path(folder)
    replaceable = any((folder / name).is_file() for name in marker_files)
    if folder.exists() and not replaceable and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds {description}.")
    with _scratch_folder(folder) as scratch:
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
                _sync_file(entry, _file_mode(scratch))
        _sync_folder(new)
        if folder.exists():
            os.replace(folder, scratch / _OLD)
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
    with _scratch_folder(folder) as scratch:
        os.replace(folder, scratch / folder.name)


@contextmanager
def _scratch_folder(path: Path) -> Iterator[Path]:
    """Yield a locked folder beside `path`, deleted afterwards; disk errors of the block name `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_scratch_folders(path.parent)
        scratch, lock = _locked_scratch_folder(path)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield scratch
    except OSError as error:
        names = f"{error.filename} {error.filename2}"
        if (error.filename is None and is_disk_error(error)) or _SCRATCH_SUFFIX in names:
            raise unwritable(path, error) from error
        raise
    finally:
        _delete_scratch_folder(scratch, lock)


def is_disk_error(error: BaseException | None) -> bool:
    """Return True if an error is, or is caused by, a disk that is full, read-only or broken."""
    if isinstance(error, OSError):
        return error.errno in _DISK_ERRORS
    return error is not None and is_disk_error(error.__cause__)


def unwritable(path: Path, error: OSError) -> InputError:
    """Return an `InputError` with the output and the reason of an error of the operating system."""
    reason = os.strerror(error.errno) if error.errno else error
    return InputError(f"{path}: cannot be written ({reason}).")


def _locked_scratch_folder(path: Path) -> tuple[Path, Lock]:
    while True:
        scratch = Path(tempfile.mkdtemp(_SCRATCH_SUFFIX, f".{path.name}-", path.parent))
        with suppress(FileNotFoundError):  # another process may sweep a folder that is not locked yet
            if lock := try_lock(scratch / _LOCK, required=False):
                return scratch, lock


def _delete_scratch_folder(scratch: Path, lock: Lock) -> None:
    for entry in scratch.iterdir():
        if entry.name != _LOCK:  # network file systems keep the name of a deleted file that is open
            delete_path(entry)
    lock.release()
    with suppress(OSError):  # another process sweeps it now that its lock is released
        scratch.rmdir()


def sweep_scratch_folders(parent: Path) -> None:
    """Delete the scratch folders of dead processes, once per process, and undo an interrupted replacement."""
    parent = parent.resolve()
    if parent in _swept:
        return
    _swept.add(parent)
    for scratch in parent.glob(f".*-{'?' * _RANDOM_LENGTH}{_SCRATCH_SUFFIX}"):
        try:
            lock = try_lock(scratch / _LOCK)
        except OSError:  # of another user, already deleted, or on a file system without locks
            continue
        if lock is None:
            continue
        target = parent / scratch.name[1 : -len(_SCRATCH_SUFFIX) - _RANDOM_LENGTH - 1]
        if (scratch / _OLD).exists() and not target.exists():
            os.replace(scratch / _OLD, target)
        _delete_scratch_folder(scratch, lock)


def _file_mode(scratch: Path) -> int:
    """Return the default permissions of new files, those of the lock file; some libraries set stricter ones."""
    return (scratch / _LOCK).stat().st_mode & 0o777


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
