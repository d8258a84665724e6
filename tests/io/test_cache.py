import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.cache import SQLiteCache

WRITER = """
import sys, time
from radreward.io.cache import SQLiteCache
cache = SQLiteCache(sys.argv[1])
for number in range(1000):
    cache.put({f"{sys.argv[2]}-{number}": str(number).encode()})
    print(number, flush=True)
"""


def test_values_are_read_by_another_connection(tmp_path: Path) -> None:
    SQLiteCache(tmp_path / "new" / "a.sqlite").put({"a": b"1", "b": b"\x00\xff"})
    cache = SQLiteCache(tmp_path / "new" / "a.sqlite")
    assert cache.get(["b", "c", "a"]) == {"b": b"\x00\xff", "a": b"1"}
    assert list(cache.get(["b", "c", "a"])) == ["b", "a"]
    cache.put({"a": b"2"})
    assert (len(cache), cache.get(["a"])) == (2, {"a": b"2"})


def test_least_recently_used_values_are_deleted_first(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "a.sqlite", max_entries=2)
    for key in ("a", "b"):
        cache.put({key: b"x"})
    cache.get(["a"])
    cache.put({"c": b"x"})
    assert len(cache) == 2
    assert set(cache.get(["a", "b", "c"])) == {"a", "c"}


def test_more_keys_than_one_query_takes(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "a.sqlite", max_entries=5000)
    keys = [f"name '{i}'" for i in range(1201)]
    cache.put(dict.fromkeys(keys, b"x"))
    assert list(cache.get(keys)) == keys


def test_other_namespace_deletes_the_values(tmp_path: Path) -> None:
    SQLiteCache(tmp_path / "a.sqlite", "first").put({"a": b"1"})
    assert len(SQLiteCache(tmp_path / "a.sqlite", "first")) == 1
    assert len(SQLiteCache(tmp_path / "a.sqlite", "second")) == 0


def test_value_with_a_flipped_bit_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    cache = SQLiteCache(path)
    cache.put({"a": b'{"total": 0.5}', "b": b'{"total": 0.25}'})
    cache.close()
    content = bytearray(path.read_bytes())
    content[content.index(b"0.5}")] ^= 1
    path.write_bytes(content)
    cache = SQLiteCache(path)
    assert cache.get(["a", "b"]) == {"b": b'{"total": 0.25}'}
    cache.put({"a": b'{"total": 0.5}'})
    assert list(cache.get(["a", "b"])) == ["a", "b"]


def test_file_is_private(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "a.sqlite")
    cache.put({"a": b"1"})
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_file_of_another_kind_is_named_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and long enough to be read as the header of a database. " * 3)
    with pytest.raises(InputError, match=r"notes\.txt: .* but it is a file of something else"):
        SQLiteCache(path)
    assert path.read_text().startswith("These")
    with pytest.raises(InputError, match="but it is a folder"):
        SQLiteCache(tmp_path)
    with pytest.raises(ValueError, match="Expected `max_entries` to be >= 1 but got 0"):
        SQLiteCache(tmp_path / "a.sqlite", max_entries=0)


def test_put_of_an_invalid_value_stores_nothing(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "a.sqlite")
    with pytest.raises(TypeError):
        cache.put({"a": b"1", "b": None})  # type: ignore[dict-item]
    assert len(cache) == 0


def test_values_of_several_processes_survive_a_kill(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sqlite")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, name], stdout=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    stored = []
    for name, writer in zip(("a", "b"), writers, strict=True):
        assert writer.stdout is not None
        stored += [f"{name}-{int(writer.stdout.readline())}" for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    assert set(SQLiteCache(path).get(stored)) == set(stored)


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "a.sqlite", max_entries=1000)

    def write(start: int) -> None:
        for key in range(start, start + 20):
            cache.put({str(key): b"x"})

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 160, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 160
