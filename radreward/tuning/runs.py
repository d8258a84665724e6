"""Finished runs of `fit`, read from their folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.artifacts import read_json_object
from radreward.io.yaml_files import read_yaml_mapping
from radreward.score_outputs import OUTPUTS
from radreward.scorers.loading import finishing_remedy

if TYPE_CHECKING:
    from radreward.modules import MetricTable  # not at run time, because it imports torch

CONFIG_FILE, DATA_FILE, METRICS_FILE, VALIDATION_FILE = "config.yaml", "data.json", "metrics.json", "validation.parquet"
_MODEL_CONFIG_FILES = ("model/config.json", "model/green.json", "model/radreason.json")
"""Files with the settings of the model in the folder of a run, see `radreward.modules.run_folder`.

One of these exists.
"""

FlatSettings = Mapping[str, str]
"""Dotted key of `fit` → value as text."""

SEED_KEY = "seed_everything"
_IGNORED_SETTINGS = (SEED_KEY, "run_dir", "ckpt_path", "overwrite", "checkpoint_every", "trainer.enable_progress_bar")
"""Settings in which runs of one group may differ: the seed, and settings that do not change the results."""


class ValidationPredictions(NamedTuple):
    """All validated candidates, sorted by reference and candidate.

    Attributes:
        group: (n,) id of the reference.
        candidate: (n,) index among the candidates of the reference.
        rewards: (n, N) float64; NaN if an answer could not be parsed.
        errors: (n, N) float64 reference errors.
    """

    group: NDArray[np.str_]
    candidate: NDArray[np.int64]
    rewards: NDArray[np.float64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A finished run.

    Attributes:
        folder: Folder of the run.
        model_config: Settings file of its model.
        seed: Seed as text.
        settings: All other settings that change the results.
        params: Parameters chosen by a study, without the seed; empty for a run outside a study.
        criteria: Criteria of the model.
        agreement: Metrics by criterion and in total.
        validation: Predictions behind the metrics.
    """

    folder: Path
    model_config: Path
    seed: str
    settings: FlatSettings
    params: FlatSettings
    criteria: Criteria
    agreement: MetricTable
    validation: ValidationPredictions


def find_runs(paths: Sequence[Path]) -> tuple[list[FinishedRun], list[str]]:
    """Return the runs in some folders, in the given order, one line per skipped trial and one per incomplete study.

    Raises:
        InputError: If a folder is neither a run nor a study, a run is not finished, or a run is given twice.
    """
    runs: list[FinishedRun] = []
    skipped: list[str] = []
    for path in paths:
        if (path / "trials").is_dir():
            trials, unfinished = _read_study(path)
            runs += trials
            skipped += unfinished
        else:
            runs.append(read_run(path))
    seen: set[Path] = set()
    for run in runs:
        if (folder := run.folder.resolve()) in seen:
            raise InputError(f"{run.folder}: Expected different runs but got this one twice.")
        seen.add(folder)
    return runs, skipped


def read_run(path: Path) -> FinishedRun:
    """Read the folder of a run.

    Raises:
        InputError: If the folder is not a run, the run is not finished, or a file is invalid.
    """
    if not (path / CONFIG_FILE).is_file():
        problem = f"it has no {CONFIG_FILE}" if path.exists() else "it does not exist"
        raise InputError(f"{path}: Expected the folder of a run or a study but {problem}.")
    if not (path / METRICS_FILE).is_file():
        raise InputError(f"{path}: Expected a finished run but it has no {METRICS_FILE}; {finishing_remedy(path)}.")
    model_config = next(
        (path / name for name in _MODEL_CONFIG_FILES if (path / name).is_file()), path / _MODEL_CONFIG_FILES[0]
    )
    for file in (path / VALIDATION_FILE, model_config, path / DATA_FILE):
        if not file.is_file():
            name = file.relative_to(path)
            raise InputError(f"{path}: Expected a finished run of a model with criteria but it has no {name}.")
    trial = path / "trial.json"
    criteria = _read_criteria(model_config)
    settings = dict(_flatten_config(read_yaml_mapping(path / CONFIG_FILE), read_json_object(path / DATA_FILE)))
    params = read_json_object(trial).get("params", {}) if trial.is_file() else {}
    return FinishedRun(
        folder=path,
        model_config=model_config,
        seed=settings.get(SEED_KEY, ""),
        settings={key: value for key, value in settings.items() if key not in _IGNORED_SETTINGS},
        params={str(key): _to_text(value) for key, value in params.items() if key != SEED_KEY},
        criteria=criteria,
        agreement=_read_agreement(path / METRICS_FILE, criteria),
        validation=_read_validation_predictions(path / VALIDATION_FILE, criteria),
    )


