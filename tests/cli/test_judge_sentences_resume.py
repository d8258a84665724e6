"""`judge-sentences`, with and without `--refine`, with the embedded judge: an interrupted run resumes."""

import json
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from radreward.cli import judging, main
from radreward.systems.sentence_eval.judges import RelationJudge

ROWS, CHUNK = 12, 2


def run_slowly(arguments: list[str]) -> None:
    """Run a command with slow judges; the target of a process to be killed."""
    judged, judging.CHUNK_SIZE = RelationJudge.judge, CHUNK

    def judge(self: RelationJudge, *sides: Any) -> Any:
        time.sleep(0.2)
        return judged(self, *sides)

    pytest.MonkeyPatch().setattr(RelationJudge, "judge", judge)  # for the rest of the process
    main(arguments)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": f"r{n}", "reference": f"Nodule of {n} mm. Clear lungs.", "candidate": "Small nodule. Large heart."}
        for n in range(ROWS - 1)
    ]
    rows.insert(4, {"id": "empty", "reference": "", "candidate": "Clear."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("name", "more"), [("judge-sentences", ()), ("judge-sentences", ("--refine", "--scorers", "bleu-1", "cider"))]
)
def test_killed_run_resumes_without_judging_a_finished_chunk_twice(
    name: str,
    more: tuple[str, ...],
    pairs: Path,
    processes: ForkServerContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(judging, "CHUNK_SIZE", CHUNK)
    output, parts = tmp_path / "out.jsonl", tmp_path / "out.jsonl.parts"
    arguments = [name, f"--input={pairs}", *more, "--output"]
    process = processes.Process(target=run_slowly, args=([*arguments, str(output)],))
    process.start()
    while len(list(parts.glob("0*.json"))) < 3:
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    assert not output.exists()
    left = ROWS // CHUNK - len(list(parts.glob("0*.json")))
    assert left > 0

    calls = []
    judged = RelationJudge.judge

    def counted(self: RelationJudge, *sides: Any) -> Any:
        calls.append(len(sides[0]))
        return judged(self, *sides)

    monkeypatch.setattr(RelationJudge, "judge", counted)
    assert main([*arguments, str(output)]) == 1  # because of the empty row
    assert len(calls) == left * (2 if "--refine" in more else 1)
    assert f"Judging: {ROWS - left * CHUNK} of {ROWS} rows, into {output}" in capsys.readouterr().err
    assert not parts.exists()
    whole = tmp_path / "whole.jsonl"
    assert main([*arguments, str(whole)]) == 1
    assert output.read_bytes() == whole.read_bytes()
    given = [json.loads(line)["id"] for line in pairs.read_text().splitlines()]
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == given


def test_changed_input_does_not_reuse_the_chunks_of_a_killed_run(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = RelationJudge.judge

    def judge(self: RelationJudge, *sides: Any) -> Any:
        if list(tmp_path.glob("*.parts/0*.json")):
            raise KeyboardInterrupt
        return judged(self, *sides)

    monkeypatch.setattr(judging, "CHUNK_SIZE", CHUNK)
    monkeypatch.setattr(RelationJudge, "judge", judge)
    arguments = ["judge-sentences", f"--input={pairs}", f"--output={tmp_path / 'out.jsonl'}"]
    assert main(arguments) == 130
    with pairs.open("a") as file:
        file.write(json.dumps({"id": "more", "reference": "Clear.", "candidate": "Clear."}) + "\n")
    assert main(arguments) == 2
    assert "out.jsonl.parts: the input changed" in capsys.readouterr().err


def test_ids_and_columns_are_those_of_score(tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("case,ref,hyp\na,Clear lungs.,Clear lungs.\na,Edema.,Edema.\n,Edema.,Edema.\n")
    arguments = ["judge-sentences", f"--input={source}", f"--output={output}", "--reference=ref", "--candidate=hyp"]
    assert main([*arguments, "--id=case"]) == 1
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["status"] for row in rows] == ["ok", "duplicate id, first in row 1", "missing id"]
    assert main(arguments) == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("Reference,candidate\na,b\n", "Set `reference` (--reference) to the column's name, such as 'Reference'."),
        (
            "id;reference,candidate\n1;a,b\n",
            "Expected a header with one separator of columns but got commas and semicolons.",
        ),
    ],
)
@pytest.mark.parametrize("name", ["judge-sentences", "judge-sentences --refine", "score"])
def test_unusable_header_has_a_remedy(
    name: str, rows: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.csv"
    source.write_text(rows)
    assert main([*name.split(), f"--input={source}", f"--output={tmp_path / 'out.jsonl'}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["judge-sentences", "judge-sentences --refine"])
def test_unusable_output_is_reported_before_judging(
    name: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output, message in (
        (pairs, "Expected an output that is not the input."),
        (tmp_path / "a.csv", "it is a folder"),
    ):
        (tmp_path / "a.csv").mkdir(exist_ok=True)
        assert main([*name.split(), f"--input={pairs}", f"--output={output}"]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["judge-sentences", "judge-sentences --refine"])
def test_file_without_a_readable_row_is_reported_before_a_model_is_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_model(*_: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(judging.JudgeOptions, "make_judge", no_model)
    source, output = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
    source.write_text("{half\n[1]\n")
    assert main([*name.split(), f"--input={source}", f"--output={output}"]) == 2
    message = f"radreward: {source}: Expected at least one readable row but got none; row 1: Expected a JSON"
    assert capsys.readouterr().err.startswith(message)
    assert not output.exists()
