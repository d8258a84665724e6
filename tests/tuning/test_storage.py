import subprocess
import sys
from pathlib import Path

import pytest
from optuna.storages import JournalStorage, RDBStorage

from radreward.errors import InputError
from radreward.tuning.storage import open_storage


def test_default_storage_is_a_file_in_the_folder(tmp_path: Path) -> None:
    assert isinstance(open_storage(None, tmp_path), RDBStorage)
    assert (tmp_path / "study.db").is_file()


WRITE = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
    print("written")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_new_connection_keeps_the_locks_of_others_in_this_process(tmp_path: Path) -> None:
    storage = open_storage(None, tmp_path)
    assert isinstance(storage, RDBStorage)
    with storage.engine.connect() as first:
        first.exec_driver_sql("BEGIN IMMEDIATE")  # as the thread of the heartbeat does
        with storage.engine.connect() as second:
            second.exec_driver_sql("SELECT 1")
        command = [sys.executable, "-c", WRITE, str(tmp_path / "study.db")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "database is locked\n"


@pytest.mark.parametrize("url", ["journal:{}/deep/log", "{}/deep/study.journal"])
def test_journal_url_and_suffix_open_a_journal(tmp_path: Path, url: str) -> None:
    assert isinstance(open_storage(url.format(tmp_path), tmp_path), JournalStorage)
    assert len(list((tmp_path / "deep").iterdir())) == 1


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite:////absent/folder/study.db", "unable to open database file"),
        ("postgresql+psycopg2://me:secret@localhost:1/studies", "cannot be used"),
        ("nosuch://host/db", "nosuch"),
        ("study", "cannot be used"),
        ("journal:/dev/null/log", "File exists"),
    ],
)
def test_unusable_storage_raises_without_its_password(tmp_path: Path, url: str, message: str) -> None:
    with pytest.raises(InputError, match="^storage ") as error:
        open_storage(url, tmp_path)
    assert message in str(error.value)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