def _read_study(path: Path) -> tuple[list[FinishedRun], list[str]]:
    """Return the finished trials in the order of their numbers, and lines on the others: their states and their number.

    A record has the number of trials of the study; trials that have not started have no folder.
    """
    folders = sorted((path / "trials").glob("*/"), key=lambda folder: (len(folder.name), folder.name))
    runs, skipped, total = [], [], len(folders)
    for folder in folders:
        file = folder / "trial.json"
        record = read_json_object(file) if file.is_file() else {}
        state, total = record.get("state", "not finished"), max(total, int(record.get("trials", 0)))
        if state == "complete":
            runs.append(read_run(folder))
        else:
            skipped.append(f"{folder}: {state}")
    if not runs:
        first = f"; {skipped[0]}" if skipped else ""
        raise InputError(
            f"{path}: Expected a study with finished trials but none of {len(folders)} is finished{first}."
        )
    if len(runs) < total:
        not_started = f", of which {total - len(folders)} have not started" if len(folders) < total else ""
        skipped.append(f"{path}: {total - len(runs)} of {total} trials{not_started}; {len(runs)} are finished")
    return runs, skipped


def _read_validation_predictions(path: Path, criteria: Criteria) -> ValidationPredictions:
    """Read `validation.parquet` of a run.

    Raises:
        InputError: If the file cannot be read, a column is missing, a value is not finite, or a candidate occurs twice.
    """
    reward_names, error_names = ([f"{kind}/{tag}" for tag in criteria.tags] for kind in ("reward", "errors"))
    names = ["group", "candidate", *reward_names, *error_names]
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: Expected Parquet but it cannot be read ({error}).") from error
    if missing := [name for name in names if name not in table.column_names]:
        raise InputError(f"{path}: Expected the column {missing[0]!r} but it is missing.")
    if not len(table):
        raise InputError(f"{path}: Expected validated candidates but the file has none.")
    frame = table.select(names).to_pandas().sort_values(["group", "candidate"])
    predictions = ValidationPredictions(
        frame["group"].to_numpy(dtype=np.str_),
        frame["candidate"].to_numpy(dtype=np.int64),
        frame[reward_names].to_numpy(dtype=np.float64),
        frame[error_names].to_numpy(dtype=np.float64),
    )
    not_finite = (np.isinf(predictions.rewards) | ~np.isfinite(predictions.errors)).any(1)
    for rows, problem in (
        (frame.duplicated(["group", "candidate"]).to_numpy(), "occurs twice"),
        (not_finite, "has a value that is not finite"),
    ):
        if rows.any():
            candidate, group = predictions.candidate[rows][0], str(predictions.group[rows][0])
            raise InputError(f"{path}: candidate {candidate} of reference {group!r} {problem}.")
    return predictions


def _read_criteria(path: Path) -> Criteria:
    try:
        return Criteria.from_dict(read_json_object(path).get("criteria", {}))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read_agreement(path: Path, criteria: Criteria) -> MetricTable:
    agreement = read_json_object(path).get("agreement")
    if (
        not isinstance(agreement, dict)
        or not {*criteria.tags, "total"} <= set(agreement) <= {*criteria.tags, *OUTPUTS}
        or not all(isinstance(row, dict) for row in agreement.values())
    ):
        raise InputError(f"{path}: Expected `agreement` by criterion and in total.")
    return agreement


def _flatten_config(config: Mapping[str, Any], fingerprints: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield settings by their key of `fit`. Data files are identified by their fingerprint."""
    for key, value in _flatten(config, ""):
        fingerprint = fingerprints.get(value) if key in ("data.records", "data.validation") else None
        yield key, f"{Path(value).name}@{str(fingerprint)[:8]}" if fingerprint else value


def _flatten(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, entry in value.items():
            if name == "init_args" and not entry:
                continue  # a class without arguments
            child = key if name in ("class_path", "init_args") else f"{key}.{name}".removeprefix(".")
            yield from _flatten(entry, child)
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for index, entry in enumerate(value):
            yield from _flatten(entry, f"{key}.{index}")
    else:
        yield key, _to_text(value)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
