"""Scratch folders of dead processes: deleted if proven, and nothing outside of them is touched."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.atomic import atomic_file, write_text_file
from radreward.io.scratch import _swept, locked_scratch_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from radreward.io.scratch import locked_scratch_folder
with locked_scratch_folder(Path(sys.argv[1])) as (scratch, mode):
    (scratch / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
NAME = ".x-abcdefgh.radreward-tmp"


def leave_scratch_folder(output: Path) -> Path:
    """Return the scratch folder of a process that was killed while it wrote an output."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(output)], check=False)
    assert done.returncode == -signal.SIGKILL
    [scratch] = output.parent.glob(".*.radreward-tmp")
    return scratch


def sweep(folder: Path) -> None:
    _swept.clear()  # as in a new process
    write_text_file(folder / "new.txt", "")


def test_scratch_folder_of_a_killed_process_is_deleted(tmp_path: Path) -> None:
    scratch = leave_scratch_folder(tmp_path / "a.txt")
    (scratch / "link").symlink_to(tmp_path.parent, target_is_directory=True)
    sweep(tmp_path)
    assert os.listdir(tmp_path) == ["new.txt"]
    assert tmp_path.parent.is_dir()


def test_copied_scratch_folder_is_reported_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy holds a record of another file, as in a cloned repository, which must not name a folder `.git`."""
    (tmp_path / "killed").mkdir()
    copy = tmp_path / "repo" / "..git-abcdefgh.radreward-tmp"
    shutil.copytree(leave_scratch_folder(tmp_path / "killed" / ".git"), copy)
    (copy / ".radreward-old").mkdir()
    (copy / ".radreward-old" / "config").write_text("[core]\nfsmonitor = harm\n")
    sweep(tmp_path / "repo")
    assert sorted(os.listdir(tmp_path / "repo")) == [copy.name, "new.txt"]
    assert sorted(os.listdir(copy)) == [".radreward-lock", ".radreward-old", "half"]
    assert f"{copy}: was not deleted (it is not a scratch folder that radreward wrote here)" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["link", "file", "folder", "folder with an empty lock", "linked lock"])
def test_what_is_no_scratch_folder_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    home, parent = tmp_path / "home", tmp_path / "repo"
    home.mkdir()
    parent.mkdir()
    (home / "thesis.txt").write_text("years of work")
    named = parent / NAME
    if kind == "link":
        named.symlink_to("../home", target_is_directory=True)
    elif kind == "file":
        named.write_text("years of work")
    else:
        named.mkdir()
        (named / "thesis.txt").write_text("years of work")
        if kind == "folder with an empty lock":
            (named / ".radreward-lock").touch()
        elif kind == "linked lock":
            (named / ".radreward-lock").symlink_to("../../home/thesis.txt")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    sweep(parent)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {
        **before,
        parent / "new.txt": b"",
    }
    assert f"{named}: was not deleted" in capsys.readouterr().err


def test_empty_scratch_folder_is_deleted(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / ".y-abcdefgh.radreward-tmp").mkdir()
    (tmp_path / ".y-abcdefgh.radreward-tmp" / ".radreward-lock").touch()
    sweep(tmp_path)
    assert os.listdir(tmp_path) == ["new.txt"]


def test_scratch_folder_of_another_user_stays_silently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = leave_scratch_folder(tmp_path / "a.txt")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    sweep(tmp_path)
    assert (scratch / "half").read_text() == "half"
    assert capsys.readouterr().err == ""


def test_scratch_folder_exchanged_while_in_use_is_not_emptied(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")

    def exchange_for_a_link() -> None:
        with locked_scratch_folder(tmp_path / "a.txt") as (scratch, _):
            shutil.move(scratch, tmp_path / "moved")
            scratch.symlink_to(home, target_is_directory=True)

    def exchange_for_a_copy() -> None:
        with locked_scratch_folder(tmp_path / "b.txt") as (scratch, _):
            shutil.move(scratch, tmp_path / "moved again")
            shutil.copytree(tmp_path / "moved again", scratch)
            (scratch / "thesis.txt").write_text("years of work")

    with pytest.raises(NotADirectoryError):
        exchange_for_a_link()
    with pytest.raises(InputError, match="was moved or replaced"):
        exchange_for_a_copy()
    assert [path.read_text() for path in tmp_path.rglob("thesis.txt")] == ["years of work"] * 2


def test_output_that_is_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "a.txt").symlink_to("thesis.txt")
    with atomic_file(tmp_path / "a.txt") as new:
        new.write_text("one")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "a.txt").read_text() == "one"
