from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.atomic import atomic_folder


def write(folder: Path, content: str, fail: bool = False) -> None:
    with atomic_folder(folder, {"config.json"}, "a judge") as new:
        (new / "config.json").write_text(content)
        if fail:
            raise KeyboardInterrupt


def test_atomic_folder_replaces_an_older_folder_without_leftovers(tmp_path: Path) -> None:
    for content in ("one", "two"):
        write(tmp_path / "model", content)
        assert (tmp_path / "model" / "config.json").read_text() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_atomic_folder_interrupted_keeps_the_older_folder(tmp_path: Path) -> None:
    write(tmp_path / "model", "one")
    for name in ("model", "other"):
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / name, "two", fail=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "config.json").read_text() == "one"


def test_atomic_folder_never_replaces_other_content(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    for folder in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(InputError, match="Expected a folder that is new, empty or holds a judge"):
            write(folder, "one")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_atomic_folder_error_names_the_final_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError) as caught,
        atomic_folder(tmp_path / "model", {"config.json"}, "a judge") as scratch,
    ):
        raise InputError(f"{scratch / 'model.safetensors'}: Expected finite numbers.")
    assert str(caught.value) == f"{tmp_path / 'model' / 'model.safetensors'}: Expected finite numbers."
