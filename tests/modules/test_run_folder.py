"""The folder of a run."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

from radreward.errors import InputError
from radreward.modules import RunFolder, write_json
from radreward.modules.run_folder import RECORDED_PACKAGES, ResumableEarlyStopping, collect_versions, git_state

DATA = {"groups.jsonl": "abc"}


def test_a_new_run_notes_data_and_versions(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "b")
    run.create(DATA, resume=False)
    assert json.loads(run.data.read_text()) == DATA
    found = json.loads(run.versions.read_text())
    assert set(found["packages"]) == set(RECORDED_PACKAGES)
    assert found["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]


def test_an_earlier_run_is_replaced_only_when_asked(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.create(DATA, resume=False)
    run.metrics.write_text("{}")
    with pytest.raises(InputError, match=rf"{tmp_path}: holds a run. Replace it with --overwrite=true"):
        run.create(DATA, resume=False)
    run.checkpoints.mkdir()
    run.last.touch()
    with pytest.raises(InputError, match="Continue it with --ckpt_path=last, replace it"):
        run.check_startable(DATA, resume=False)
    assert run.metrics.is_file()
    run.create(DATA, resume=True)
    assert run.metrics.is_file()
    run.create(DATA, resume=False, overwrite=True)
    assert not run.metrics.exists()


def test_a_folder_of_something_else_is_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="new, empty or holds a run"):
        RunFolder(tmp_path).create(DATA, resume=False, overwrite=True)
    assert (tmp_path / "thesis.tex").is_file()


def test_a_run_is_not_continued_on_other_data(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.create(DATA, resume=False)
    with pytest.raises(InputError, match=r"data\.json: the data changed"):
        run.create({"groups.jsonl": "abd"}, resume=True)
    assert json.loads(run.data.read_text()) == DATA


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run").create(DATA, resume=False)


def test_checkpoints_by_name_or_path(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for name, path in (("last", run.last), ("other.ckpt", Path("other.ckpt"))):
        with pytest.raises(InputError, match=rf"{path}: Expected a checkpoint"):
            run.resolve_checkpoint(name)
    run.checkpoints.mkdir()
    run.last.touch()
    assert run.resolve_checkpoint("last") == run.last == run.resolve_checkpoint(str(run.last))


def test_callbacks(tmp_path: Path) -> None:
    best, last = RunFolder(tmp_path).callbacks("val_tau", 5)
    assert isinstance(best, ModelCheckpoint)
    assert isinstance(last, ModelCheckpoint)
    assert (best.monitor, best.mode) == ("val_tau", "max")
    stop = RunFolder(tmp_path).callbacks("val_f1", 5, early_stop=3)[2]
    assert isinstance(stop, EarlyStopping)
    assert (stop.monitor, stop.mode, stop.patience) == ("val_f1", "max", 3)


def test_a_run_that_had_stopped_early_stops_at_once_where_it_is_continued() -> None:
    for waited, stops in ((1, False), (2, True)):
        callback = ResumableEarlyStopping("val_tau", 2)
        callback.load_state_dict({**callback.state_dict(), "wait_count": waited})
        trainer: Any = SimpleNamespace(should_stop=False)
        callback.on_train_start(trainer, BoringModel())
        assert trainer.should_stop is stops


@pytest.mark.parametrize(("every", "early_stop", "told"), [(0, None, "checkpoint_every"), (1, 0, "early_stop")])
def test_numbers_below_1_are_refused(every: int, early_stop: int | None, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"Expected `{told}` to be >= 1 but got 0"):
        RunFolder(tmp_path).callbacks("val_tau", every, early_stop)


def test_the_state_of_the_code(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    git = shutil.which("git") or pytest.skip("needs git")
    commands = ["init -q", "config user.email a@b.c", "config user.name a", "add a", "commit -q -m a"]
    (tmp_path / "a").write_text("1")
    for command in commands:
        subprocess.run([git, "-C", str(tmp_path), *command.split()], check=True)
    found = git_state(tmp_path)
    assert found is not None
    assert len(found["commit"]) == 40
    assert not found["changed"]
    (tmp_path / "a").write_text("2")
    again = git_state(tmp_path)
    assert again == {"commit": found["commit"], "changed": True}


def test_a_package_that_is_absent_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.modules.run_folder.RECORDED_PACKAGES", ("torch", "no-such-package"))
    assert collect_versions()["packages"]["no-such-package"] is None


def test_json_appears_whole_and_holds_no_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
