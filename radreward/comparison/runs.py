"""Finished runs of `fit`, read from their folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

from radreward.criteria import Criteria
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.modules import Agreement  # all that trains comes with it

CONFIG_FILE, DATA_FILE, METRICS_FILE, VALIDATION_FILE = "config.yaml", "data.json", "metrics.json", "validation.parquet"
MODEL_CONFIG_FILES = ("model/config.json", "model/green.json", "model/radreason.json")
"""What `fit` leaves in the folder of a run, see `radreward.modules.run_folder`; its model has one of these settings."""

FlatSettings = Mapping[str, str]
"""Dotted key, as given to `fit`, to the value as text."""

SEED_KEY = "seed_everything"
_IGNORED_SETTINGS = (SEED_KEY, "run", "ckpt_path", "overwrite", "checkpoint_every", "trainer.enable_progress_bar")
"""Where a run is kept, and what it shows, changes nothing in it; seeds are what one averages over."""


class ValidationPredictions(NamedTuple):
    """Every validated candidate, in the order of references and candidates.

    Attributes:
        group: (n,) id of the reference.
        candidate: (n,) place among the candidates of its reference.
        rewards: (n, N) float64; NaN where a model wrote what cannot be read.
        errors: (n, N) float64, known.
    """

    group: NDArray[np.str_]
    candidate: NDArray[np.int64]
    rewards: NDArray[np.float64]
    errors: NDArray[np.float64]


class FinishedRun(NamedTuple):
    """One finished run.

    Attributes:
        folder: Where it lies.
        model: The settings of its model.
        seed: What it was seeded with.
        settings: All others, without what does not change a run.
        params: What a study chose for it, without the seed; empty for a run of its own.
        criteria: What is judged.
        agreement: Figures by criterion and in total.
        validated: What they were computed from.
    """

    folder: Path
    model_config: Path
    seed: str
    settings: FlatSettings
    params: FlatSettings
    criteria: Criteria
    agreement: Agreement
    validation: ValidationPredictions


def find_runs(paths: Sequence[Path]) -> tuple[list[FinishedRun], list[str]]:
    """Runs, and the finished trials of studies, in the order given; and what was left out of studies, with reasons.

    Raises:
        InputError: If a folder holds neither, a run is not finished, or one is given twice; names it.
    """
    runs: list[FinishedRun] = []
    left_out: list[str] = []
    for path in paths:
        if (path / "trials").is_dir():
            found, unfinished = _read_study(path)
            runs += found
            left_out += unfinished
        else:
            runs.append(read_run(path))
    seen: dict[Path, Path] = {}
    for run in runs:
        place = run.folder.resolve()
        if place in seen:
            raise InputError(f"{run.folder}: is given twice.")
        seen[place] = run.folder
    return runs, left_out


def read_run(path: Path) -> FinishedRun:
    """Read the folder of a run.

    Raises:
        InputError: If it is none, or the run is not finished, or a file in it is broken; names it.
    """
    if not (path / CONFIG_FILE).is_file():
        what = "there is none" if not path.exists() else f"it has no {CONFIG_FILE}"
        raise InputError(f"{path}: Expected the folder of a run or of a study but {what}.")
    if not (path / METRICS_FILE).is_file():
        raise InputError(
            f"{path}: the run is not finished, it has no {METRICS_FILE}; "
            "finish it with `radreward fit ... --ckpt_path=last`."
        )
    model = next((path / name for name in MODEL_CONFIG_FILES if (path / name).is_file()), path / MODEL_CONFIG_FILES[0])
    for file in (path / VALIDATION_FILE, model, path / DATA_FILE):
        if not file.is_file():
            raise InputError(
                f"{path}: Expected a finished run of a model that judges by criteria but it has no "
                f"{file.relative_to(path)}."
            )
    config, fingerprint, trial = _read_yaml(path / CONFIG_FILE), _read_json(path / DATA_FILE), path / "trial.json"
    criteria = _read_criteria(model)
    settings = dict(_flatten_config(config, fingerprint))
    params = _read_json(trial).get("params", {}) if trial.is_file() else {}
    return FinishedRun(
        path,
        model,
        settings.get(SEED_KEY, ""),
        {key: value for key, value in settings.items() if key not in _IGNORED_SETTINGS},
        {str(key): _to_text(value) for key, value in params.items() if key != SEED_KEY},
        criteria,
        _read_agreement(path / METRICS_FILE, criteria),
        read_validation_predictions(path / VALIDATION_FILE, criteria),
    )


def _read_study(path: Path) -> tuple[list[FinishedRun], list[str]]:
    """Trials in the order of their numbers."""
    folders = sorted((path / "trials").glob("*/"), key=lambda folder: (len(folder.name), folder.name))
    runs, left_out = [], []
    for folder in folders:
        record = folder / "trial.json"
        state = _read_json(record).get("state") if record.is_file() else "not finished"
        if state == "complete":
            runs.append(read_run(folder))
        else:
            left_out.append(f"{folder}: {state}")
    if not runs:
        told = f"; {left_out[0]}" if left_out else ""
        raise InputError(f"{path}: Expected a study with finished trials but none of {len(folders)} is{told}.")
    return runs, left_out


def read_validation_predictions(path: Path, criteria: Criteria) -> ValidationPredictions:
    """Read `validation.parquet` of a run.

    Raises:
        InputError: If it cannot be read, a column is missing, a value is not finite, or a candidate is there twice.
    """
    names = ["group", "candidate", *(f"{kind}/{tag}" for kind in ("reward", "errors") for tag in criteria.tags)]
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: Expected Parquet but it cannot be read ({error}).") from error
    if missing := [name for name in names if name not in table.column_names]:
        raise InputError(f"{path}: Expected the column {missing[0]!r} but there is none.")
    table = table.select(names).sort_by([("group", "ascending"), ("candidate", "ascending")])
    group = np.array(table["group"].to_pylist(), dtype=np.str_)
    candidate = table["candidate"].to_numpy()
    if not len(group):
        raise InputError(f"{path}: Expected validated candidates but there is none.")
    same = (group[1:] == group[:-1]) & (candidate[1:] == candidate[:-1])
    if same.any():
        at = int(same.argmax())
        raise InputError(f"{path}: candidate {candidate[at]} of reference {str(group[at])!r} is there twice.")
    rewards, errors = (
        np.stack([table[f"{kind}/{tag}"].to_numpy().astype(np.float64) for tag in criteria.tags], 1)
        for kind in ("reward", "errors")
    )
    broken = (np.isinf(rewards) | ~np.isfinite(errors)).any(1)
    if broken.any():
        at = int(broken.argmax())
        raise InputError(
            f"{path}: candidate {candidate[at]} of reference {str(group[at])!r} has a value that is no number."
        )
    return ValidationPredictions(group, candidate, rewards, errors)


def _read_criteria(path: Path) -> Criteria:
    try:
        return Criteria.from_dict(_read_json(path).get("criteria", {}))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read_agreement(path: Path, criteria: Criteria) -> Agreement:
    found = _read_json(path).get("agreement")
    names = {*criteria.tags, "total"}
    if not isinstance(found, dict) or set(found) != names or not all(isinstance(row, dict) for row in found.values()):
        raise InputError(f"{path}: Expected `agreement` by criterion and in total.")
    return found


def _flatten_config(config: Mapping[str, Any], fingerprint: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings by the key under which `fit` takes them; of files that were read, their content by its fingerprint."""
    for key, value in _flatten(config, ""):
        known = fingerprint.get(value) if key in ("data.records", "data.validation") else None
        yield key, f"{Path(value).name}@{str(known)[:8]}" if known else value


def _flatten(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, entry in value.items():
            if name == "init_args" and not entry:
                continue  # of a class that takes none
            short = key if name in ("class_path", "init_args") else f"{key}.{name}".removeprefix(".")
            yield from _flatten(entry, short)
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for place, entry in enumerate(value):
            yield from _flatten(entry, f"{key}.{place}")
    else:
        yield key, _to_text(value)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: Expected JSON but it cannot be read ({error}).") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: Expected values by name but got {type(found).__name__}.")
    return found


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: Expected YAML but it cannot be read.") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: Expected settings by name but got {type(found).__name__}.")
    return found
