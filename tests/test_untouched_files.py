"""Commands in a cloned repository that holds links and files with the names that radreward uses itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GIT = shutil.which("git") or "git"
ROW = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Clear lungs. Small left effusion."}


def clone_with(tmp_path: Path, links: dict[str, str]) -> Path:
    """Return a clone of a repository with symbolic links, beside a folder `home`."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    source = tmp_path / "source"
    source.mkdir()
    (source / "pairs.jsonl").write_text(json.dumps(ROW) + "\n")
    for name, target in links.items():
        (source / name).symlink_to(target)

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=SYNTHETIC", "-c", "user.email=synthetic@example.org"]
        subprocess.run([GIT, *identity, *arguments], check=True, capture_output=True)

    git("init", "--quiet", str(source))
    git("-C", str(source), "add", "--all")
    git("-C", str(source), "commit", "--quiet", "--message=SYNTHETIC")
    git("clone", "--quiet", str(source), str(tmp_path / "repo"))
    return tmp_path / "repo"


def score(repository: Path) -> "subprocess.CompletedProcess[str]":
    arguments = ["score", "--scorers", "bleu-1", "--input=pairs.jsonl", "--output=s.jsonl"]
    command = [sys.executable, "-m", "radreward", *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def test_link_named_as_a_scratch_folder_deletes_nothing(tmp_path: Path) -> None:
    repository = clone_with(tmp_path, {".x-abcdefgh.radreward-tmp": "../home"})
    done = score(repository)
    assert done.returncode == 0, done.stderr
    assert ".x-abcdefgh.radreward-tmp: was not deleted (it is a link or a file)." in done.stderr
    assert os.listdir(tmp_path / "home") == ["thesis.txt"]
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"
    assert (repository / "s.jsonl").is_file()


@pytest.mark.parametrize("target", ["../home/thesis.txt", "../home/new.txt", "../home"])
def test_link_named_as_a_lock_is_refused(tmp_path: Path, target: str) -> None:
    repository = clone_with(tmp_path, {".s.jsonl.radreward-lock": target})
    done = score(repository)
    assert done.returncode == 2
    assert "Expected no file, or a lock file that radreward wrote, but it is a link. Delete it" in done.stderr
    assert os.listdir(tmp_path / "home") == ["thesis.txt"]
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"
