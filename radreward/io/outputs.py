"""Claims on the outputs of commands: check early that they can be written, and exclude other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radreward.errors import InputError
from radreward.io.atomic import check_output_file, is_disk_error, unwritable
from radreward.io.locks import read_record, try_lock

LOCK_NAME = ".radreward-lock"
"""Lock file in a folder that a process writes; the lock file of a file is `.<name>.radreward-lock` beside it."""

_POLL_INTERVAL = 0.05
"""Seconds between two attempts to lock a file."""


@contextmanager
def claimed_file(path: Path | None, wait: bool = False) -> Iterator[None]:
    """Lock a file that the block writes; its folder is created.

    Args:
        path: The file; None for no output.
        wait: Wait while another process writes it.

    Raises:
        InputError: If it cannot be written, is no file, or another process writes it.
    """
    if path is None:
        yield
        return
    check_output_file(path)
    with _claimed(path, path.parent, f".{path.name}{LOCK_NAME}", wait):
        yield


@contextmanager
def claimed_folder(path: Path | None) -> Iterator[None]:
    """Lock a folder that the block writes to; it is created, and deleted again if it stays empty; None locks nothing.

    Raises:
        InputError: If it cannot be written, is a file, or another process writes it.
    """
    if path is None:
        yield
        return
    if path.is_file():
        raise InputError(f"{path}: Expected a folder to write into but it is a file.")
    with _claimed(path, path, LOCK_NAME, wait=False):
        yield


def folder_entries(folder: Path) -> list[Path]:
    """Return the sorted files and folders in a folder, without the lock of its writer."""
    return sorted(entry for entry in folder.iterdir() if entry.name != LOCK_NAME)


@contextmanager
def _claimed(path: Path, folder: Path, lock_name: str, wait: bool) -> Iterator[None]:
    created = [entry for entry in (folder, *folder.parents) if not entry.exists()]
    lock_path, lock = folder / lock_name, None
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while (lock := try_lock(lock_path, required=False)) is None:
                if not wait:
                    raise InputError(_writer(path, lock_path))
                time.sleep(_POLL_INTERVAL)
            os.fsync(lock.descriptor)  # fails on a full disk
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            yield
        except OSError as error:
            if error.filename is None and is_disk_error(error):
                raise unwritable(path, error) from error
            raise
    finally:
        if lock is not None:
            lock.release()
        for entry in created:
            if entry.is_dir() and not any(entry.iterdir()):
                entry.rmdir()


def _writer(path: Path, lock_path: Path) -> str:
    """Return the message about the process that holds a lock."""
    owner = read_record(lock_path) or {}
    try:
        name = f"process {owner['pid']} on {owner['host']} has been writing it since {owner['since']}"
    except KeyError:  # the other process has just started or ended
        name = "another process is writing it"
    return f"{path}: {name}. Wait until it ends, or choose another output."
