"""Scoring of files: order, invalid rows, resuming after a kill."""

import csv
import datetime
import gzip
import io
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.io.tables import read_rows, write_table
from radreward.models import Backbone, Calibration, PooledRewardModel, RewardModelArtifact, save_reward_model
from radreward.prompts import PlainPairTemplate
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.custom import CustomScorer
from radreward.scorers.status import STATUS_NOT_FINITE, STATUS_OK
from radreward.scoring.backends import LocalBackend, ScoredChunk
from radreward.scoring.file_scoring import score_file
from radreward.scoring.input_columns import InputColumns
from radreward.scoring.input_scan import FileChunk
from radreward.scoring.score_columns import load_scorers
from radreward.types import Scores
from tests.scoring.overlap import Overlap, make_pairs, write_rows

if TYPE_CHECKING:  # Windows does not have it
    from multiprocessing.context import ForkServerContext


def _read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:  # a text may hold other ends of lines, such as U+2028
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_file_scoring_keeps_order_length_and_other_columns(tmp_path: Path, suffix: str) -> None:
    source = write_rows(tmp_path / "in.jsonl", make_pairs(25))
    output = tmp_path / f"out{suffix}"
    summary = score_file(Overlap(), source, output, chunk_size=4, progress=False)
    assert (summary.rows, summary.rejected, summary.rejects) == (25, 0, None)
    if suffix == ".parquet":
        table = pq.read_table(output).to_pylist()
        assert [row["id"] for row in table] == [f"r{i}" for i in range(25)]
        assert [row["site"] for row in table] == list(range(25))
        assert {row["total"] for row in table} == {0.5}
    else:
        assert len(output.read_text().splitlines()) == 25 + (suffix == ".csv")
    assert not (tmp_path / f"out{suffix}.parts").exists()


def test_file_scoring_quality_follows_the_total(tmp_path: Path) -> None:
    texts = ["Pneumothorax. Edema.", "Pneumothorax.", "The cat sat on the mat."]
    rows = [{"id": str(i), "reference": texts[0], "candidate": text} for i, text in enumerate(texts)]
    source, output = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    score_file(load("chexpert-f1"), source, output, progress=False)
    written = _read(output)
    assert list(written[0])[:3] == ["id", "total", "quality"]
    assert [row["quality"] for row in written] == [1.0, pytest.approx(5 / 7), None]
    [rejected] = _read(tmp_path / "out.jsonl.rejects.jsonl")
    assert (rejected["row"], rejected["field"]) == (3, "candidate")
    assert rejected["reason"] == "no finding and no normal statement recognised in the candidate"


def test_rejected_row_names_the_field_of_its_status_and_not_of_its_words(tmp_path: Path) -> None:
    def metric(reference: str, candidate: str) -> float:
        raise ValueError("no such reference")

    rows = [{"id": "a", "reference": "Thanks.", "candidate": "Left effusion."}]
    source, output = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    fields = {}
    scorers: dict[str, Scorer] = {"ratescore": load("ratescore"), "custom": CustomScorer(metric)}
    for name, scorer in scorers.items():
        score_file(scorer, source, output, progress=False)
        [rejected] = _read(tmp_path / "out.jsonl.rejects.jsonl")
        fields[name] = rejected["field"], rejected["reason"]
    assert fields == {
        "ratescore": ("reference", "no entity in the reference"),
        "custom": ("candidate", "metric raised ValueError: no such reference"),
    }


def test_file_scoring_invalid_rows_keep_their_position_and_are_listed_in_rejects(tmp_path: Path) -> None:
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
    source, output = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    summary = score_file(Overlap(), source, output, chunk_size=2, progress=False)
    written, rejects = _read(output), _read(tmp_path / "out.jsonl.rejects.jsonl")
    assert [row["total"] for row in written] == [1.0, *[None] * 7, 1.0]
    assert [(entry["row"], entry["field"]) for entry in rejects] == [
        (2, "candidate"), (3, "reference"), (4, "reference"), (5, "candidate"), (6, None), (7, "id"), (8, "id")
    ]  # fmt: skip
    assert [row["status"] for row in written[1:-1]] == [entry["reason"] for entry in rejects]
    assert rejects[5]["reason"] == "duplicate id, first in row 1"
    assert summary.rejected == 7


