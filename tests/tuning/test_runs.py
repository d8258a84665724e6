"""Invalid folders of runs are reported in one line with their name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.errors import InputError
from radreward.tuning.runs import find_runs, read_run

MakeRun = Callable[..., Path]


def test_read_run_settings_exclude_the_seed_and_the_folder(make_run: MakeRun) -> None:
    run = read_run(make_run("a", seed=3, lambda_=2.0))
    assert run.seed == "3"
    assert run.settings == {
        "model": "radreward.modules.RewardModule",
        "model.pooling": "mean",
        "model.objective": "radreward.objectives.MarginRewardEnforcement",
        "model.objective.lambda_": "2.0",
        "data": "radreward.data.paired_datamodule.PairedReportDataModule",
        "data.records": "g@aaaabbbb",
    }


def test_find_runs_folder_without_a_run_is_rejected(tmp_path: Path, make_run: MakeRun) -> None:
    with pytest.raises(InputError, match="nothing: Expected the folder of a run or a study but it does not exist"):
        find_runs([tmp_path / "nothing"])
    with pytest.raises(InputError, match="it has no config.yaml"):
        find_runs([tmp_path])
    (tmp_path / "study" / "trials" / "0").mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"study: Expected a study with finished trials but none of 1 is finished; .*not finished"
    ):
        find_runs([tmp_path / "study"])


def test_find_runs_duplicate_run_is_rejected(make_run: MakeRun) -> None:
    folder = make_run("a")
    with pytest.raises(InputError, match="but got this one twice"):
        find_runs([folder, folder / "model" / ".."])


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("metrics.json", "it has no metrics.json; it has no checkpoint: start it again with"),
        ("model/config.json", "Expected a finished run of a model with criteria but it has no model/config.json"),
        ("validation.parquet", "Expected a finished run of a model with criteria but it has no validation.parquet"),
    ],
)
def test_read_run_missing_file_is_named(make_run: MakeRun, file: str, message: str) -> None:
    folder = make_run("a")
    (folder / file).unlink()
    with pytest.raises(InputError, match=message):
        read_run(folder)


def test_read_run_unfinished_run_with_a_checkpoint_is_to_be_resumed(make_run: MakeRun) -> None:
    folder = make_run("a")
    (folder / "metrics.json").unlink()
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "last.ckpt").touch()
    with pytest.raises(InputError, match="no metrics.json; finish it with `radreward fit ... --ckpt-path=last`"):
        read_run(folder)


@pytest.mark.parametrize(
    "file", ["config.yaml", "metrics.json", "model/config.json", "data.json", "validation.parquet"]
)
@pytest.mark.parametrize("content", [b"\xff\xfe{", b"[1, 2", b"", b"3"])
def test_read_run_invalid_file_is_named(make_run: MakeRun, file: str, content: bytes) -> None:
    folder = make_run("a")
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=rf"{file}.*: Expected"):
        read_run(folder)


def change(path: Path, column: str, values: pa.Array) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(column), column, values), path)


def test_read_run_invalid_validation_rows_are_named(make_run: MakeRun) -> None:
    folder = make_run("a", references=2)
    path = folder / "validation.parquet"
    table = pq.read_table(path)
    change(path, "reward/tone", pa.array([np.inf] * len(table)))
    with pytest.raises(
        InputError, match=r"validation\.parquet: candidate 0 of reference 'r0' has a value that is not finite"
    ):
        read_run(folder)
    pq.write_table(table, path)
    change(path, "candidate", pa.array([0, 0, 1, 2, 0, 1, 2, 3]))
    with pytest.raises(InputError, match="candidate 0 of reference 'r0' occurs twice"):
        read_run(folder)
    pq.write_table(table.slice(0, 0), path)
    with pytest.raises(InputError, match="Expected validated candidates but the file has none"):
        read_run(folder)
    pq.write_table(table.drop_columns(["errors/length"]), path)
    with pytest.raises(InputError, match="Expected the column 'errors/length' but it is missing"):
        read_run(folder)
