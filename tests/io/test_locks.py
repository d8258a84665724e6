"""Lock files: what is no lock file is refused and stays unchanged."""

import json
import os
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.locks import read_record, try_lock


def test_lock_holds_a_record_of_this_process_and_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert read_record(path) is None
    lock = try_lock(path)
    assert lock is not None
    record = read_record(path)
    assert record is not None
    assert (record["pid"], record["inode"]) == (os.getpid(), path.stat().st_ino)
    assert try_lock(path) is None
    lock.release()
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\0", b"\0" * 100),
        b"\0" + json.dumps({"lock": "radreward", "pid": 1, "host": "h", "since": "s", "inode": 1}).encode(),
    ],
)
def test_lock_of_a_dead_process_is_taken_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    lock = try_lock(path)
    assert lock is not None
    record = read_record(path)
    assert record is not None
    assert record["pid"] == os.getpid()
    lock.release()


@pytest.mark.parametrize(
    "content",
    [
        *(b"x", b"xy", b"\0x", b"\0{}", b"\0[1]", b"\0" + b"[" * 4000, b"\0" * 5000, b'\0{"lock": "other", "pid": 1}'),
        b'{"lock": "radreward"}',
    ],
)
def test_file_of_something_else_is_refused_and_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"lock: Expected no file, or one that radreward wrote, but it is a file of something"
    ):
        try_lock(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", ["years of work", ""])
@pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
def test_link_is_refused_and_its_target_unchanged(tmp_path: Path, kind: str, content: str) -> None:
    target, path = tmp_path / "thesis.txt", tmp_path / "lock"
    target.write_text(content)
    getattr(path, kind)(target)
    with pytest.raises(InputError, match="but it is a (hard )?link"):
        try_lock(path)
    assert read_record(path) is None
    assert target.read_text() == content


def test_dangling_link_folder_and_pipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("link", "a link"), ("folder", "a folder"), ("pipe", "a pipe or a device")):
        with pytest.raises(InputError, match=f"but it is {kind}"):
            try_lock(tmp_path / name)
        assert read_record(tmp_path / name) is None
    assert not (tmp_path / "nothing").exists()


def test_lock_in_an_open_folder_is_found_after_the_folder_was_moved(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    try:
        (tmp_path / "a").rename(tmp_path / "b")
        lock = try_lock(tmp_path / "a" / "lock", dir_fd=descriptor)
        assert lock is not None
        assert [path.name for path in (tmp_path / "b").iterdir()] == ["lock"]
        lock.release()
        assert list((tmp_path / "b").iterdir()) == []
    finally:
        os.close(descriptor)
