"""`radreward benchmark`."""

import json
import signal
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.meta_evaluation.rated_pairs_io import write_rated_pairs
from tests.meta_evaluation.small_scorers import make_pairs

METRIC = """
import os, signal
from pathlib import Path

def metric(reference, candidate):
    calls = Path({calls!r})
    calls.write_text(calls.read_text() + ".")
    if {kill} and len(calls.read_text()) == 300:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(set(reference.split()) & set(candidate.split())) / 7
"""


def test_benchmark_killed_run_resumes_with_equal_results(
    processes: ForkServerContext, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rated_pairs(tmp_path / "rated.jsonl", make_pairs(200).rows)
    command = ["benchmark", f"--data={tmp_path / 'rated.jsonl'}", "--bootstrap=20"]
    results = {}
    for name, kill in (("complete", False), ("killed", True)):
        calls, metric = tmp_path / f"{name}.calls", tmp_path / "metric.py"
        calls.write_text("")
        # The source is part of the fingerprint, so the metric that kills the run must also resume it.
        metric.write_text(METRIC.format(calls=str(calls), kill=kill))
        arguments = [*command, f"--output={tmp_path / name}", "--scorers", f"{metric}:metric"]
        if kill:
            process = processes.Process(target=main, args=(arguments,))
            process.start()
            process.join()
            assert process.exitcode == -signal.SIGKILL
            assert len(calls.read_text()) == 300
        assert main(arguments) == 0
        capsys.readouterr()
        results[name] = json.loads((tmp_path / name / "results.json").read_text())
        results[name]["calls"] = len(calls.read_text())
    assert results["complete"]["calls"] > 256
    assert results["killed"].pop("calls") == 300 + results["complete"].pop("calls") - 288  # nine chunks of 32 were done
    for result in results.values():
        result["scorers"][0].pop("seconds")
    assert results["killed"] == results["complete"]
    for name in ("rows.jsonl", "table.md", "table.tex", "agreement.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "complete" / name).read_bytes()


def test_benchmark_command_prints_tables_and_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metric.py").write_text("def metric(reference, candidate):\n    return len(candidate)\n")
    write_rated_pairs(tmp_path / "rated.csv", make_pairs().rows)
    arguments = [f"--data={tmp_path / 'rated.csv'}", f"--output={tmp_path / 'out'}", "--bootstrap=20"]
    assert main(["benchmark", *arguments, "--scorers", f"{tmp_path / 'metric.py'}:metric"]) == 0
    printed = capsys.readouterr()
    assert "Agreement with raters: Errors" in printed.out
    assert "raters: 3, each against" in printed.out
    assert "400" not in printed.err
    assert "20 of 20 pairs" in printed.err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        *("page.html", "table.md", "table.tex", "agreement.csv", "results.json", "rows.jsonl", "scores.sqlite")
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scorers", "nobody", "--data=x.jsonl"], "nobody"),
        (["--scorers", "ratescore", "ratescore", "--data=x.jsonl"], "'ratescore' is listed twice"),
        (["--scorers", "ratescore"], "Expected --data or --preferences, or both"),
        (["--scorers", "ratescore", "--data=x.jsonl"], "x.jsonl: does not exist"),
        (["--scorers", "ratescore", "--data=x.jsonl", "--bootstrap=-1"], "--bootstrap: Expected a number >= 0"),
    ],
)
def test_benchmark_command_invalid_arguments_are_reported_before_scoring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["benchmark", f"--output={tmp_path / 'out'}", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_benchmark_command_refuses_pairs_that_nobody_rated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "pairs.csv"
    data.write_text("id,reference,candidate,Anne,Bela\n1,Clear lungs.,No edema.,5,4\n")
    arguments = [f"--data={data}", f"--output={tmp_path / 'out'}", "--scorers", "rouge-l"]
    assert main(["benchmark", *arguments]) == 2
    error = capsys.readouterr().err
    assert f"{data}: Expected `rating` or `errors` of some pair but found neither; the columns are id, " in error
    assert (
        "candidate, Anne, Bela. Name the column of the ratings `rating`, or with several raters one column each"
        in error
    )
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert main(["benchmark", *arguments, "--probes=1"]) == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "id,reference,candidate,score\n1,Clear lungs.,No edema.,5\n",
            "Expected `rating` or `errors` of some pair but found neither; the columns are id, reference, candidate, "
            "score. Name the column of the ratings `rating`, or with several raters one column each, such as "
            "`rating_Anne` and `rating_Bela`.",
        ),
        (
            'id,reference,candidate,rating\n1,Clear lungs.,No edema.,"{""Bela"": 5, ""Anne"": 4}"\n',
            "Expected judgements of rater 'anne' but got those of Anne, Bela. Give --rater one of these names, or omit "
            "it for the mean over all raters.",
        ),
        (
            "id,reference,candidate,rating\n1,Clear lungs.,No edema.,5\n",
            "Expected judgements of rater 'anne' but got judgements without a rater's name. Omit --rater, or write the "
            "ratings of each rater in a column, such as `rating_Anne`.",
        ),
    ],
    ids=["no ratings", "other raters", "no names"],
)
def test_benchmark_command_missing_rater_is_reported_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: str, message: str
) -> None:
    data = tmp_path / "pairs.csv"
    data.write_text(lines)
    arguments = [f"--data={data}", f"--output={tmp_path / 'out'}", "--scorers", "rouge-l", "--rater=anne"]
    assert main(["benchmark", *arguments]) == 2
    assert capsys.readouterr().err == f"radreward: {data}: {message}\n"
    assert not (tmp_path / "out").exists()