def test_blank_lines_are_not_scored_and_keep_the_numbers_of_rows(tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    pair = '{"id": "a", "reference": "x", "candidate": "x"}\n'
    source.write_text(f"\n{pair}\n{pair.replace('a', 'b', 1)}\n  \n{pair}{{\n\n")
    summary = score_file(Overlap(), source, output, chunk_size=2, progress=False)
    assert (summary.rows, summary.rejected) == (4, 2)
    assert [row["total"] for row in _read(output)] == [1.0, 1.0, None, None]
    rejects = _read(tmp_path / "out.jsonl.rejects.jsonl")
    assert [(entry["row"], entry["field"]) for entry in rejects] == [(7, "id"), (8, None)]
    assert rejects[0]["reason"] == "duplicate id, first in row 2"
    source.write_text(pair + "\n")
    assert score_file(Overlap(), source, output, progress=False).rejected == 0
    source.write_text("\n{\n")
    with pytest.raises(InputError, match=r"got none; row 2: Expected a JSON object \("):
        score_file(Overlap(), source, output, progress=False)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("in.jsonl", '{"id": 1, "reference": "x"}\n', "column 'candidate'"),
        ("in.jsonl", '{"id": 1, "reference": "x", "candidate": "x", "total": 1}\n', "no column 'total'"),
        ("in.jsonl", "", "at least one row"),
        ("in.jsonl", "{\n[1]\n", r"one readable row but got none; row 1: Expected a JSON object \("),
        ("in.csv", "id,reference,candidate\n1,x\n", "row 1: Expected as many fields as the header has"),
        ("in.txt", "", "ends with"),
        ("in.parquet", "PAR1 and then nothing", "cannot be read as parquet"),
    ],
)
def test_file_scoring_unusable_input_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        score_file(Overlap(), tmp_path / name, tmp_path / "out.jsonl", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_file_scoring_output_folder_is_refused_before_scoring(tmp_path: Path) -> None:
    source, output, log = write_rows(tmp_path / "in.jsonl", make_pairs(2)), tmp_path / "out.jsonl", tmp_path / "log"
    output.mkdir()
    with pytest.raises(InputError, match=r"out\.jsonl: Expected a file but got a folder"):
        score_file(Overlap(log), source, output, progress=False)
    assert not log.exists()


def test_backend_may_return_chunks_in_any_order_and_gets_missing_chunks_only(tmp_path: Path) -> None:
    source, output = write_rows(tmp_path / "in.jsonl", make_pairs(11)), tmp_path / "out.jsonl"
    requested: list[int] = []

    def reversed_backend(chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        received = list(chunks)
        requested.extend(chunk.number for chunk in received)
        for chunk, scores in reversed(list(LocalBackend(Overlap())(received))):
            if chunk.number == 1 and len(received) > 2:
                raise RuntimeError("gone")
            yield chunk, scores

    with pytest.raises(RuntimeError, match="gone"):
        score_file(Overlap(), source, output, chunk_size=4, progress=False, backend=reversed_backend)
    summary = score_file(Overlap(), source, output, chunk_size=4, progress=False, backend=reversed_backend)
    assert requested == [0, 1, 2, 0, 1]
    assert summary.resumed == 3  # the last chunk
    assert [row["id"] for row in _read(output)] == [f"r{i}" for i in range(11)]


def test_killed_run_resumes_without_scoring_a_finished_chunk_twice(
    processes: "ForkServerContext", tmp_path: Path
) -> None:
    source, output, log = write_rows(tmp_path / "in.jsonl", make_pairs(60)), tmp_path / "out.jsonl", tmp_path / "log"
    process = processes.Process(
        target=score_file, args=(Overlap(log, 0.3), source, output), kwargs={"chunk_size": 5, "progress": False}
    )
    process.start()
    parts = tmp_path / "out.jsonl.parts"
    while len(list(parts.glob("0*.json"))) < 3:
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    finished = 5 * len(list(parts.glob("0*.json")))
    log.write_text("")
    with pytest.raises(InputError, match="chunk size changed"):
        score_file(Overlap(), source, output, chunk_size=6, progress=False)
    summary = score_file(Overlap(log), source, output, chunk_size=5, progress=False)
    assert log.read_text().splitlines() == [f"clear word{i}" for i in range(finished, 60)]
    assert summary.resumed == finished
    assert [row["id"] for row in _read(output)] == [f"r{i}" for i in range(60)]


def test_rows_are_scored_in_chunks_of_the_slowest_scorer(tmp_path: Path) -> None:
    source, output = write_rows(tmp_path / "in.jsonl", make_pairs(11)), tmp_path / "out.jsonl"
    slow, fast = Overlap(), Overlap()
    slow.device, slow.title, fast.title = torch.device("cpu"), "slow", "fast"
    sizes: list[int] = []

    def backend(chunks: Iterable[FileChunk]) -> Iterator[ScoredChunk]:
        for chunk, scores in LocalBackend(scorers)(chunks):
            sizes.append(len(chunk.rows))
            yield chunk, scores

    scorers = load_scorers([fast, slow])
    assert (fast.chunk_size, slow.chunk_size, scorers.chunk_size) == (128, 32, 32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scorer, "chunk_size", 4)
        score_file(scorers, source, output, progress=False, backend=backend)
    assert sizes == [4, 4, 3]


def test_resumed_run_keeps_its_chunks_on_another_device(tmp_path: Path) -> None:
    source, output, log = write_rows(tmp_path / "in.jsonl", make_pairs(40)), tmp_path / "out.jsonl", tmp_path / "log"
    scorer = Overlap(log, fails_at="clear word39")
    scorer.device = torch.device("cpu")
    with pytest.raises(RuntimeError):
        score_file(scorer, source, output, progress=False)
    scorer = Overlap(log)
    scorer.device = torch.device("meta")
    assert scorer.chunk_size == 512
    assert score_file(scorer, source, output, progress=False).resumed == 32
    assert log.read_text().splitlines() == [f"clear word{i}" for i in range(40)]


def test_csv_newlines_and_quotes_are_copied(tmp_path: Path) -> None:
    texts = ['two\nlines, "quoted"', "a,b", "plain\r\nx"]
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "note", "reference", "candidate"])
        writer.writerows([f"r{i}", text, text, text] for i, text in enumerate(texts))
    assert score_file(Overlap(), source, output, chunk_size=2, progress=False).rejected == 0
    with output.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [(row["note"], row["total"]) for row in written] == [(text, "1.0") for text in texts]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_parquet_columns_of_any_type_are_copied(tmp_path: Path, suffix: str) -> None:
    day = datetime.date(2020, 2, 3)
    table = pa.table(
        {
            "id": [7, 8, 7],
            "reference": ["x", None, "x"],
            "candidate": ["x", "x", "x"],
            "day": [day, None, day],
            "tags": [["a"], [], ["b"]],
        }
    )
    source, output = tmp_path / "in.parquet", tmp_path / f"out{suffix}"
    pq.write_table(table, source)
    summary = score_file(Overlap(), source, output, chunk_size=2, progress=False)
    assert summary.rejected == 2
    if suffix == ".parquet":
        written = pq.read_table(output)
        assert written.select(["id", "day", "tags"]).equals(table.select(["id", "day", "tags"]))
        assert written["total"].to_pylist() == [1.0, None, None]
    elif suffix == ".jsonl":
        assert _read(output)[0] == {
            "id": 7, "day": "2020-02-03", "tags": ["a"], "total": 1.0, "status": "ok"
        }  # fmt: skip
    else:
        assert output.read_text().splitlines()[1] == '7,2020-02-03,"[""a""]",1.0,ok'


