"""Scoring in workers of a Ray cluster, one of which is killed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.cli import main
from radreward.scorers import load, resolve
from radreward.scoring.file_scoring import score_file
from radreward.scoring.ray_backend import RayBackend

ROWS, CHUNK = 96, 8

# Ray runs in a process of its own: it leaves sockets and threads behind and raises deprecation warnings.
DRIVER = """
import os, signal, sys
from pathlib import Path

os.environ["RAY_worker_niceness"] = "0"  # otherwise, workers wait for all other tests
import ray

from radreward.cli import main
from radreward.scorers import load
from radreward.scoring import score_file
from radreward.scoring.ray_backend import RayBackend

folder = Path(sys.argv[1])

def build():
    scorer = load(folder / "model")
    inner, scored = scorer.score, []

    def score(*texts):
        if len(scored) == 2:
            try:
                (folder / "killed").touch(exist_ok=False)  # one worker only, however many get here together
                (folder / "killed").write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)  # while it holds a chunk
            except FileExistsError:
                pass
        scored.append(len(texts[0]))
        (folder / f"scored-{os.getpid()}").touch()
        return inner(*texts)

    scorer.score = score
    return scorer

if __name__ == "__main__":
    ray.init("local", num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False, log_to_driver=False)
    files = folder / "in.parquet", folder / "ray.parquet"
    summary = score_file(load(folder / "model"), *files, chunk_size=8, backend=RayBackend(build))
    assert summary.resumed == 0
    files = ["--input", str(folder / "in.jsonl"), "--output", str(folder / "command.jsonl")]
    model = ["--scorers", str(folder / "model")]
    code = main(["score", "--num-workers", "1", "--ray-address", "auto", *model, *files])
    ray.shutdown()
    sys.exit(10 + code)  # an error of this script exits with 1
"""


def table(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    return [json.loads(line) for line in path.read_text().splitlines()]


def rejected_rows(output: Path) -> str:
    return output.with_name(f"{output.name}.rejects.jsonl").read_text()


@pytest.mark.timeout(700)  # Ray starts five processes, which takes long on a machine that is busy
def test_ray_backend_scores_like_one_process_though_a_worker_is_killed(tmp_path: Path) -> None:
    model = resolve("er2score")[1]  # every worker imports what its model needs: this one, little
    assert model is not None
    (tmp_path / "model").symlink_to(model)
    words = ["lamp", "kettle", "stair", "window"]
    rows = [
        {"id": f"r{i}", "reference": " ".join(words[: i % 4 + 1]), "candidate": f"{words[i % 3]} {i}", "site": i}
        for i in range(ROWS)
    ]
    rows[7]["candidate"] = " "
    rows[50]["id"] = "r49"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    first_rows = "".join(json.dumps(row) + "\n" for row in rows[:20])
    (tmp_path / "in.jsonl").write_text(first_rows + "{broken\n")
    run = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 11, run.stderr  # 1: rows were rejected
    assert (tmp_path / "killed").is_file()
    workers = {path.name.split("-")[1] for path in tmp_path.glob("scored-*")}
    assert (tmp_path / "killed").read_text() in workers
    assert len(workers) > 1

    scorer = load(tmp_path / "model")
    for name, output in (("in.parquet", "ray.parquet"), ("in.jsonl", "command.jsonl")):
        here = tmp_path / f"here-{output}"
        score_file(scorer, tmp_path / name, here, CHUNK, progress=False)
        scored, expected = (table(path) for path in (tmp_path / output, here))
        assert len(scored) == len(expected)
        for row, reference in zip(scored, expected, strict=True):
            assert list(row) == list(reference)
            for name, value in reference.items():  # the last bits of scores depend on the number of threads
                close = pytest.approx(value, rel=1e-4, abs=1e-5) if isinstance(value, float) else value
                assert row[name] == close
        assert rejected_rows(tmp_path / output) == rejected_rows(here)
    assert not list(tmp_path.glob("*.parts"))
    assert "of 21 rows, into" in run.stderr


def test_ray_backend_invalid_settings_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="Expected `num_workers` to be >= 1 but got 0"):
        RayBackend(lambda: load("er2score"), num_workers=0)
    with pytest.raises(ValueError, match="Expected `gpus_per_worker` to be >= 0 but got -1"):
        RayBackend(lambda: load("er2score"), gpus_per_worker=-1)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "reference": "Clear.", "candidate": "Clear."}')
    files = ["--input", str(tmp_path / "a.jsonl"), "--output", str(tmp_path / "b.jsonl")]
    assert main(["score", "--num-workers", "-1", *files]) == 2
    assert capsys.readouterr().err == "radreward: --num-workers: Expected a number >= 0 but got -1.\n"
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    assert main(["score", "--num-workers", "2", "--ray-address", "auto", *files]) == 2
    assert "pip install 'radreward[distributed]'" in capsys.readouterr().err
