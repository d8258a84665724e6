"""Start and resumption of a run in its folder: the checkpoint to resume from, and protection of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from radreward.errors import InputError
from radreward.io.artifacts import read_json, write_json
from radreward.io.atomic import delete_path
from radreward.io.in_place import check_links_stay_inside
from radreward.io.outputs import folder_entries
from radreward.modules.run_folder import RunFolder, collect_versions


def resolve_checkpoint(run: RunFolder, name: str) -> Path:
    """Return the path of the checkpoint `last` or `best` of a run, or of any checkpoint file.

    Raises:
        InputError: If it does not exist.
    """
    path = run.checkpoints / f"{name}.ckpt" if name in ("last", "best") else Path(name)
    if not path.exists():  # DeepSpeed saves folders
        raise InputError(f"{path}: Expected a checkpoint to resume from but it does not exist.")
    return path


def check_startable(run: RunFolder, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
    """Check that a run may start in a folder, or be resumed; changes nothing.

    Args:
        run: The folder.
        data: sha256 of each data file.
        resume: True to resume the run in the folder.
        overwrite: True to allow deletion of an earlier run.

    Raises:
        InputError: If the folder holds another run or other files, or a resumed run used other data or its folder has
            a link that leads out of it.
    """
    if resume:
        check_links_stay_inside(run.folder)
        _check_same_data(run, data)
    elif run.folder.is_dir() and folder_entries(run.folder):
        if not run.holds_run():
            raise InputError(
                f"{run.folder}: Expected a folder that is new, empty or holds a run but it holds other files. Choose "
                "another one with --run-dir."
            )
        if not overwrite:
            remedy = "Resume it with --ckpt-path=last, replace" if run.last.is_file() else "Replace"
            raise InputError(
                f"{run.folder}: holds a run. {remedy} it with --overwrite, or choose another folder with --run-dir."
            )


def _check_same_data(run: RunFolder, data: Mapping[str, str]) -> None:
    """Compare the data files of a resumed run with those it has used.

    Raises:
        InputError: If a file is other, new or missing. The message names the first one.
    """
    used: Mapping[str, str] = read_json(run.data) if run.data.is_file() else data
    if changed := sorted(name for name in {*used, *data} if used.get(name) != data.get(name)):
        raise InputError(
            f"{changed[0]}: Expected the data of the run {run.folder} but it changed. Restore the file, or start a "
            "new run with another --run-dir."
        )


def start_run(run: RunFolder, data: Mapping[str, str], resume: bool, overwrite: bool = False) -> None:
    """Create the folder of a run, and record versions, code state and data fingerprints.

    Takes the arguments of `check_startable`; an earlier run that may be overwritten is deleted.

    Raises:
        InputError: See `check_startable`; also if the folder cannot be created.
    """
    try:
        check_startable(run, data, resume, overwrite)
        if not resume and run.holds_run():
            marks = run.versions, run.data
            for entry in sorted(folder_entries(run.folder), key=lambda entry: entry in marks):
                delete_path(entry)  # last the files that mark a run: a kill leaves a folder that can be replaced
        run.folder.mkdir(parents=True, exist_ok=True)
        write_json(run.versions, collect_versions())
        write_json(run.data, dict(data))
    except OSError as error:
        raise InputError(f"{run.folder}: cannot be written ({error.strerror}).") from error