def test_values_of_mixed_types_are_written_as_text(tmp_path: Path) -> None:
    good = {"reference": "x", "candidate": "x"}
    rows = [
        {**good, "id": 1, "a": 2**80, "b": 1.5, "c": {"k": 1}},
        {**good, "id": True, "a": 1, "b": 2**60 + 1, "c": "\ud800"},
        {**good, "id": "3", "candidate": "\ud800"},
        {**good, "id": 3},
    ]
    source, output = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.parquet"
    score_file(Overlap(), source, output, progress=False)
    written = pq.read_table(output).to_pylist()
    assert [row["a"] for row in written] == [str(2**80), "1", None, None]
    assert [row["b"] for row in written] == [1.5, float(2**60), None, None]
    assert [row["c"] for row in written] == ['{"k": 1}', "?", None, None]
    assert [row["id"] for row in written] == ["1", "true", "3", "3"]
    assert [row["status"] for row in written] == [
        STATUS_OK,
        "Expected a text or an integer as id but got bool",
        "Expected UTF-8 text as candidate",
        "duplicate id, first in row 3",
    ]


def test_infinite_score_is_rejected(tmp_path: Path) -> None:
    class Broken(Overlap):
        def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
            return super()._score_valid(references, candidates)._replace(total=torch.tensor([1.0, torch.inf]))

    source, output = write_rows(tmp_path / "in.jsonl", make_pairs(2)), tmp_path / "out.jsonl"
    assert score_file(Broken(), source, output, progress=False).rejected == 1
    assert [(row["total"], row["status"]) for row in _read(output)] == [(1.0, STATUS_OK), (None, STATUS_NOT_FINITE)]


