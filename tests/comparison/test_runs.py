"""A folder that cannot be used is told in one line that names it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.comparison.runs import find_runs, read_run
from radreward.errors import InputError

Make = Callable[..., Path]


def test_a_run_has_its_settings_without_what_changes_nothing(make_run: Make) -> None:
    run = read_run(make_run("a", seed=3, lambda_=2.0))
    assert run.seed == "3"
    assert run.settings == {
        "model": "radreward.modules.RewardModule",
        "model.pooling": "mean",
        "model.objective": "radreward.objectives.MarginRewardEnforcement",
        "model.objective.lambda_": "2.0",
        "data": "radreward.data.datamodule.PairedReportDataModule",
        "data.records": "g@aaaabbbb",
    }


def test_no_run(tmp_path: Path, make_run: Make) -> None:
    with pytest.raises(InputError, match="nothing: Expected the folder of a run or of a study but there is none"):
        find_runs([tmp_path / "nothing"])
    with pytest.raises(InputError, match="it has no config.yaml"):
        find_runs([tmp_path])
    (tmp_path / "study" / "trials" / "0").mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"study: Expected a study with finished trials but none of 1 is; .*not finished"
    ):
        find_runs([tmp_path / "study"])


def test_a_run_is_given_twice(make_run: Make) -> None:
    folder = make_run("a")
    with pytest.raises(InputError, match="is given twice"):
        find_runs([folder, folder / "model" / ".."])


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("metrics.json", "the run is not finished, it has no metrics.json; finish it with"),
        ("model/config.json", "Expected a finished run of a model that judges by .* has no model/config.json"),
        ("validation.parquet", "Expected a finished run of a model that judges by .* has no validation.parquet"),
    ],
)
def test_a_file_is_missing(make_run: Make, file: str, told: str) -> None:
    folder = make_run("a")
    (folder / file).unlink()
    with pytest.raises(InputError, match=told):
        read_run(folder)


@pytest.mark.parametrize(
    "file", ["config.yaml", "metrics.json", "model/config.json", "data.json", "validation.parquet"]
)
@pytest.mark.parametrize("content", [b"\xff\xfe{", b"[1, 2", b"", b"3"])
def test_a_file_is_broken(make_run: Make, file: str, content: bytes) -> None:
    folder = make_run("a")
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=rf"{file}: Expected"):
        read_run(folder)


def change(path: Path, column: str, values: pa.Array) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(column), column, values), path)


def test_rows_that_cannot_be_used(make_run: Make) -> None:
    folder = make_run("a", references=2)
    path = folder / "validation.parquet"
    table = pq.read_table(path)
    change(path, "reward/tone", pa.array([np.inf] * len(table)))
    with pytest.raises(
        InputError, match=r"validation\.parquet: candidate 0 of reference 'r0' has a value that is no number"
    ):
        read_run(folder)
    pq.write_table(table, path)
    change(path, "candidate", pa.array([0, 0, 1, 2, 0, 1, 2, 3]))
    with pytest.raises(InputError, match="candidate 0 of reference 'r0' is there twice"):
        read_run(folder)
    pq.write_table(table.slice(0, 0), path)
    with pytest.raises(InputError, match="Expected validated candidates but there is none"):
        read_run(folder)
    pq.write_table(table.drop_columns(["errors/length"]), path)
    with pytest.raises(InputError, match="Expected the column 'errors/length' but there is none"):
        read_run(folder)
