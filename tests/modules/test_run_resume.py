"""Start of runs: protection of earlier runs, checkpoint to resume from."""

import json
from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.modules import RunFolder
from radreward.modules.run_folder import RECORDED_PACKAGES
from radreward.modules.run_resume import check_startable, resolve_checkpoint, start_run

DATA = {"groups.jsonl": "abc"}


def test_start_run_records_data_and_versions(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "b")
    start_run(run, DATA, resume=False)
    assert json.loads(run.data.read_text()) == DATA
    versions = json.loads(run.versions.read_text())
    assert set(versions["packages"]) == set(RECORDED_PACKAGES)
    assert versions["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]


def test_start_run_replaces_earlier_run_only_with_overwrite(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    start_run(run, DATA, resume=False)
    run.metrics.write_text("{}")
    with pytest.raises(InputError, match=rf"{tmp_path}: holds a run. Replace it with --overwrite"):
        start_run(run, DATA, resume=False)
    run.checkpoints.mkdir()
    run.last.touch()
    with pytest.raises(InputError, match="Resume it with --ckpt-path=last, replace it"):
        check_startable(run, DATA, resume=False)
    assert run.metrics.is_file()
    start_run(run, DATA, resume=True)
    assert run.metrics.is_file()
    start_run(run, DATA, resume=False, overwrite=True)
    assert not run.metrics.exists()


def test_start_run_never_deletes_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="new, empty or holds a run"):
        start_run(RunFolder(tmp_path), DATA, resume=False, overwrite=True)
    assert (tmp_path / "thesis.tex").is_file()


def test_start_run_resumed_on_other_data_raises(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    start_run(run, DATA, resume=False)
    with pytest.raises(InputError, match=r"^groups\.jsonl: Expected the data of the run .* but it changed"):
        start_run(run, {"groups.jsonl": "abd"}, resume=True)
    assert json.loads(run.data.read_text()) == DATA


def test_start_run_folder_below_file_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        start_run(RunFolder(tmp_path / "file" / "run"), DATA, resume=False)


def test_resolve_checkpoint_by_name_or_path(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for name, path in (("last", run.last), ("other.ckpt", Path("other.ckpt"))):
        with pytest.raises(InputError, match=rf"{path}: Expected a checkpoint"):
            resolve_checkpoint(run, name)
    run.checkpoints.mkdir()
    run.last.touch()
    assert resolve_checkpoint(run, "last") == run.last == resolve_checkpoint(run, str(run.last))