def test_reward_model_writes_one_score_and_one_count_per_criterion(tmp_path: Path) -> None:
    torch.manual_seed(0)
    criteria = RadCliQCriteria()
    calibration = Calibration([[(-1.0, 2.0), (1.0, 0.0)]] * len(criteria))
    saved = RewardModelArtifact(
        PooledRewardModel(Backbone("tiny-bert"), criteria), PlainPairTemplate(), 200, calibration
    )
    save_reward_model(saved, tmp_path / "run" / "model")
    rows = [*make_pairs(5), {"id": "long", "reference": "x", "candidate": "y" * 300}]
    source, output = write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    scorer = load(tmp_path / "run")
    summary = score_file(scorer, source, output, chunk_size=2, progress=False)
    *scored, rejected = _read(output)
    tags = list(criteria.tags)
    assert list(scored[0]) == ["id", "site", "total", "errors", *tags, *(f"count_{tag}" for tag in tags), "status"]
    direct = scorer.score([row["reference"] for row in rows[:5]], [row["candidate"] for row in rows[:5]])
    assert direct.sub_scores is not None
    assert direct.error_counts is not None
    written = torch.tensor([[row[tag] for tag in tags] for row in scored])
    counts = torch.tensor([[row[f"count_{tag}"] for tag in tags] for row in scored])
    torch.testing.assert_close(written, direct.sub_scores, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(counts, direct.error_counts, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(counts, 1 - written.clamp(-1, 1), rtol=1e-5, atol=1e-5)
    assert rejected["total"] is None
    assert "Expected at most 200 tokens" in rejected["status"]
    assert summary.rejected == 1


def test_resume_with_another_scorer_is_refused(tmp_path: Path) -> None:
    class Other(Overlap):
        def fingerprint(self) -> str:
            return "other"

    source, output = write_rows(tmp_path / "in.jsonl", make_pairs(3)), tmp_path / "out.jsonl"
    last = make_pairs(3)[-1]["candidate"]
    with pytest.raises(RuntimeError):
        score_file(Other(fails_at=last), source, output, chunk_size=1, progress=False)
    with pytest.raises(InputError, match=r"out.jsonl.parts: the scorer changed .*\. Delete the folder to start again"):
        score_file(Overlap(), source, output, chunk_size=1, progress=False)
    write_rows(source, make_pairs(4))
    with pytest.raises(InputError, match="the input changed"):
        score_file(Other(), source, output, chunk_size=1, progress=False)
    assert not output.exists()


@pytest.mark.parametrize(("formulas", "cell"), [("quote", "'=1+1"), ("keep", "=1+1")])
def test_csv_formulas_are_quoted_or_kept(tmp_path: Path, formulas: Literal["quote", "keep"], cell: str) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{**pair, "id": "=1+1"} for pair in make_pairs(5)])
    output = tmp_path / "out.csv"
    score_file(Overlap(), source, output, chunk_size=2, progress=False, csv_formulas=formulas)
    with output.open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [cell] * 5


WINDOWS = "but it looks like Windows-1252; save the file as 'CSV UTF-8'"
"""End of the message on text in Windows-1252."""


