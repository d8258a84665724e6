"""Folder of caches, and hash of the code."""

from importlib import resources
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.user_cache import code_fingerprint, user_cache_folder


def test_user_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert user_cache_folder() == Path("/caches/radreward")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/a")
    assert user_cache_folder() == Path("/home/a/.cache/radreward")

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match="or a home folder, but got none"):
        user_cache_folder()


def test_code_fingerprint_changes_with_code_and_word_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    hashes = []
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 2"), ("words.txt", "mass"), ("notes.md", "not code")):
        (tmp_path / name).write_text(text)
        hashes.append(code_fingerprint.__wrapped__())
    assert len(set(hashes)) == 3
    assert hashes[2] == hashes[3]
