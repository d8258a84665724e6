"""Scratch folders: hidden folders beside an output, in which it is written before it gets its name.

A scratch folder is locked by its process. The next process deletes the scratch folders of dead processes. It follows
no link, and it deletes a folder only if its lock file holds the record that was written for this very file: a copy of
a lock file, as in a cloned repository or an archive, has another inode.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from radreward.errors import InputError
from radreward.io.locks import Lock, has_name, read_record, try_lock
from radreward.io.open_folder import OpenFolder, is_of_this_user
from radreward.io.terminal import print_status

SCRATCH_SUFFIX = ".radreward-tmp"
"""End of the names of scratch folders, `.<name of the output>-<8 random characters>.radreward-tmp`."""
REPLACED = ".radreward-old"
"""Name in a scratch folder of the folder that is being replaced."""
_RANDOM_LENGTH = 8
_LOCK = ".radreward-lock"
_swept: set[Path] = set()
"""Folders in which this process has swept the scratch folders of dead processes."""


@contextmanager
def locked_scratch_folder(path: Path) -> Iterator[tuple[Path, int]]:
    """Yield a locked folder beside an output, and the usual permissions of new files; it is deleted afterwards.

    Raises:
        OSError: If the folder cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep_scratch_folders(path.parent)
    scratch, lock = _create(path)
    try:
        yield scratch, os.fstat(lock.descriptor).st_mode & 0o777  # some libraries set stricter ones
    finally:
        if lock.process_id == os.getpid():  # not in a forked child
            with OpenFolder(scratch) as folder:
                _delete_content(folder, lock)
            _remove_empty(scratch)


def sweep_scratch_folders(parent: Path) -> None:
    """Delete the scratch folders of dead processes, once per process, and undo an interrupted replacement.

    What has such a name but is not proven to be a scratch folder of this user stays, and a line reports it.
    """
    parent = parent.resolve()
    if parent in _swept:
        return
    _swept.add(parent)
    for scratch in sorted(parent.glob(f".*-{'?' * _RANDOM_LENGTH}{SCRATCH_SUFFIX}")):
        with suppress(FileNotFoundError):  # another process has deleted it
            if is_of_this_user(os.lstat(scratch)) and (reason := _sweep(scratch)):
                print_status(f"{scratch}: was not deleted ({reason}). Delete it if you do not need it.")


def _create(path: Path) -> tuple[Path, Lock]:
    while True:
        scratch = Path(tempfile.mkdtemp(SCRATCH_SUFFIX, f".{path.name}-", path.parent))
        try:
            lock = try_lock(scratch / _LOCK, required=False)
        except FileNotFoundError:  # another process may sweep a folder that is not locked yet
            continue
        except OSError:  # a full disk: leave nothing behind
            (scratch / _LOCK).unlink(missing_ok=True)
            _remove_empty(scratch)
            raise
        if lock:
            return scratch, lock


def _sweep(scratch: Path) -> str | None:
    """Delete a scratch folder if its process is dead; return the reason if it is no scratch folder."""
    try:
        with OpenFolder(scratch) as folder:
            if not _is_proven(folder):
                return "it is not a scratch folder that radreward wrote here"
            if folder.names():
                lock = try_lock(scratch / _LOCK, dir_fd=folder.descriptor)
                if lock is None:  # its process is alive
                    return None
                _undo_replacement(folder)
                _delete_content(folder, lock)
        _remove_empty(scratch)
        return None
    except FileNotFoundError:
        raise
    except OSError as error:  # it is a link or a file, or the file system has no locks
        return error.strerror


def _is_proven(folder: OpenFolder) -> bool:
    """Return True if a folder is empty or has only an empty lock, or if its lock holds the record of this very file."""
    names = folder.names()
    record = read_record(folder.path / _LOCK, folder.descriptor)
    if not record:
        return not names or (names == [_LOCK] and record is not None)  # its process was killed at its start
    return folder.is_of_this_user() and record.get("inode") == folder.inode(_LOCK)


def _undo_replacement(folder: OpenFolder) -> None:
    """Give the folder that was being replaced its name back, unless the new one has this name already."""
    target = folder.path.with_name(folder.path.name[1 : -len(SCRATCH_SUFFIX) - _RANDOM_LENGTH - 1])
    if REPLACED in folder.names() and not os.path.lexists(target):
        folder.move(REPLACED, target)


def _delete_content(folder: OpenFolder, lock: Lock) -> None:
    """Delete all entries, the lock last.

    Raises:
        InputError: If another program gave the name of the folder to another one.
    """
    if not has_name(lock.descriptor, lock.path, folder.descriptor):
        raise InputError(f"{folder.path}: was moved or replaced by another program while radreward used it.")
    for name in folder.names():
        if name != _LOCK:  # network file systems keep the name of a deleted file that is open
            folder.delete(name)
    lock._replace(dir_fd=folder.descriptor).release()


def _remove_empty(scratch: Path) -> None:
    with suppress(OSError):  # it is in use, or another process sweeps it now that its lock is released
        scratch.rmdir()