def test_csv_invalid_rows_have_field_and_reason(tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(
        b"id,reference,candidate,site\n"
        b"1,x,x,a\n"
        b"2,,x,a\n"  # empty
        b'3,x,"  ",a\n'
        b"4,x\n"  # missing
        b"5,x,x,a,b\n"
        b"1,x,x,a\n"
        b",x,x,a\n"
        b"8,x,caf\xe9,a\n"  # not UTF-8
        b"9,x,x,\xff\n"
        b"10,nan,nan x,a\n"  # missing, as pandas writes it
        b"11,x,NA,a\n"
        b"12,nan x,nan,a\n"
    )
    assert score_file(Overlap(), source, output, chunk_size=3, progress=False).rejected == 11
    with output.open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [row["id"] for row in written] == ["1", "2", "3", "4", "5", "1", "", "8", "9", "10", "11", "12"]
    assert [row["total"] for row in written] == ["1.0", *[""] * 11]
    assert [(entry["row"], entry["field"], entry["reason"]) for entry in _read(tmp_path / "out.csv.rejects.jsonl")] == [
        (2, "reference", "empty reference"),
        (3, "candidate", "empty candidate"),
        (4, None, "Expected as many fields as the header has (4) but got 2"),
        (
            5,
            None,
            "Expected as many fields as the header has (4) but got 5; put a text that contains commas in double quotes",
        ),
        (6, "id", "duplicate id, first in row 1"),
        (7, "id", "missing id"),
        (8, None, f"field 'candidate': Expected UTF-8 text {WINDOWS}"),
        (9, None, f"field 'site': Expected UTF-8 text {WINDOWS}"),
        (10, "reference", "missing reference"),
        (11, "candidate", "missing candidate"),
        (12, "candidate", "missing candidate"),
    ]


def _broken_text(texts: Sequence[bytes | None]) -> pa.Array:
    """A column of texts with unchecked bytes, as other writers may produce."""
    return pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())


def test_parquet_invalid_rows_have_field_and_reason(tmp_path: Path) -> None:
    columns = {
        "id": ["a", "b", "c", "d", "a", None, "g"],
        "reference": ["x", "", None, "x", "x", "x", "x"],
        "candidate": _broken_text([b"x", b"x", b"x", b"caf\xe9", b"x", b"x", b"x"]),
    }
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table(columns), source)
    assert score_file(Overlap(), source, output, chunk_size=3, progress=False).rejected == 5
    written = pq.read_table(output)
    assert written["id"].to_pylist() == columns["id"]
    assert written["total"].to_pylist() == [1.0, *[None] * 5, 1.0]
    assert written["status"].to_pylist() == [
        STATUS_OK,
        "empty reference",
        "missing reference",
        "field 'candidate': Expected UTF-8 text",
        "duplicate id, first in row 1",
        "missing id",
        STATUS_OK,
    ]
    rejects = _read(tmp_path / "out.parquet.rejects.jsonl")
    assert [(entry["file"], entry["row"]) for entry in rejects] == [(str(source), number) for number in range(2, 7)]


def test_parquet_columns_of_wrong_type_reject_every_row(tmp_path: Path) -> None:
    table = pa.table({"id": [1.5, 2.5, 3.5], "reference": [float("nan"), None, 3.0], "candidate": ["x"] * 3})
    source, output = tmp_path / "in.parquet", tmp_path / "out.jsonl"
    pq.write_table(table, source)
    assert score_file(Overlap(), source, output, progress=False).rejected == 3
    assert {row["status"] for row in _read(output)} == {"Expected a text or an integer as id but got float"}
    pq.write_table(table.set_column(0, "id", pa.array([1, 2, 3])), source)
    score_file(Overlap(), source, output, progress=False)
    assert [row["status"] for row in _read(output)] == [
        "missing reference",
        "missing reference",
        "Expected a text as reference but got 3.0. Write it as a string",
    ]


@pytest.mark.parametrize("missing", ["reference", "candidate"])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_missing_column_is_named_with_present_columns(tmp_path: Path, suffix: str, missing: str) -> None:
    source, output = tmp_path / f"in{suffix}", tmp_path / "out.jsonl"
    present = [name for name in ("id", "reference", "candidate") if name != missing]
    write_table(source, pa.schema([(name, pa.string()) for name in present]), iter([dict.fromkeys(present, "x")]))
    message = rf"in\{suffix}: .* column '{missing}' but got {', '.join(present)}\. Set `{missing}` \(--{missing}\)"
    with pytest.raises(InputError, match=message):
        score_file(Overlap(), source, output, progress=False)
    with pytest.raises(InputError, match=r"column 'case' but got .*\. Set `id` \(--id\) to the column's name"):
        score_file(Overlap(), source, output, progress=False, columns=InputColumns(present[0], present[1], "case"))


