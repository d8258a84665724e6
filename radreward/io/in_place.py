"""Checks of files and folders that radreward writes in place, instead of replacing them by new ones.

Nothing outside of an output may be written through them: they are never links, and files have one name only.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from radreward.errors import InputError

SAFE_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
"""Flags of `os.open`, as far as the system has them: follow no link, wait for no pipe."""

_DATABASE_STARTS = {
    "": (b"SQLite format 3\0",),
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-shm": (b"\x18\xe2\x2d\x00", b"\x00\x2d\xe2\x18"),
    "-journal": (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",),
}
"""First bytes of the files of an SQLite database, by the end of their names (https://www.sqlite.org/fileformat2.html)."""


def is_reparse_point(state: os.stat_result) -> bool:
    """Return True for a symbolic link, and for a junction or mount point of Windows."""
    attributes = getattr(state, "st_file_attributes", 0)
    return stat.S_ISLNK(state.st_mode) or bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)


def foreign_file(path: Path, kind: str) -> InputError:
    """Return the error for a path that is none of radreward's files but of another kind, such as a folder."""
    return InputError(
        f"{path}: Expected no file, or one that radreward wrote, but it is {kind}. Delete it, or choose another output."
    )


def check_kind(path: Path, state: os.stat_result) -> None:
    """Check that a file is regular and has one name.

    Raises:
        InputError: If it is a link, a hard link, a folder, a pipe or a device.
    """
    if is_reparse_point(state):
        raise foreign_file(path, "a link")
    if stat.S_ISDIR(state.st_mode):
        raise foreign_file(path, "a folder")
    if not stat.S_ISREG(state.st_mode):
        raise foreign_file(path, "a pipe or a device")
    if state.st_nlink > 1:
        raise foreign_file(path, "a hard link of another file")


def check_file(path: Path, starts: tuple[bytes, ...] = ()) -> bool:
    """Check that a file may be written in place, and return True if it exists; another process may delete it meanwhile.

    Args:
        path: The file.
        starts: First bytes of the files that radreward writes; a file without content is always accepted.

    Raises:
        InputError: If it is no regular file, has another name too, has other content, or may not be written.
    """
    try:
        check_kind(path, os.lstat(path))
        if not os.access(path, os.R_OK | os.W_OK) and os.path.lexists(path):
            raise foreign_file(path, "a file that you may not write")
        if starts:
            with path.open("rb") as file:
                content = file.read(max(map(len, starts)))
            if content.strip(b"\0") and not content.startswith(starts):
                raise foreign_file(path, "a file of something else")
    except FileNotFoundError:
        return False
    return True


def check_folder(path: Path) -> None:
    """Check that a folder may be written into: it is absent, or a folder and no link.

    Raises:
        InputError: If it is a link or a file.
    """
    with suppress(FileNotFoundError):
        state = os.lstat(path)
        if is_reparse_point(state) or not stat.S_ISDIR(state.st_mode):
            kind = "a link" if is_reparse_point(state) else "a file"
            raise InputError(f"{path}: Expected no folder, or one that radreward wrote, but it is {kind}. Rename it.")


def check_database(path: Path) -> None:
    """Check the files of an SQLite database before it is opened.

    A journal can name another file that SQLite then deletes, which only transactions over several databases need.

    Raises:
        InputError: If a file is no regular file, has another name too, or has other content, or if the journal names
            another file.
    """
    check_file(path, _DATABASE_STARTS[""])
    for suffix in ("-wal", "-shm", "-journal"):
        part = path.with_name(path.name + suffix)
        if check_file(part, _DATABASE_STARTS[suffix]) and not path.exists():
            raise foreign_file(part, "a file without its database")
        if suffix == "-journal":
            with suppress(FileNotFoundError):  # another process ends its transaction
                if part.read_bytes().endswith(_DATABASE_STARTS[suffix]):
                    raise foreign_file(part, "a journal that names another file")


def check_links_stay_inside(folder: Path) -> None:
    """Check that no link in a folder leads out of it.

    Raises:
        InputError: If one does.
    """
    root = folder.resolve()
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            if is_reparse_point(os.lstat(path)) and not path.resolve().is_relative_to(root):
                raise InputError(
                    f"{folder / path.relative_to(root)}: Expected no link out of {folder}. Replace it by its target."
                )
