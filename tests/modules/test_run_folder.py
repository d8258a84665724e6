"""Run folder: protection of earlier runs, recorded versions."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.modules import RunFolder
from radreward.modules.run_folder import RECORDED_PACKAGES, collect_versions, git_state

DATA = {"groups.jsonl": "abc"}


def test_create_records_data_and_versions(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "b")
    run.create(DATA, resume=False)
    assert json.loads(run.data.read_text()) == DATA
    versions = json.loads(run.versions.read_text())
    assert set(versions["packages"]) == set(RECORDED_PACKAGES)
    assert versions["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]


def test_create_replaces_earlier_run_only_with_overwrite(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.create(DATA, resume=False)
    run.metrics.write_text("{}")
    with pytest.raises(InputError, match=rf"{tmp_path}: holds a run. Replace it with --overwrite"):
        run.create(DATA, resume=False)
    run.checkpoints.mkdir()
    run.last.touch()
    with pytest.raises(InputError, match="Resume it with --ckpt-path=last, replace it"):
        run.check_startable(DATA, resume=False)
    assert run.metrics.is_file()
    run.create(DATA, resume=True)
    assert run.metrics.is_file()
    run.create(DATA, resume=False, overwrite=True)
    assert not run.metrics.exists()


def test_create_never_deletes_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="new, empty or holds a run"):
        RunFolder(tmp_path).create(DATA, resume=False, overwrite=True)
    assert (tmp_path / "thesis.tex").is_file()


def test_create_resumed_on_other_data_raises(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.create(DATA, resume=False)
    with pytest.raises(InputError, match=r"data\.json: the data changed"):
        run.create({"groups.jsonl": "abd"}, resume=True)
    assert json.loads(run.data.read_text()) == DATA


def test_create_folder_below_file_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run").create(DATA, resume=False)


def test_resolve_checkpoint_by_name_or_path(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for name, path in (("last", run.last), ("other.ckpt", Path("other.ckpt"))):
        with pytest.raises(InputError, match=rf"{path}: Expected a checkpoint"):
            run.resolve_checkpoint(name)
    run.checkpoints.mkdir()
    run.last.touch()
    assert run.resolve_checkpoint("last") == run.last == run.resolve_checkpoint(str(run.last))


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
