"""Scoring in workers of a Ray cluster: one that is killed changes nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.models import Backbone, Calibration, RewardModel, RewardModelArtifact, save_reward_model
from radreward.prompts import PlainPairTemplate
from radreward.scorers import load
from radreward.scoring.ray_backend import RayBackend
from radreward.scoring.score_file import score_file

ROWS, CHUNK = 96, 8

# A process of its own: Ray leaves sockets and threads behind, and what it deprecates of its own is no matter of ours.
DRIVER = """
import os, signal, sys, time
from pathlib import Path

import ray

from radreward.cli import main
from radreward.scorers import load
from radreward.scoring import score_file
from radreward.scoring.ray_backend import OnRay

folder = Path(sys.argv[1])

def make():
    scorer = load(folder / "model")
    inner = scorer.score

    def score(references, candidates):
        mark = folder / "killed"
        if sum(1 for _ in folder.glob("begun-*")) >= 4 and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)  # in the middle of a chunk
        (folder / f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(0.05)
        return inner(references, candidates)

    scorer.score = score
    return scorer

if __name__ == "__main__":
    ray.init("local", num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False, log_to_driver=False)
    summary = score_file(load(folder / "model"), folder / "in.parquet", folder / "ray.parquet", 8, engine=OnRay(make))
    assert summary.resumed == 0
    files = ["--input", str(folder / "in.jsonl"), "--output", str(folder / "command.jsonl")]
    model = ["--model", str(folder / "model")]
    code = main(["score", "--engine", "ray", "--workers", "1", *model, *files])
    ray.shutdown()
    sys.exit(code)
"""


def table(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    return [json.loads(line) for line in path.read_text().splitlines()]


def side(output: Path) -> str:
    """What was rejected."""
    return output.with_name(f"{output.name}.rejects.jsonl").read_text()


@pytest.mark.timeout(700)  # Ray starts five processes, which takes long on a machine that is busy
def test_scores_are_those_of_one_process_though_a_worker_is_killed(tmp_path: Path) -> None:
    torch.manual_seed(0)
    criteria = RadCliQCriteria()
    calibration = Calibration([[(-1.0, 2.0), (1.0, 0.0)]] * len(criteria))
    saved = RewardModelArtifact(RewardModel(Backbone("tiny-bert"), criteria), PlainPairTemplate(), 200, calibration)
    save_reward_model(saved, tmp_path / "model")
    words = ["lamp", "kettle", "stair", "window"]
    rows = [
        {"id": f"r{i}", "reference": " ".join(words[: i % 4 + 1]), "candidate": f"{words[i % 3]} {i}", "site": i}
        for i in range(ROWS)
    ]
    rows[7]["candidate"] = " "
    rows[50]["id"] = "r49"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    few = "".join(json.dumps(row) + "\n" for row in rows[:20])
    (tmp_path / "in.jsonl").write_text(few + "{broken\n")
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 1, run.stderr  # rows were rejected
    assert (tmp_path / "killed").is_file()
    killed = (tmp_path / "killed").read_text()
    workers = {path.name.split("-")[1] for path in tmp_path.glob("begun-*")}
    assert killed in workers  # it had begun what another did
    assert len(workers) > 1

    scorer = load(tmp_path / "model")
    for name, output in (("in.parquet", "ray.parquet"), ("in.jsonl", "command.jsonl")):
        here = tmp_path / f"here-{output}"
        score_file(scorer, tmp_path / name, here, CHUNK, progress=False)
        found, expected = (table(path) for path in (tmp_path / output, here))
        assert found == expected
        assert side(tmp_path / output) == side(here)
    assert not list(tmp_path.glob("*.parts"))
    assert "21 rows: into" in run.stderr


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="Expected `workers` to be >= 1 but got 0"):
        RayBackend(lambda: load("embedded"), num_workers=0)
    with pytest.raises(ValueError, match="Expected `gpus` to be >= 0 but got -1"):
        RayBackend(lambda: load("embedded"), gpus_per_worker=-1)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "reference": "Clear.", "candidate": "Clear."}')
    files = ["--input", str(tmp_path / "a.jsonl"), "--output", str(tmp_path / "b.jsonl")]
    assert main(["score", "--engine", "ray", "--workers", "0", *files]) == 2
    assert capsys.readouterr().err == "radreward: Expected `workers` to be >= 1 but got 0.\n"
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert main(["score", "--engine", "ray", *files]) == 2
    assert "pip install 'radreward[distributed]'" in capsys.readouterr().err
