import threading
import time
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, JournalStorage, RDBStorage

from radreward.errors import InputError
from radreward.tuning import storage as module
from radreward.tuning.storage import open_storage, study_lock


def test_default_storage_is_a_file_in_the_folder(tmp_path: Path) -> None:
    assert isinstance(open_storage(None, tmp_path), RDBStorage)
    assert (tmp_path / "study.db").is_file()


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


@pytest.fixture(params=["sqlite", "journal"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> BaseStorage:
    return open_storage(None if request.param == "sqlite" else f"journal:{tmp_path / 'log'}", tmp_path)


def test_study_lock_is_exclusive(storage: BaseStorage) -> None:
    num_holders, max_holders = 0, 0

    def work() -> None:
        nonlocal num_holders, max_holders
        for _ in range(3):
            with study_lock(storage, "toy"):
                num_holders += 1
                max_holders = max(max_holders, num_holders)
                time.sleep(0.005)
                num_holders -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max_holders == 1
    assert optuna.get_all_study_names(storage) == []


def test_abandoned_lock_is_released_after_timeout(storage: BaseStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT", 0.2)
    optuna.create_study(storage=storage, study_name="toy (lock)").set_user_attr("holder", "a dead worker")
    with study_lock(storage, "toy"):
        assert optuna.get_all_study_names(storage) == ["toy (lock)"]
    assert optuna.get_all_study_names(storage) == []


def test_study_lock_is_released_after_an_error(storage: BaseStorage) -> None:
    with pytest.raises(KeyError, match="inside"), study_lock(storage, "toy"):
        raise KeyError("inside")
    assert optuna.get_all_study_names(storage) == []
