"""Files and folders that are written in place: what is none of radreward's is refused."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.in_place import check_database, check_file, check_folder, check_links_stay_inside

JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def make_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE a (b)")


def test_file_is_absent_empty_or_starts_as_expected(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert not check_file(path, (b"{",))
    for content in (b"", b"\0", b'{"a": 1}'):
        path.write_bytes(content)
        assert check_file(path, (b"{",))
    path.write_bytes(b"thesis")
    assert check_file(path)
    with pytest.raises(InputError, match="Expected no file, or one that radreward wrote, but it is a file of"):
        check_file(path, (b"{",))


def test_open_database_passes_and_stays_usable(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    check_database(path)
    make_database(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO a VALUES (1)")
        connection.commit()
        assert {entry.name for entry in tmp_path.iterdir()} == {"a.sqlite", "a.sqlite-wal", "a.sqlite-shm"}
        check_database(path)


def test_rollback_journal_of_a_killed_process_passes(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE a (b)")
        connection.commit()
        connection.execute("INSERT INTO a VALUES (1)")
        assert (tmp_path / "a.sqlite-journal").is_file()
        check_database(path)


def test_database_without_its_file_is_refused(tmp_path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        (tmp_path / f"a.sqlite{suffix}").touch()
        with pytest.raises(InputError, match=f"a.sqlite{suffix}: .* but it is a file without its database"):
            check_database(tmp_path / "a.sqlite")
        (tmp_path / f"a.sqlite{suffix}").unlink()


def write_journal_that_names(target: Path, database: Path) -> None:
    """Write a rollback journal of a transaction over several databases, whose list of journals is `target`."""
    header = JOURNAL_MAGIC + b"".join(
        number.to_bytes(4, "big") for number in (0, 0, 2, 512, 4096)
    )  # records, nonce, pages, sizes
    name = str(target).encode()
    locking_page = (2**30 // 4096 + 1).to_bytes(4, "big")
    record = locking_page + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + JOURNAL_MAGIC
    database.with_name(f"{database.name}-journal").write_bytes(header.ljust(512, b"\0") + record)


def test_journal_that_names_another_file_is_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "a.sqlite", tmp_path / "thesis.txt"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE a (b)")
    write_journal_that_names(target, path)
    target.write_text("years of work")
    with pytest.raises(InputError, match="a.sqlite-journal: .* but it is a journal that names another file"):
        check_database(path)
    assert target.exists()
    with closing(sqlite3.connect(path)) as connection:  # SQLite itself deletes the file
        assert connection.execute("SELECT * FROM a").fetchall() == []
    assert not target.exists()


def test_folder_is_absent_or_no_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("folder", target_is_directory=True)
    check_folder(tmp_path / "absent")
    check_folder(tmp_path / "folder")
    for name in ("file", "link"):
        with pytest.raises(
            InputError, match=f"{name}: Expected no folder, or one that radreward wrote, but it is a {name}"
        ):
            check_folder(tmp_path / name)


def test_links_may_lead_to_the_same_folder_only(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "wandb" / "run-1").mkdir(parents=True)
    (run / "wandb" / "latest").symlink_to("run-1", target_is_directory=True)
    check_links_stay_inside(run)
    (run / "logs").symlink_to("../other", target_is_directory=True)
    with pytest.raises(InputError, match=rf"{run}/logs: Expected no link out of {run}\. Replace it by its target"):
        check_links_stay_inside(run)
    assert os.readlink(run / "logs") == "../other"


def test_journal_that_another_process_deletes_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sqlite"
    make_database(path)
    lstat = os.lstat

    def deleting(part: Path) -> os.stat_result:
        state = lstat(part)
        if str(part).endswith("-journal"):
            Path(part).unlink()
        return state

    monkeypatch.setattr(os, "lstat", deleting)
    journal = path.with_name("a.sqlite-journal")
    journal.write_bytes(JOURNAL_MAGIC)
    check_database(path)
    assert not journal.exists()
