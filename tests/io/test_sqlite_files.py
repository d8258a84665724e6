"""SQLite files of others: their schema runs no function with side effects, in caches and in studies."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from radreward.errors import InputError
from radreward.io.cache import SQLiteCache
from radreward.io.sqlite_files import open_database
from radreward.tuning.storage import open_storage
from tests.source_files import FILES


def test_schema_of_an_opened_file_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW trap AS SELECT own() AS value")

    def read(connect: Callable[[Path], sqlite3.Connection]) -> list[tuple[int]]:
        with closing(connect(path)) as connection:
            connection.create_function("own", 0, lambda: 7)
            return connection.execute("SELECT value FROM trap").fetchall()

    assert read(sqlite3.connect) == [(7,)]
    with pytest.raises(sqlite3.OperationalError, match=r"unsafe use of own\(\)"):
        read(open_database)


def test_every_sqlite_file_is_opened_by_one_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    connect = sqlite3.connect

    def record(path: Path, **settings: Any) -> sqlite3.Connection:
        opened.append(Path(path).name)
        connection: sqlite3.Connection = connect(path, **settings)
        return connection

    monkeypatch.setattr("radreward.io.sqlite_files.sqlite3.connect", record)
    SQLiteCache(tmp_path / "cache.sqlite").close()
    open_storage(None, tmp_path)
    assert set(opened) == {"cache.sqlite", "study.db"}
    assert [path.name for path in FILES if "sqlite3.connect(" in path.read_text()] == ["sqlite_files.py"]


def test_storage_with_options_of_sqlite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected the URL of an SQLite file without options"):
        open_storage(f"sqlite:///{tmp_path}/study.db?mode=ro", tmp_path)
