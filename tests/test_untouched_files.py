"""Commands in a cloned repository that holds links and files with the names that radreward uses itself."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import radreward
from radreward.errors import InputError
from radreward.io.scratch import _swept
from tests.own_files import OBSTACLES, OWN_FILES, ROW, OwnFile, table

GIT = shutil.which("git") or "git"
NOBODY = 65534
THESIS = "years of work"
CODE = Path(radreward.__file__)
READABLE_BY_OTHERS = all(parent.stat().st_mode & 0o001 for parent in CODE.parents)
"""False in a clone below a private folder, such as /root: another user cannot import radreward from it."""


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
    assert "Expected no file, or one that radreward wrote, but it is a link. Delete it" in done.stderr
    assert os.listdir(tmp_path / "home") == ["thesis.txt"]
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder of a user without privileges, which other users can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def _imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Run each action, so that all modules are imported: a user without privileges may not reach them."""
    for action in {own.action: own for own in OWN_FILES}.values():
        folder = tmp_path_factory.mktemp("imported")
        action.prepare(folder)
        action.action(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be another user; as a saved ID, root comes back. A fork of this large process takes as long as most actions."""
    groups = os.getgroups()
    if is_root := os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, 0)
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(groups)


def as_nobody(folder: Path, action: Callable[[], object]) -> str:
    """Run an action without privileges; return its error, or "" if it has none."""
    _swept.clear()  # as in a new process
    with pytest.MonkeyPatch.context() as patch, without_privileges():
        patch.setenv("HOME", str(folder))
        try:
            action()
        except (InputError, OSError) as error:  # the command line prints them in one line
            return str(error) or "an error without words"
    return ""


def plant(obstacle: str, path: Path, home: Path) -> None:
    """Put an obstacle at a path, as the user of the process or, for "other owner", as root."""
    path.parent.mkdir(parents=True, exist_ok=True)
    thesis = home / "thesis.txt"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    match obstacle:
        case "symbolic link":
            is_folder = path.name in ("s.jsonl.parts", "trials", "1", "logs") or path.suffix == ".radreward-tmp"
            path.symlink_to(home if is_folder else thesis, target_is_directory=is_folder)
        case "hard link":
            path.hardlink_to(thesis)
        case "foreign file":
            path.write_text(THESIS)
        case "folder":
            path.mkdir()
            (path / "thesis.txt").write_text(THESIS)
        case "read-only":
            path.touch(0o444)
        case "other owner":
            path.touch(0o644)


def state(path: Path) -> tuple[object, ...]:
    """Return all that may not change in a file, link or folder."""
    status = path.lstat()
    kind: object = os.readlink(path) if path.is_symlink() else sorted(os.listdir(path)) if path.is_dir() else None
    content = path.read_bytes() if kind is None else b""
    return status.st_ino, status.st_mode, status.st_uid, kind, content


def is_untouched(home: Path) -> bool:
    return os.listdir(home) == ["thesis.txt"] and (home / "thesis.txt").read_text() == THESIS


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.skipif(not READABLE_BY_OTHERS, reason="another user cannot read this clone: a folder above it is private")
@pytest.mark.parametrize(
    ("own", "obstacle", "letter"),
    [
        pytest.param(own, obstacle, letter, id=f"{own.path}-{obstacle}")
        for own in OWN_FILES
        for obstacle, letter in zip(OBSTACLES, own.outcomes, strict=True)
    ],
)
def test_obstacle_is_refused_replaced_or_kept(own: OwnFile, obstacle: str, letter: str, open_folder: Path) -> None:
    home, folder = open_folder / "home", open_folder / "repo"

    def prepare() -> None:
        for path in (home, folder):
            path.mkdir()
        (home / "thesis.txt").write_text(THESIS)
        own.prepare(folder)
        if obstacle != "other owner":
            plant(obstacle, folder / own.path, home)

    assert as_nobody(open_folder, prepare) == ""
    if obstacle == "other owner":
        folder_owner = folder.stat().st_uid
        plant(obstacle, folder / own.path, home)
        for parent in (folder / own.path).parents:
            if parent != folder and parent.is_relative_to(folder):
                os.chown(parent, folder_owner, folder_owner)
    before = state(folder / own.path)
    error = as_nobody(open_folder, lambda: own.action(folder))
    assert is_untouched(home)
    unchanged = os.path.lexists(folder / own.path) and state(folder / own.path) == before
    expected = {
        "r": bool(error) and unchanged,
        "k": not error and unchanged,
        "n": not error and not unchanged,
        "u": not error and (folder / own.path / "thesis.txt").exists(),
    }
    assert expected[letter], error


def test_table_in_the_documentation_is_the_tested_one() -> None:
    assert table() in Path(__file__).parents[1].joinpath("docs", "reliability.md").read_text(encoding="utf-8")
