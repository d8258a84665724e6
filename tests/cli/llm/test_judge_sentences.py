"""`judge-sentences`, with and without `--refine`, by a chat judge behind a real server on the loopback interface."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radreward.cli import main

OMITTED = "There is a small left pleural effusion."
CONTRADICTION = "There is no pleural effusion."
REST = "No pneumothorax."


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"id": "a", "reference": f"{OMITTED} {REST}", "candidate": f"{CONTRADICTION} {REST}"},
        {"id": 2, "reference": "", "candidate": "Clear."},
        {"id": "c", "reference": f'{REST} He said, "hm".', "candidate": f'{REST} He said, "hm".'},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judge_by_rule(table: str) -> str:
    """Return scores by rule: equal sentences match, other sentences about effusion contradict."""
    lines = [line.split(",", 2) for line in table.split("\n")[1:]]
    answer = []
    for side, name, text in lines:
        same = [other for kind, other, sentence in lines if kind != side and sentence == text]
        against = [
            other for kind, other, sentence in lines if kind != side and "effusion" in sentence and "effusion" in text
        ]
        score = 1 if same else -1 if against else 0
        answer.append(f"{side},{name},{text},{(same + against + ['-'])[0]},{score}")
    wrong = sum(line.endswith(",-1") for line in answer)
    return "\n".join([*answer, f"overall,{5 - wrong}", f'explanation,"{wrong} sentences contradict."'])


def reply(messages: list[dict[str, str]], number: int) -> str:
    prompt = messages[-1]["content"]
    return f"[Report]\n{OMITTED} {REST}" if prompt.startswith("<report>") else judge_by_rule(prompt)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_judge_sentences_repeated_run_uses_cached_responses(
    start_server: Callable[..., Any], pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server(reply)
    out = tmp_path / "judged.jsonl"
    command = ["judge-sentences", f"--input={pairs}", "--judge=chat", f"--output={out}", "--shots=1"]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("6 requests")
    assert not server.requests
    assert main(command) == 1
    assert "ok: 2" in capsys.readouterr().out
    assert len(server.requests) == 6
    judged_rows = rows(out)
    assert [(row["id"], row["status"], row["overall"]) for row in judged_rows] == [
        ("a", "ok", 3.0),
        ("2", "empty reference", None),
        ("c", "ok", 5.0),
    ]
    expected = {"id": "a", "sentence": OMITTED, "score": -1.0, "match": ["A"], "probabilities": [0.0, 0.0, 0.0, 1.0]}
    assert judged_rows[0]["reference"][0] == expected
    expected = {"id": "B", "sentence": REST, "score": 1.0, "match": ["b"], "probabilities": [0.0, 0.0, 1.0, 0.0]}
    assert judged_rows[0]["candidate"][1] == expected
    assert main(command) == 1
    assert len(server.requests) == 6  # all responses are cached


@pytest.mark.parametrize(
    ("damage", "status", "problems"),
    [
        (lambda text: text.split("\n", 1)[1], "partial", {"missing row"}),
        (lambda text: text.replace("overall", "Original,z,No tube.,-,0\noverall"), "ok", {"unknown id"}),
        (lambda text: text.replace("Original,a,", "Original,q,"), "partial", {"unknown id", "missing row"}),
        (lambda text: text.replace(",b,1", ",b,0.7"), "partial", {"invalid score", "missing row"}),
        (lambda text: f"Here it is:\n```csv\n{text}\n```", "ok", {"prose"}),
        (lambda text: "I cannot judge this.", "no judgement", {"missing row", "prose", "no overall"}),
    ],
)
def test_malformed_answers_are_counted(
    start_server: Callable[..., Any],
    tmp_path: Path,
    damage: Callable[[str], str],
    status: str,
    problems: set[str],
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"id": "a", "reference": f"{OMITTED} {REST}", "candidate": f"{CONTRADICTION} {REST}"}))
    start_server(lambda messages, number: damage(reply(messages, number)))
    out = tmp_path / "judged.jsonl"
    command = [
        "judge-sentences",
        f"--input={path}",
        "--judge=chat",
        f"--output={out}",
        "--repetitions=1",
        "--temperature=0",
    ]
    assert main(command) == (0 if status == "ok" else 1)
    [row] = rows(out)
    assert row["status"].startswith(status)
    assert problems <= set(row["format_errors"])


def test_refine_corrects_reports_and_scores_them_again(
    start_server: Callable[..., Any], pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server(reply)
    out = tmp_path / "refined.jsonl"
    command = [
        "judge-sentences",
        "--refine",
        f"--input={pairs}",
        "--judge=chat",
        "--scorers",
        "ratescore",
        f"--output={out}",
    ]
    command += ["--shots=0", "--repetitions=1", "--temperature=0"]
    assert main([*command, "--dry-run"]) == 0
    assert "2 requests" in capsys.readouterr().out
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "Skipped: 1 of 3 pairs; the first is 2: empty reference" in printed.err
    assert "ratescore" in printed.out
    refined_rows = rows(out)
    assert [row["status"] for row in refined_rows] == ["ok", "empty reference", "ok"]
    assert refined_rows[0]["refined"] == f"{OMITTED} {REST}"
    assert (refined_rows[0]["before_judge"], refined_rows[0]["after_judge"]) == (3.0, 5.0)
    assert refined_rows[0]["after_ratescore"] > refined_rows[0]["before_ratescore"]
    assert refined_rows[1]["before_judge"] is None
    refining = [body for body in server.requests if "<remarks>" in body["messages"][-1]["content"]]
    assert all(OMITTED not in body["messages"][-1]["content"] for body in refining)  # the reference is not shown
    with (tmp_path / "refined.csv").open(newline="") as file:
        table = {row["scorer"]: row for row in csv.DictReader(file)}
    assert {name: row["num_pairs"] for name, row in table.items()} == {"judge": "2", "ratescore": "2"}
    assert (tmp_path / "refined.tex").is_file()
    assert "| judge | 2 |" in (tmp_path / "refined.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge=/nowhere"], "/nowhere"),
        (["--scorers", "nothing"], "nothing"),
        (["--scorers", "ratescore", "ratescore"], "is listed twice"),
        (["--input=/nowhere.jsonl"], "/nowhere.jsonl"),
        (["--output=out.txt"], "out.txt"),
        (["--dry-run"], "Expected --judge chat"),
        (["--judge=chat", "--repetitions=0"], "`repetitions` to be >= 1"),
        (["--judge=chat", "--shots=99"], "Expected at least 99 examples"),
    ],
)
def test_wrong_option_of_refine_prints_one_line(
    start_server: Callable[..., Any],
    pairs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    server = start_server(reply)
    command = [
        "judge-sentences",
        "--refine",
        f"--input={pairs}",
        "--scorers",
        "ratescore",
        f"--output={tmp_path / 'v.jsonl'}",
    ]
    assert main([*command, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not server.requests


def test_unreadable_rows_have_a_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(f"id,reference,candidate\na,{REST},{REST}\nb,Caf\xe9.,Clear.\nc,Clear.\n".encode("latin-1"))
    reasons = [
        "field 'reference': Expected UTF-8 text but it looks like Windows-1252; save the file as 'CSV UTF-8'",
        "Expected as many fields as the header has (3) but got 2",
    ]
    for options in ([], ["--refine", "--scorers", "bleu-1"]):
        out = tmp_path / f"{len(options)}.jsonl"
        assert main(["judge-sentences", f"--input={path}", f"--output={out}", *options])
        read = [row["status"] for row in rows(out)]
        assert read == [read[0] if options else "ok", *reasons]
        assert reasons[0] in capsys.readouterr().err or options


@pytest.mark.parametrize("options", [[], ["--refine", "--scorers", "bleu-1"]])
def test_unknown_judge_prints_one_line(
    options: list[str], pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["judge-sentences", f"--input={pairs}", "--judge=embeded", f"--output={tmp_path / 'a.jsonl'}", *options])
        == 2
    )
    message = "radreward: --judge: Expected embedded, chat or the folder of a judge but got 'embeded'.\n"
    assert capsys.readouterr().err == message


def test_file_without_a_column_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id,reference\n1,Clear.\n")
    assert main(["judge-sentences", f"--input={path}", f"--output={tmp_path / 'j.jsonl'}"]) == 2
    assert "Expected a column 'candidate'" in capsys.readouterr().err
    path.write_text("id,reference,candidate\n")
    assert main(["judge-sentences", f"--input={path}", f"--output={tmp_path / 'j.jsonl'}"]) == 2
    assert "at least one row" in capsys.readouterr().err
