"""Claims of outputs: one writer at a time, found before anything is computed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.io.outputs import LOCK_NAME, claimed_file, claimed_folder, folder_entries

HOLDER = """
import sys, time
from pathlib import Path
from radreward.io.outputs import claimed_file, claimed_folder
with {claim}(Path(sys.argv[1])):
    print("claimed\\n", end="", flush=True)
    time.sleep(600)
"""
CLAIMS = pytest.mark.parametrize("claim", [claimed_file, claimed_folder])
Claim = Callable[[Path | None], AbstractContextManager[None]]


def hold(claim: Claim, output: Path) -> subprocess.Popen[str]:
    """Start a process that claims an output."""
    code = HOLDER.format(claim=claim.__name__)
    process = subprocess.Popen([sys.executable, "-c", code, str(output)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    return process


@CLAIMS
def test_claim_of_a_second_process_names_the_first_and_replaces_a_dead_one(tmp_path: Path, claim: Claim) -> None:
    output = tmp_path / "results"
    process = hold(claim, output)
    message = (
        rf"results: process {process.pid} on \S+ has been writing it since \d{{4}}-.*Wait until it ends, or choose"
    )
    with pytest.raises(InputError, match=message), claim(output):
        raise AssertionError
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with claim(output), pytest.raises(InputError, match=f"process {os.getpid()} on"), claim(output):
        raise AssertionError
    assert [path.name for path in tmp_path.rglob("*")] == ["results"] * (claim is claimed_folder)  # made by the other


def test_claimed_file_waits_for_its_writer(tmp_path: Path) -> None:
    process = hold(claimed_file, tmp_path / "a.csv")
    timer = threading.Timer(0.3, process.kill)
    timer.start()
    with claimed_file(tmp_path / "a.csv", wait=True):
        assert process.wait() == -signal.SIGKILL
    timer.join()
    process.communicate()


def test_workers_of_a_killed_process_do_not_hold_its_output(tmp_path: Path) -> None:
    # One write per line, also where output is not buffered: two processes write to one pipe.
    fork = "    import os\n    print(f'{os.fork()}\\n', end='', flush=True)\n    print"
    code = HOLDER.format(claim="claimed_file").replace("    print", fork)
    arguments = [sys.executable, "-c", code, str(tmp_path / "a.csv")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    # Parent and worker print two lines each, the worker after it has closed its locks.
    lines = [process.stdout.readline().strip() for _ in range(4)]
    [worker] = [int(line) for line in lines if line not in ("0", "claimed")]
    process.send_signal(signal.SIGKILL)
    process.wait()
    try:
        with claimed_file(tmp_path / "a.csv"):
            pass
    finally:
        os.kill(worker, signal.SIGKILL)
        process.stdout.close()


def test_claimed_folder_holds_its_lock_and_stays_if_it_was_there(tmp_path: Path) -> None:
    with claimed_folder(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]
        assert folder_entries(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file.txt/a.csv", "folder", "file.txt/b"])
def test_unwritable_output_is_one_message(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=re.escape(str(tmp_path / name))), claimed_file(tmp_path / name):
        raise AssertionError
    with pytest.raises(InputError, match=r"file\.txt: Expected a folder"), claimed_folder(tmp_path / "file.txt"):
        raise AssertionError


@CLAIMS
def test_full_disk_is_found_before_anything_is_computed(small_disk: Path, claim: Claim) -> None:
    (small_disk / "data").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    message = r"out: cannot be written \(No space left on device\)"
    with pytest.raises(InputError, match=message), claim(small_disk / "out"):
        raise AssertionError
    assert [path.name for path in small_disk.iterdir()] == ["data"]


def test_no_output_is_claimed_silently() -> None:
    with claimed_file(None), claimed_folder(None):
        pass
