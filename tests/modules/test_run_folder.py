"""Recorded versions of a run."""

import shutil
import subprocess
from pathlib import Path

import pytest

from radreward.modules.run_folder import collect_versions, git_state


def test_git_state_reports_commit_and_changes(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    git = shutil.which("git") or pytest.skip("needs git")
    commands = ["init -q", "config user.email a@b.c", "config user.name a", "add a", "commit -q -m a"]
    (tmp_path / "a").write_text("1")
    for command in commands:
        subprocess.run([git, "-C", str(tmp_path), *command.split()], check=True)
    state = git_state(tmp_path)
    assert state is not None
    assert len(state["commit"]) == 40
    assert not state["changed"]
    (tmp_path / "a").write_text("2")
    assert git_state(tmp_path) == {"commit": state["commit"], "changed": True}


def test_collect_versions_of_missing_package_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.modules.run_folder.RECORDED_PACKAGES", ("torch", "no-such-package"))
    assert collect_versions()["packages"]["no-such-package"] is None