def test_one_column_for_both_reports_is_refused() -> None:
    with pytest.raises(InputError, match=r"^Expected different columns for `reference` .* but got 'id' for both\.$"):
        InputColumns("id", "id")
    with pytest.raises(InputError, match="but got 'candidate' for both"):
        InputColumns(reference="candidate")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_columns_are_mapped_and_keep_their_names(tmp_path: Path, suffix: str) -> None:
    source, output = tmp_path / f"in{suffix}", tmp_path / "out.jsonl"
    schema = pa.schema([(name, pa.string()) for name in ("case", "ref", "hyp", "id", "reference")])
    rows = [
        {"case": "a", "ref": "clear lungs", "hyp": "clear", "id": "1", "reference": "kept"},
        {"case": "a", "ref": "clear lungs", "hyp": "clear", "id": "2", "reference": "kept"},
        {"case": "b", "ref": "clear lungs", "hyp": "NA", "id": "2", "reference": "kept"},
    ]
    write_table(source, schema, iter(rows))
    columns = InputColumns("ref", "hyp", "case")
    summary = score_file(Overlap(), source, output, progress=False, columns=columns)
    assert [list(row.values()) for row in _read(output)] == [
        ["a", "1", "kept", 1.0, "ok"],
        ["a", "2", "kept", None, "duplicate id, first in row 1"],
        ["b", "2", "kept", None, "missing candidate"],
    ]
    assert summary.rejects is not None
    assert [(row["row"], row["field"]) for row in _read(summary.rejects)] == [(2, "case"), (3, "hyp")]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_rows_without_an_id_are_numbered(tmp_path: Path, suffix: str) -> None:
    source, output = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    schema = pa.schema([("reference", pa.string()), ("candidate", pa.string())])
    write_table(source, schema, iter([{"reference": "clear", "candidate": text} for text in ("clear", "", "clear")]))
    score_file(Overlap(), source, output, chunk_size=2, progress=False)
    rows = [row.values for batch in read_rows(output) for row in batch]
    assert [str(row["id"]) for row in rows] == ["1", "2", "3"]
    assert [row["status"] for row in rows] == ["ok", "empty candidate", "ok"]


def test_several_scorers_have_the_columns_of_each(tmp_path: Path) -> None:
    source = write_rows(
        tmp_path / "in.jsonl",
        [
            *make_pairs(5),
            {"id": "x", "reference": "Thanks.", "candidate": "Thanks."},
            {"id": "y", "reference": "clear", "candidate": None},
        ],
    )
    singles = []
    for scorer in (load("rouge-l"), load("entity-f1")):
        score_file(scorer, source, tmp_path / "one.jsonl", progress=False)
        singles.append(_read(tmp_path / "one.jsonl"))
    summary = score_file(load_scorers(["rouge-l", "entity-f1"]), source, tmp_path / "out.jsonl", 2, progress=False)
    rows = _read(tmp_path / "out.jsonl")
    for name, single in zip(("rouge-l", "entity-f1"), singles, strict=True):
        for row, expected in zip(rows, single, strict=True):
            assert row[f"{name}_total"] == pytest.approx(expected["total"])
            assert row[f"{name}_status"] == expected["status"]
            assert row["site"] == expected["site"]
    assert summary.rejects is not None
    rejects = _read(summary.rejects)
    assert [row["row"] for row in rejects] == [6, 7]
    assert rejects[0]["reason"].startswith("entity-f1: ")
    assert rejects[1]["reason"] == "missing candidate"
    assert (rows[5]["rouge-l_total"], rows[5]["entity-f1_total"]) == (1, None)


def test_scorers_of_one_name_are_refused() -> None:
    message = (
        r"models: Expected models of different names but 'er2score' is listed twice\. Name one yourself, as in first="
    )
    with pytest.raises(InputError, match=message):
        load_scorers(["runs/er2score", "er2score"])


