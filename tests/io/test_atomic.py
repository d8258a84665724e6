import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.atomic import atomic_file, atomic_folder, write_text_file
from radreward.io.scratch import _swept
from tests.killing import kill_before_each_file_event


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


def test_atomic_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[int] = []
    replace = os.replace

    def replace_and_record(old: Path, new: Path) -> None:
        replace(old, new)
        events.append(0)

    monkeypatch.setattr(os, "fsync", lambda descriptor: events.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(os, "replace", replace_and_record)
    write_text_file(tmp_path / "a.txt", "complete")
    assert events == [(tmp_path / "a.txt").stat().st_ino, 0, tmp_path.stat().st_ino]


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


def test_atomic_file_is_complete_or_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    write_text_file(path, "one")
    with suppress(KeyboardInterrupt), atomic_file(path) as scratch:
        scratch.write_text("half of tw")
        raise KeyboardInterrupt
    assert path.read_text() == "one"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_written_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with atomic_folder(tmp_path / "model", (), "nothing") as scratch:
        os.close(os.open(scratch / "weights", os.O_CREAT, 0o600))  # as safetensors writes them
    write_text_file(tmp_path / "a.txt", "")
    modes = {(tmp_path / name).stat().st_mode for name in ("usual", "a.txt", "model/weights")}
    assert len(modes) == 1


@pytest.mark.parametrize("size", [10**5, 10**8], ids=["in a write", "at once"])
def test_atomic_file_on_a_full_disk_is_one_message_without_leftovers(small_disk: Path, size: int) -> None:
    write_text_file(small_disk / "a.txt", "one")
    with pytest.raises(InputError, match=r"a\.txt: cannot be written \(No space left on device\)"):
        write_text_file(small_disk / "a.txt", "x" * size)
    with (
        pytest.raises(InputError, match="model: cannot be written"),
        atomic_folder(small_disk / "model", (), "nothing") as scratch,
    ):
        (scratch / "weights").write_text("x" * size)
    assert [entry.name for entry in small_disk.iterdir()] == ["a.txt"]
    assert (small_disk / "a.txt").read_text() == "one"


def test_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no\.txt"), atomic_file(tmp_path / "a.txt"):
        (tmp_path / "no.txt").read_text()


def read_tree(folder: Path) -> dict[str, str]:
    files = sorted(entry for entry in folder.rglob("*") if entry.is_file())
    return {entry.relative_to(folder).as_posix(): entry.read_text() for entry in files}


@pytest.mark.parametrize("previous", [True, False], ids=["replacing", "new"])
def test_kill_before_any_file_event_leaves_the_old_or_the_new_content(tmp_path: Path, previous: bool) -> None:
    def write_both(content: str) -> None:
        _swept.clear()  # as in a new process
        write(tmp_path / "model", content)
        write_text_file(tmp_path / "a.txt", content)

    def start() -> None:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        if previous:
            write_both("one")

    start()
    for events in kill_before_each_file_event(lambda: write_both("two")):
        _swept.clear()
        write_text_file(tmp_path / "b.txt", "")  # sweeps
        content = read_tree(tmp_path)
        expected = {"one", "two"} if previous else {"two"}
        assert set(content) - {"b.txt"} <= {"a.txt", "model/config.json"}, events
        assert {text for name, text in content.items() if name != "b.txt"} <= expected, events
        assert len(content) == 3 or not previous, events
        assert {entry.name for entry in tmp_path.iterdir()} <= {"a.txt", "b.txt", "model"}, events
        start()
    assert events > 15


def test_scratch_files_of_a_running_process_are_left_alone(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a.txt") as scratch:
        scratch.write_text("one")
        code = "import sys; from radreward.io.atomic import write_text_file; write_text_file(sys.argv[1], 'two')"
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "b.txt")], check=True)
    assert read_tree(tmp_path) == {"a.txt": "one", "b.txt": "two"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="This system has no named pipes.")
def test_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "scores.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a device, a pipe or a socket"):
        write_text_file(pipe, "text")
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == [pipe.name]
