"""Scoring of files: order, bad rows, resuming after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from radreward.errors import InputError
from radreward.scorers.base import OK, Scorer
from radreward.scorers.files import score_file
from radreward.types import Scores


class Overlap(Scorer):
    """Share of the candidate's words that the reference has; notes every text it scores."""

    def __init__(self, log: Path | None = None, seconds: float = 0.0) -> None:
        self.log, self.seconds = log, seconds

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        pairs = [(set(r.split()), set(c.split())) for r, c in zip(references, candidates, strict=True)]
        time.sleep(self.seconds)
        if self.log:
            with self.log.open("a") as file:
                file.writelines(candidate + "\n" for candidate in candidates)
        total = torch.tensor([len(r & c) / len(c) for r, c in pairs])
        return Scores(total, None, None, (OK,) * len(pairs))

    def fingerprint(self) -> str:
        return "overlap"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


def _write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _pairs(number: int) -> list[dict[str, Any]]:
    return [
        {"id": f"r{i}", "reference": "clear lungs", "candidate": f"clear word{i}", "site": i} for i in range(number)
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_order_length_and_other_columns(tmp_path: Path, suffix: str) -> None:
    source = _write(tmp_path / "in.jsonl", _pairs(25))
    output = tmp_path / f"out{suffix}"
    summary = score_file(Overlap(), source, output, batch_size=4, progress=False)
    assert (summary.rows, summary.rejected, summary.rejects) == (25, 0, None)
    if suffix == ".parquet":
        table = pq.read_table(output).to_pylist()
        assert [row["id"] for row in table] == [f"r{i}" for i in range(25)]
        assert [row["site"] for row in table] == list(range(25))
        assert {row["total"] for row in table} == {0.5}
    else:
        assert len(output.read_text().splitlines()) == 25 + (suffix == ".csv")
    assert not (tmp_path / f"out{suffix}.parts").exists()


def test_bad_rows_keep_their_place_and_stand_in_the_rejects(tmp_path: Path) -> None:
    good = {"id": "a", "reference": "x", "candidate": "x"}
    rows = [
        good,
        {**good, "id": "b", "candidate": " "},
        {**good, "id": "c", "reference": None},
        {**good, "id": "d", "reference": float("nan")},
        {**good, "id": "e", "candidate": 3},
        '{"id": "f", "refer',
        {**good, "candidate": "x y"},
        {"reference": "x", "candidate": "x"},
        {**good, "id": "z"},
    ]
    source, output = _write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    summary = score_file(Overlap(), source, output, batch_size=2, progress=False)
    written, rejects = _read(output), _read(tmp_path / "out.jsonl.rejects.jsonl")
    assert [row["total"] for row in written] == [1.0, *[None] * 7, 1.0]
    assert [(entry["row"], entry["field"]) for entry in rejects] == [
        (2, "candidate"), (3, "reference"), (4, "reference"), (5, "candidate"), (6, None), (7, "id"), (8, "id")
    ]  # fmt: skip
    assert [row["status"] for row in written[1:-1]] == [entry["reason"] for entry in rejects]
    assert rejects[5]["reason"] == "duplicate id, first in row 1"
    assert summary.rejected == 7


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("in.jsonl", '{"id": 1, "reference": "x"}\n', "column 'candidate'"),
        ("in.jsonl", '{"id": 1, "reference": "x", "candidate": "x", "total": 1}\n', "no column 'total'"),
        ("in.jsonl", "", "at least one row"),
        ("in.txt", "", "ends with"),
        ("in.parquet", "PAR1 and then nothing", "cannot be read as parquet"),
    ],
)
def test_what_stops_the_run(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        score_file(Overlap(), tmp_path / name, tmp_path / "out.jsonl", progress=False)


def test_killed_and_resumed_without_scoring_a_finished_part_twice(tmp_path: Path) -> None:
    source, output, log = _write(tmp_path / "in.jsonl", _pairs(60)), tmp_path / "out.jsonl", tmp_path / "log"
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\nfrom test_files import Overlap, score_file\n"
        f"score_file(Overlap(Path({str(log)!r}), 0.3), {str(source)!r}, {str(output)!r}, batch_size=5, progress=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    parts = tmp_path / "out.jsonl.parts"
    while len(list(parts.glob("0*.jsonl"))) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = 5 * len(list(parts.glob("0*.jsonl")))
    log.write_text("")
    with pytest.raises(InputError, match="batch_size changed"):
        score_file(Overlap(), source, output, batch_size=6, progress=False)
    summary = score_file(Overlap(log), source, output, batch_size=5, progress=False)
    assert log.read_text().splitlines() == [f"clear word{i}" for i in range(finished, 60)]
    assert summary.resumed == finished
    assert [row["id"] for row in _read(output)] == [f"r{i}" for i in range(60)]


def test_an_input_that_changed_is_not_resumed(tmp_path: Path) -> None:
    source, parts = _write(tmp_path / "in.jsonl", _pairs(3)), tmp_path / "out.jsonl.parts"
    parts.mkdir()
    (parts / "manifest.json").write_text(json.dumps({"input": "other", "scorer": "overlap", "batch_size": 1024}))
    with pytest.raises(InputError, match="the input changed"):
        score_file(Overlap(), source, tmp_path / "out.jsonl", progress=False)
