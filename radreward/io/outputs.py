"""Outputs of commands: found writable before anything is computed, and written by one process at a time."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from radreward.errors import InputError
from radreward.io.atomic import is_disk_error, unwritable
from radreward.io.locks import release_lock, try_lock

LOCK_NAME = ".radreward-lock"
"""Lock file in a folder that a process writes; that of a file is beside it, `.<name>.radreward-lock`."""


@contextmanager
def claimed_file(path: Path | None) -> Iterator[None]:
    """Hold a file that the block writes; its folder is created.

    Args:
        path: The file; None for no output.

    Raises:
        InputError: If it cannot be written, is a folder, or another process writes it.
    """
    if path is None:
        yield
        return
    if path.is_dir():
        raise InputError(f"{path}: Expected a file to write but it is a folder.")
    with _claimed(path, path.parent, f".{path.name}{LOCK_NAME}"):
        yield


@contextmanager
def claimed_folder(path: Path | None) -> Iterator[None]:
    """Hold a folder that the block writes to; it is created, and deleted again if it stays empty.

    Args:
        path: The folder; None for no output.

    Raises:
        InputError: If it cannot be written, is a file, or another process writes it.
    """
    if path is None:
        yield
        return
    if path.is_file():
        raise InputError(f"{path}: Expected a folder to write into but it is a file.")
    with _claimed(path, path, LOCK_NAME):
        yield


def folder_entries(folder: Path) -> list[Path]:
    """Return the sorted files and folders in a folder, without the lock of its writer."""
    return sorted(entry for entry in folder.iterdir() if entry.name != LOCK_NAME)


@contextmanager
def _claimed(path: Path, folder: Path, lock_name: str) -> Iterator[None]:
    created = [entry for entry in (folder, *folder.parents) if not entry.exists()]
    lock_path, lock = folder / lock_name, None
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (lock := try_lock(lock_path, required=False)) is None:
                raise InputError(_writer(path, lock_path))
            _write_owner(lock)
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
            release_lock(lock_path, lock)
        for entry in created:
            if entry.is_dir() and not any(entry.iterdir()):
                entry.rmdir()


def _write_owner(lock: int) -> None:
    """Write who holds a lock into its file; on a full disk this fails."""
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now():%Y-%m-%d %H:%M:%S}"}
    os.ftruncate(lock, 0)
    os.write(lock, json.dumps(owner).encode())
    os.fsync(lock)


def _writer(path: Path, lock_path: Path) -> str:
    """Return the message about the process that holds a lock."""
    try:
        owner = json.loads(lock_path.read_text(encoding="utf-8"))
        name = f"process {owner['pid']} on {owner['host']} has been writing it since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # it has just started or ended
        name = "another process is writing it"
    return f"{path}: {name}. Wait until it ends, or choose another output."
