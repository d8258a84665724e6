"""Commands from end to end in small, and every way in which input can be wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import kendalltau

import radreward
from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups, write_groups
from radreward.data.split import is_held_out
from radreward.synthesis import synthesize_files


def test_evaluate_agrees_with_what_fit_measured(trained: Path, tmp_path: Path) -> None:
    groups = read_groups(trained.parent / "groups.jsonl")
    write_groups(tmp_path / "held.jsonl", (group for group in groups if is_held_out(group.reference, 0.3)))
    output = tmp_path / "figures.json"
    command = ["evaluate", "--model", str(trained), "--data", str(tmp_path / "held.jsonl"), "--output", str(output)]
    assert main(command) == 0
    found, measured = json.loads(output.read_text()), json.loads((trained / "metrics.json").read_text())
    assert found["candidates"] == measured["candidates"]
    for name in ("tau_b", "spearman", "pair_accuracy"):
        assert found["agreement"]["total"][name] == pytest.approx(measured["agreement"]["total"][name], abs=1e-3)


def test_evaluate_of_a_scorer_without_criteria_judges_totals_by_the_criteria_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, figures = synthesize_files(tmp_path, RadCliQCriteria(), 4), tmp_path / "figures.json"
    command = ["evaluate", "--model=ratescore", f"--data={path}", f"--output={figures}"]
    assert main(command) == 2
    assert "--criteria: Expected by what errors are stated" in capsys.readouterr().err
    assert main([*command, "--criteria=radcliq"]) == 0
    known = [(g.reference, c.text, sum((c.errors or {}).values())) for g in read_groups(path) for c in g.candidates]
    references, candidates, errors = zip(*known, strict=True)
    totals = radreward.load("ratescore").score(references, candidates).total
    found = json.loads(figures.read_text())["agreement"]
    expected = kendalltau(totals.numpy(), [-number for number in errors]).statistic
    assert found == {"total": {**found["total"], "tau_b": pytest.approx(expected, abs=1e-5)}}


def test_criteria_that_are_not_the_models_are_refused(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = f"--data={trained.parent / 'groups.jsonl'}"
    assert main(["evaluate", f"--model={trained}", data, "--criteria=mrscore"]) == 2
    assert "judges by radcliq, not by mrscore" in capsys.readouterr().err


def test_score_writes_every_row_and_ends_with_1_where_one_was_rejected(trained: Path, tmp_path: Path) -> None:
    rows = [{"id": "a", "reference": "lamp", "candidate": "stair"}, {"id": "b", "reference": "lamp", "candidate": ""}]
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", "--model", str(trained), "--input", str(source), "--output", str(output)]
    assert main(command) == 1
    first, second = [json.loads(line) for line in output.read_text().splitlines()]
    assert first["status"] == "ok"
    assert isinstance(first["total"], float)
    assert (second["id"], second["status"], second["total"]) == ("b", "empty candidate", None)
    source.write_text(json.dumps(rows[0]) + "\n")
    assert main(command) == 0


def test_an_older_output_is_named_before_it_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text(json.dumps({"id": "a", "reference": "lamp", "candidate": "stair"}) + "\n")
    score = ["score", f"--input={source}", f"--output={output}", "--model"]
    synthesize = ["synthesize", "--groups=2", f"--output={tmp_path / 'data'}"]
    for first, second, path in (
        ([*score, "bleu-1"], [*score, "bleu-2"], output),
        (synthesize, [*synthesize, "--seed=1"], tmp_path / "data" / "groups.parquet"),
    ):
        told = f"Will be replaced by this run: {path}\n"
        assert main(first) == 0
        assert told not in capsys.readouterr().err
        assert main(second) == 0
        assert capsys.readouterr().err.count(told) == 1
    (tmp_path / "scores.jsonl.parts").mkdir()  # a run that was killed goes on
    assert main([*score, "bleu-1"]) == 0
    assert "replaced" not in capsys.readouterr().err


def test_a_published_layout_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "nothere"
    assert main(["convert", "--from=groups", str(absent), f"--output={tmp_path / 'a.jsonl'}"]) == 2
    assert capsys.readouterr().err == f"radreward: {absent}: Expected a published file or folder but there is none.\n"


def test_evaluate_names_what_it_leaves_out(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = read_groups(trained.parent / "groups.jsonl")
    long = first.candidates[1]._replace(text="lamp " * 200)
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    write_groups(some, [first._replace(candidates=(first.candidates[0], long)), second])
    write_groups(none, [first._replace(candidates=(long,))])
    for path, code, told in (
        (some, 1, "Not scored and left out: 1 of 5 candidates; first group '0', candidate 2: over the limit: "),
        (none, 2, f"radreward: {none}: Expected candidates that can be scored but there is none; the first is group"),
    ):
        assert main(["evaluate", f"--model={trained}", f"--data={path}"]) == code
        error = capsys.readouterr().err
        assert error.startswith(told)
        assert error.count("\n") == 1


def test_figures_are_written_into_a_new_folder_or_refused_before_scoring(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", f"--model={trained}", f"--data={trained.parent / 'groups.jsonl'}"]
    assert main([*command, f"--output={tmp_path / 'new' / 'figures.json'}"]) == 0
    assert (tmp_path / "new" / "figures.json").is_file()
    (tmp_path / "file").touch()
    capsys.readouterr()
    for output, told in ((tmp_path, "it is a folder"), (tmp_path / "file" / "a.json", "cannot be written")):
        assert main([*command, f"--output={output}", "--model=absent"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"radreward: {output}: ")
        assert told in error


def test_synthesize_writes_groups_that_fit_can_read(tmp_path: Path) -> None:
    command = ["synthesize", "--criteria", "radcliq", "--groups", "3", "--seed", "1", "--output", str(tmp_path / "d")]
    assert main(command) == 0
    assert len(list(read_groups(tmp_path / "d" / "groups.parquet", RadCliQCriteria()))) == 3


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("score --input absent.jsonl --output out.jsonl --model absent", "absent"),
        ("score --output out.jsonl", "--input"),
        ("scor", "scor"),
        ("evaluate --data there.jsonl --model nothing", "nothing"),
        ("synthesize --criteria radclik --output d", "radclik"),
        ("synthesize --groups many --output d", "many"),
        ("synthesize --groups 1 --output file", "radreward: file: cannot be "),
    ],
)
def test_bad_commands_are_told_in_one_line(
    command: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "there.jsonl").touch()
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1, error


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom radreward.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert 'torch' not in sys.modules and 'lightning' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in shown.stdout for name in ("fit", "evaluate", "score", "synthesize"))