def test_folders_of_models_are_named_after_their_runs(tmp_path: Path) -> None:
    folders = [tmp_path / "mine" / "model", tmp_path / "study" / "trials" / "4" / "model", tmp_path / "x=1"]
    for folder in folders:
        load("er2score").save_pretrained(folder)
    names = ["mine", "study-4", "x=1", "own"]
    loaded = load_scorers([*folders, f"own={folders[0].parent}"])
    assert list(loaded.scorers) == names
    assert [scorer.title for scorer in loaded.scorers.values()] == names


def test_study_folder_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "trials").mkdir()
    (tmp_path / "best.yaml").write_text("# Best of 2 complete trials of the study s: trial 1, val_tau 0.5.\n")
    with pytest.raises(
        InputError, match=r"but it has a study\. Name the folder of a trial, such as .*best\.yaml states"
    ):
        load_scorers([tmp_path])


def test_scorer_error_keeps_finished_chunks(tmp_path: Path) -> None:
    source, output, log = write_rows(tmp_path / "in.jsonl", make_pairs(20)), tmp_path / "out.jsonl", tmp_path / "log"
    with pytest.raises(RuntimeError, match="out of memory"):
        score_file(Overlap(log, fails_at="clear word13"), source, output, chunk_size=4, progress=False)
    assert not output.exists()
    assert len(log.read_text().splitlines()) == 12
    summary = score_file(Overlap(log), source, output, chunk_size=4, progress=False)
    assert log.read_text().splitlines() == [f"clear word{i}" for i in range(20)]  # each row once in both runs
    assert summary.resumed == 12
    fresh = tmp_path / "fresh.jsonl"
    score_file(Overlap(), source, fresh, chunk_size=4, progress=False)
    assert output.read_bytes() == fresh.read_bytes()


TEXT = st.one_of(st.none(), st.just(float("nan")), st.integers(), st.text(max_size=5))


@settings(max_examples=30)
@given(st.lists(st.fixed_dictionaries({"id": TEXT, "reference": TEXT, "candidate": TEXT}), min_size=1, max_size=9))
def test_any_rows_keep_their_order_and_have_a_score_or_a_reason(rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, output = write_rows(Path(folder) / "in.jsonl", rows), Path(folder) / "out.jsonl"
        summary = score_file(Overlap(), source, output, chunk_size=2, progress=False)
        written = _read(output)
        rejects = _read(summary.rejects) if summary.rejects else []
    assert len(written) == len(rows)
    good = [
        all(isinstance(row[name], str) and row[name].strip() for name in ("reference", "candidate"))
        and (type(row["id"]) is int or (isinstance(row["id"], str) and bool(row["id"].strip())))
        and [str(row["id"]) for row in rows].index(str(row["id"])) == number
        for number, row in enumerate(rows)
    ]
    assert [row["total"] is not None for row in written] == good
    assert [entry["row"] for entry in rejects] == [number for number, valid in enumerate(good, 1) if not valid]
    assert [entry["reason"] for entry in rejects] == [row["status"] for row in written if row["total"] is None]


@pytest.mark.parametrize("form", ["json", "jsonl.gz", "folder", "-"])
def test_file_scoring_of_every_form_of_input_is_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    source = write_rows(tmp_path / "in.jsonl", make_pairs(10))
    rows = _read(source)
    other = Path("-") if form == "-" else tmp_path / f"other.{form}"
    if form == "json":
        other.write_text(json.dumps(rows))
    elif form == "jsonl.gz":
        other.write_bytes(gzip.compress(source.read_bytes()))
    elif form == "folder":
        other.mkdir()
        for number in range(2):
            pq.write_table(pa.Table.from_pylist(rows[number * 5 : number * 5 + 5]), other / f"{number}.parquet")
    else:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
    outputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, output in zip((source, other), outputs, strict=True):
        assert score_file(Overlap(), path, output, chunk_size=4, progress=False).rows == 10
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_file_scoring_output_in_the_folder_of_the_input_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "reference": ["x"], "candidate": ["x"]}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="Expected an output outside the folder of the input"):
        score_file(Overlap(), tmp_path, tmp_path / "out.parquet", progress=False)
