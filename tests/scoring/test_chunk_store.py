"""Chunks of interrupted runs: damaged ones are computed again, and folders of others are left alone."""

import json
import os
import shutil
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from radreward.errors import InputError
from radreward.io.tables import TABLE_SUFFIXES
from radreward.scoring.chunk_store import MANIFEST
from radreward.scoring.file_scoring import score_file
from tests.killing import kill_before_each_file_event
from tests.scoring.overlap import Overlap, write_pairs

ROWS, CHUNK = 12, 4


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Pairs of which two are rejected."""
    return write_pairs(tmp_path / "in.jsonl", ROWS, empty=(3, 9))


def interrupt(source: Path, output: Path) -> Path:
    """Score all chunks but the last one, and return the folder of the chunks."""
    with pytest.raises(RuntimeError):
        score_file(Overlap(fails_at=f"clear word{ROWS - 1}"), source, output, CHUNK, progress=False)
    return output.with_name(f"{output.name}.parts")


def outputs(output: Path) -> list[bytes]:
    return [path.read_bytes() for path in (output, output.with_name(f"{output.name}.rejects.jsonl"))]


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
@pytest.mark.parametrize("damage", [flip_bit, cut, empty, Path.unlink])
@pytest.mark.parametrize("kind", ["chunk", "record"])
def test_damaged_chunk_is_computed_again(
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
    damage: Callable[[Path], None],
    kind: str,
) -> None:
    output, log = tmp_path / f"out{suffix}", tmp_path / "log"
    parts = interrupt(source, output)
    damage(parts / f"00000000{suffix if kind == 'chunk' else '.json'}")
    summary = score_file(Overlap(log), source, output, CHUNK, progress=False)
    assert summary.resumed == CHUNK
    assert len(log.read_text().splitlines()) == ROWS - CHUNK - 2
    unrecorded = kind == "record" and damage is Path.unlink
    assert ("1 of 2 chunks are damaged and are computed again" in capsys.readouterr().err) != unrecorded
    score_file(Overlap(), source, tmp_path / f"fresh{suffix}", CHUNK, progress=False)
    assert outputs(output) == outputs(tmp_path / f"fresh{suffix}")
    assert not parts.exists()


def test_chunk_with_a_changed_number_is_computed_again(source: Path, tmp_path: Path) -> None:
    path = interrupt(source, tmp_path / "out.jsonl") / "00000000.jsonl"
    path.write_text(path.read_text().replace("0.5", "NaN"))
    assert score_file(Overlap(), source, tmp_path / "out.jsonl", CHUNK, progress=False).resumed == CHUNK
    assert "NaN" not in (tmp_path / "out.jsonl").read_text()


@pytest.mark.parametrize("damage", [flip_bit, cut, empty])
def test_damaged_manifest_computes_every_row_again(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    parts = interrupt(source, tmp_path / "out.jsonl")
    damage(parts / MANIFEST)
    assert score_file(Overlap(), source, tmp_path / "out.jsonl", CHUNK, progress=False).resumed == 0
    assert f"{MANIFEST}: is damaged, so that all rows are computed again" in capsys.readouterr().err
    assert not parts.exists()


@pytest.mark.parametrize("content", [{}, {"thesis.txt": "years of work"}, {"manifest.json": "{}", "0.jsonl": ""}])
def test_folder_of_the_user_is_neither_adopted_nor_deleted(
    source: Path, tmp_path: Path, content: dict[str, str]
) -> None:
    parts = tmp_path / "out.jsonl.parts"
    parts.mkdir()
    for name, text in content.items():
        (parts / name).write_text(text)
    with pytest.raises(InputError, match=r"out\.jsonl\.parts: Expected no such folder.* Rename it, or choose another"):
        score_file(Overlap(), source, tmp_path / "out.jsonl", progress=False)
    assert {path.name: path.read_text() for path in parts.iterdir()} == content


def test_file_of_the_user_among_the_chunks_stays(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = interrupt(source, tmp_path / "out.jsonl")
    (parts / "notes.txt").write_text("mine")
    score_file(Overlap(), source, tmp_path / "out.jsonl", CHUNK, progress=False)
    assert [path.name for path in parts.iterdir()] == ["notes.txt"]
    assert (
        "out.jsonl.parts: was not deleted, because it holds other files, such as notes.txt" in capsys.readouterr().err
    )


def test_run_that_ended_without_a_chunk_stops_no_other(source: Path, tmp_path: Path) -> None:
    class Other(Overlap):
        def fingerprint(self) -> str:
            return "other"

    output = tmp_path / "out.jsonl"
    with pytest.raises(RuntimeError):
        score_file(Overlap(fails_at="clear word0"), source, output, CHUNK, progress=False)
    with pytest.raises(RuntimeError):
        score_file(Other(fails_at=f"clear word{ROWS - 1}"), source, output, CHUNK, progress=False)
    with pytest.raises(InputError, match=r"out\.jsonl\.parts: the scorer changed since the run"):
        score_file(Overlap(), source, output, CHUNK, progress=False)
    assert score_file(Other(), source, output, CHUNK, progress=False).resumed > 0


def test_second_process_with_the_same_output_stops_at_once(
    source: Path, processes: ForkServerContext, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    output = tmp_path / "out.jsonl"
    scorer = Overlap(seconds=600, started=started)
    process = processes.Process(target=score_file, args=(scorer, source, output, CHUNK), kwargs={"progress": False})
    process.start()
    started.read_text()  # until the process scores
    with pytest.raises(InputError, match=rf"out\.jsonl: process {process.pid} on .* has been writing it since"):
        score_file(Overlap(), source, output, CHUNK, progress=False)
    process.kill()
    process.join()
    assert score_file(Overlap(), source, output, CHUNK, progress=False).rows == ROWS


def test_run_killed_before_any_file_event_resumes_to_equal_output(source: Path, tmp_path: Path) -> None:
    score_file(Overlap(), source, tmp_path / "fresh.jsonl", CHUNK, progress=False)
    folder, expected = tmp_path / "out", outputs(tmp_path / "fresh.jsonl")

    def run() -> None:
        score_file(Overlap(), source, folder / "out.jsonl", CHUNK, progress=False)

    for events in kill_before_each_file_event(run, step=13):
        for _ in kill_before_each_file_event(run, step=10**6):  # in a new process, killed at once, then not
            pass
        assert outputs(folder / "out.jsonl") == expected, events
        assert {path.name for path in folder.iterdir()} == {"out.jsonl", "out.jsonl.rejects.jsonl"}, events
        shutil.rmtree(folder)
    assert events > 60


def test_full_disk_keeps_the_finished_chunks(tmp_path: Path, small_disk: Path) -> None:
    source = write_pairs(tmp_path / "in.jsonl", 400)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        score_file(Overlap(), source, small_disk / "out.jsonl", 40, progress=False)
    finished = len(list((small_disk / "out.jsonl.parts").glob("0*.json")))
    assert finished > 0
    shutil.move(small_disk / "out.jsonl.parts", tmp_path)
    assert score_file(Overlap(), source, tmp_path / "out.jsonl", 40, progress=False).resumed == 40 * finished


def test_chunks_of_parquet_have_page_checksums(source: Path, tmp_path: Path) -> None:
    score_file(Overlap(), source, tmp_path / "out.parquet", CHUNK, progress=False)
    content = bytearray((tmp_path / "out.parquet").read_bytes())
    first = content.index(b"r0")  # an id in the first page
    content[first] ^= 1
    (tmp_path / "out.parquet").write_bytes(content)
    assert json.dumps(pq.read_table(tmp_path / "out.parquet")["id"][0].as_py()) != '"r0"'  # no error without a check
    with pytest.raises(InputError, match=r"out\.parquet: cannot be read as parquet .*CRC"):
        score_file(Overlap(), tmp_path / "out.parquet", tmp_path / "again.jsonl", progress=False)
