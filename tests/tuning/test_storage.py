from pathlib import Path

import pytest
from optuna.storages import JournalStorage, RDBStorage

from radreward.errors import InputError
from radreward.tuning.storage import open_storage


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
