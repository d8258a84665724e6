import threading
import time
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage

from radreward.errors import InputError
from radreward.tuning import storage as module
from radreward.tuning.storage import open_storage, study_lock


def test_a_file_in_the_folder_where_nothing_is_given(tmp_path: Path) -> None:
    assert isinstance(open_storage(None, tmp_path), RDBStorage)
    assert (tmp_path / "study.db").is_file()


@pytest.mark.parametrize("url", ["journal:{}/deep/log", "{}/deep/study.journal"])
def test_journals(tmp_path: Path, url: str) -> None:
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
def test_what_cannot_be_used_is_named_without_its_password(tmp_path: Path, url: str, message: str) -> None:
    with pytest.raises(InputError, match="^storage ") as raised:
        open_storage(url, tmp_path)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def silent(url: str) -> BaseStorage:
        ended.wait()
        return InMemoryStorage()

    monkeypatch.setattr(module, "_connect", silent)
    monkeypatch.setattr(module, "ANSWER", 0.05)
    with pytest.raises(InputError, match="storage postgresql://host/db: does not answer"):
        open_storage("postgresql://host/db", tmp_path)
    ended.set()


@pytest.fixture(params=["sqlite", "journal"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> BaseStorage:
    return open_storage(None if request.param == "sqlite" else f"journal:{tmp_path / 'log'}", tmp_path)


def test_one_at_a_time(kept: BaseStorage) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(3):
            with study_lock(kept, "toy"):
                inside += 1
                most = max(most, inside)
                time.sleep(0.005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert optuna.get_all_study_names(kept) == []


def test_a_lock_that_was_left_behind_is_broken(kept: BaseStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ABANDONED", 0.2)
    optuna.create_study(storage=kept, study_name="toy (lock)").set_user_attr("holder", "a worker that is no more")
    with study_lock(kept, "toy"):
        assert optuna.get_all_study_names(kept) == ["toy (lock)"]
    assert optuna.get_all_study_names(kept) == []


def test_it_is_released_after_an_error(kept: BaseStorage) -> None:
    with pytest.raises(KeyError, match="inside"), study_lock(kept, "toy"):
        raise KeyError("inside")
    assert optuna.get_all_study_names(kept) == []
