"""Scoring in several processes: equal files, one load each, a process that dies, a main process that is killed."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.scorers.custom import CustomScorer
from radreward.scoring.file_scoring import score_file
from radreward.scoring.process_backend import ProcessBackend

ROWS, CHUNK = 30, 4


def score_without_end(folder: Path) -> None:
    """Score in a process that waits for as long as this one lives."""
    backend = ProcessBackend(partial(build, folder, "wait"), 1)
    score_file(build(folder, "plain"), folder / "in.jsonl", folder / "out.jsonl", CHUNK, False, backend)


def build(folder: Path, behaviour: str) -> CustomScorer:
    """Return a scorer; the file `built-<process>-<number>` shows where and how often it was built."""
    (folder / f"built-{os.getpid()}-{len(list(folder.glob(f'built-{os.getpid()}-*')))}").touch()

    def share(reference: str, candidate: str) -> float:
        if behaviour == "die" and "7" in candidate:
            os.kill(os.getpid(), signal.SIGKILL)
        if behaviour == "refuse":
            raise InputError("not these reports")
        if behaviour == "wait":
            (folder / "waits").write_text(str(os.getpid()))
            time.sleep(600)
        return len(set(reference.split()) & set(candidate.split())) / len(candidate.split())

    return CustomScorer(share)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = [{"id": f"r{row}", "reference": f"mass {row % 5}", "candidate": f"mass {row}"} for row in range(ROWS)]
    rows[3]["candidate"] = " "
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "in.jsonl"


def test_two_processes_write_the_file_of_one_and_build_the_scorer_once_each(source: Path, tmp_path: Path) -> None:
    scorer = build(tmp_path, "plain")
    outputs = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    score_file(scorer, source, outputs[0], CHUNK, progress=False)
    backend = ProcessBackend(partial(build, tmp_path, "plain"), 2)
    score_file(scorer, source, outputs[1], CHUNK, progress=False, backend=backend)
    assert outputs[0].read_text() == outputs[1].read_text()
    built = [path.name.split("-")[1] for path in tmp_path.glob("built-*")]
    assert len(built) == len(set(built))
    assert set(built) - {str(os.getpid())}


def test_death_of_a_process_is_reported_and_the_run_resumes(source: Path, tmp_path: Path) -> None:
    scorer, output = build(tmp_path, "plain"), tmp_path / "out.jsonl"
    backend = ProcessBackend(partial(build, tmp_path, "die"), 1)
    with pytest.raises(InputError, match="one died; perhaps the memory was exhausted. Run the same command again"):
        score_file(scorer, source, output, CHUNK, progress=False, backend=backend)
    assert score_file(scorer, source, output, CHUNK, progress=False).resumed == CHUNK
    with pytest.raises(ValueError, match="Expected `num_workers` to be >= 1 but got 0"):
        ProcessBackend(partial(build, tmp_path, "plain"), 0)


def is_alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.timeout(300)
def test_processes_end_if_the_main_process_is_killed(
    source: Path, processes: ForkServerContext, tmp_path: Path
) -> None:
    run = processes.Process(target=score_without_end, args=(tmp_path,))
    run.start()
    while not (tmp_path / "waits").exists() or not (tmp_path / "waits").read_text():
        assert run.is_alive()
        time.sleep(0.1)
    worker = int((tmp_path / "waits").read_text())
    assert is_alive(worker)
    run.kill()
    run.join()
    while is_alive(worker):
        time.sleep(0.1)
