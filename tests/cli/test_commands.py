"""Commands from end to end on small data, and their error messages."""

import json
import re
from collections import defaultdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from jsonargparse import ArgumentParser
from scipy.stats import kendalltau

import radreward
from radreward.cli import main
from radreward.cli.parser import COMMANDS
from radreward.cli.signature import add_signature
from radreward.criteria import RadCliQCriteria, finding_quality
from radreward.data.records import read_groups, write_groups
from radreward.data.split import is_held_out
from radreward.synthesis import synthesize_files

FILES = {"--input", "--output", "--data"}
"""Options whose help describes the content of a file."""


def test_evaluate_reproduces_the_metrics_of_fit(trained: Path, tmp_path: Path) -> None:
    groups = read_groups(trained.parent / "groups.jsonl")
    write_groups(tmp_path / "held.jsonl", (group for group in groups if is_held_out(group.reference, 0.3)))
    output = tmp_path / "metrics.json"
    command = ["evaluate", "--scorer", str(trained), "--data", str(tmp_path / "held.jsonl"), "--output", str(output)]
    assert main(command) == 0
    found, measured = json.loads(output.read_text()), json.loads((trained / "metrics.json").read_text())
    assert found["candidates"] == measured["candidates"]
    assert not any("trained" in note for note in found["notes"])  # the file is another one
    assert list(found["agreement"])[-2:] == ["errors", "total"]
    for name in ("tau_b", "spearman", "pair_accuracy"):
        # The rewards of 18 candidates differ by little more than their rounding in scores, so that some of them tie.
        assert found["agreement"]["total"][name] == pytest.approx(measured["agreement"]["total"][name], abs=0.05)


def test_evaluate_on_the_training_file_prints_a_note(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = trained.parent / "groups.jsonl"
    for scorer in (trained, trained / "model"):
        assert main(["evaluate", f"--scorer={scorer}", f"--data={data}"]) == 0
        assert f"{data}: the model was trained or validated on this file." in capsys.readouterr().out.replace("\n", " ")


def test_evaluate_of_a_scorer_without_criteria_requires_and_uses_the_given_criteria(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, metrics = synthesize_files(tmp_path, RadCliQCriteria(), 4), tmp_path / "metrics.json"
    command = ["evaluate", "--scorer=ratescore", f"--data={path}", f"--output={metrics}"]
    assert main(command) == 2
    assert (
        "--criteria: Expected the criteria of the errors, which ratescore does not define, but got none."
        in capsys.readouterr().err
    )
    assert main([*command, "--criteria=radcliq"]) == 0
    known = [(g.reference, c.text, c.errors or {}, c.finding_weights) for g in read_groups(path) for c in g.candidates]
    references, candidates, errors, findings = zip(*known, strict=True)
    scores = radreward.load("ratescore").score(references, candidates)
    found = json.loads(metrics.read_text())["agreement"]
    assert list(found) == ["quality", "total"]
    assert scores.quality is not None
    for name, values, target in (
        ("total", scores.total, [-sum(counts.values()) for counts in errors]),
        ("quality", scores.quality, [finding_quality(*weights) for weights in findings]),
    ):
        assert found[name]["tau_b"] == pytest.approx(kendalltau(values, target).statistic, abs=1e-5)


def test_evaluate_rejects_criteria_other_than_those_of_the_model(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = f"--data={trained.parent / 'groups.jsonl'}"
    assert main(["evaluate", f"--scorer={trained}", data, "--criteria=mrscore"]) == 2
    assert "Expected radcliq, the criteria of" in capsys.readouterr().err


def test_score_writes_every_row_and_returns_1_if_one_was_rejected(trained: Path, tmp_path: Path) -> None:
    rows = [{"id": "a", "reference": "lamp", "candidate": "stair"}, {"id": "b", "reference": "lamp", "candidate": ""}]
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", "--scorers", str(trained), "--input", str(source), "--output", str(output)]
    assert main(command) == 1
    first, second = [json.loads(line) for line in output.read_text().splitlines()]
    assert first["status"] == "ok"
    assert isinstance(first["total"], float)
    assert (second["id"], second["status"], second["total"]) == ("b", "empty candidate", None)
    source.write_text(json.dumps(rows[0]) + "\n")
    assert main(command) == 0


def test_existing_output_is_reported_before_it_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text(json.dumps({"id": "a", "reference": "lamp", "candidate": "stair"}) + "\n")
    score = ["score", f"--input={source}", f"--output={output}", "--scorers"]
    synthesize = ["synthesize", "--groups=2", f"--output={tmp_path / 'data'}"]
    for first, second, path in (
        ([*score, "bleu-1"], [*score, "bleu-2"], output),
        (synthesize, [*synthesize, "--seed=1"], tmp_path / "data" / "groups.parquet"),
    ):
        message = f"This run will replace {path}.\n"
        assert main(first) == 0
        assert message not in capsys.readouterr().err
        assert main(second) == 0
        assert capsys.readouterr().err.count(message) == 1
    (tmp_path / "scores.jsonl.parts").mkdir()  # of an interrupted run, or of the user: the run decides
    assert main([*score, "bleu-1"]) == 2
    assert "replace" not in capsys.readouterr().err


def test_convert_of_a_missing_source_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "nothere"
    assert main(["convert", "--from=groups", f"--input={absent}", f"--output={tmp_path / 'a.jsonl'}"]) == 2
    assert (
        capsys.readouterr().err
        == f"radreward: {absent}: Expected an existing file or folder but there is none at this path.\n"
    )


def test_evaluate_names_skipped_candidates(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = read_groups(trained.parent / "groups.jsonl")
    long = first.candidates[1]._replace(text="lamp " * 200)
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    write_groups(some, [first._replace(candidates=(first.candidates[0], long)), second])
    write_groups(none, [first._replace(candidates=(long,))])
    for path, code, message in (
        (some, 1, "Skipped: 1 of 5 candidates; the first is group '0', candidate 2: over the limit: "),
        (
            none,
            2,
            f"radreward: {none}: Expected at least one candidate that can be scored but got none; the first is group",
        ),
    ):
        assert main(["evaluate", f"--scorer={trained}", f"--data={path}"]) == code
        error = capsys.readouterr().err
        *progress, last = error.splitlines()
        assert last.startswith(message)
        assert all(line.startswith("Scoring with ") for line in progress)


def test_evaluate_checks_its_output_before_scoring(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", f"--scorer={trained}", f"--data={trained.parent / 'groups.jsonl'}"]
    assert main([*command, f"--output={tmp_path / 'new' / 'metrics.json'}"]) == 0
    assert (tmp_path / "new" / "metrics.json").is_file()
    (tmp_path / "file").touch()
    capsys.readouterr()
    for output, message in ((tmp_path, "it is a folder"), (tmp_path / "file" / "a.json", "cannot be written")):
        assert main([*command, f"--output={output}", "--scorer=absent"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"radreward: {output}: ")
        assert message in error


@pytest.mark.parametrize(("granularity", "is_noted"), [("report", True), ("statement", False)])
def test_synthesize_notes_missing_tiers_of_reports_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], granularity: str, is_noted: bool
) -> None:
    command = ["synthesize", "--groups=6", f"--granularity={granularity}", f"--output={tmp_path / 'd'}"]
    assert main(command) == 0
    assert ("too short for every tier" in capsys.readouterr().out) is is_noted


def test_experiments_prints_where_the_files_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "copy"
    assert main(["experiments", f"--output={output}"]) == 0
    number = sum(path.is_file() for path in output.rglob("*"))
    assert capsys.readouterr().out.splitlines()[-1] == f"Copied {number} files to {output}"


def test_synthesize_writes_readable_groups(tmp_path: Path) -> None:
    command = ["synthesize", "--criteria", "radcliq", "--groups", "3", "--seed", "1", "--output", str(tmp_path / "d")]
    assert main(command) == 0
    assert len(list(read_groups(tmp_path / "d" / "groups.parquet", RadCliQCriteria()))) == 3


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("score --input absent.jsonl --output out.jsonl --scorers absent", "absent"),
        ("score --output out.jsonl", "Expected the option --input but got none. See `radreward score --help`."),
        ("score", "Expected the options --input and --output but got neither."),
        ("compare", "Expected the argument PATH but got none. See `radreward compare --help`."),
        ("score --input a --output b --mod ratescore", "Expected a known option but got --mod."),
        ("score --input a --output b --precision fp8", "--precision: Expected one of fp32, bf16 but got fp8."),
        ("scor", "Expected a command but got 'scor'. Did you mean score?"),
        ("paint", "`radreward --help` lists them."),
        ("evaluate --data there.jsonl --scorer nothing", "nothing"),
        ("synthesize --criteria radclik --output d", "radclik"),
        ("synthesize --groups many --output d", "--groups: Expected an int but got many."),
        ("synthesize --groups 1 --output file", "radreward: file: Expected a folder to write into"),
    ],
)
def test_wrong_command_prints_one_line(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "there.jsonl").touch()
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1, error


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
@pytest.mark.parametrize("width", [60, 200])
def test_help_lists_every_command_within_the_terminal(
    arguments: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    entries = re.findall(r"^  (\S+) +(.*(?:\n {20}.*)*)", text, re.MULTILINE)
    assert [name for name, _ in entries] == list(COMMANDS)
    assert all(summary.endswith(".") for _, summary in entries)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_fits_the_terminal_and_shows_no_types(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: radreward {name} ")
    assert max(map(len, text.splitlines())) <= 60
    assert not any(word in text for word in ("default: null", "<class", "type:", "Linked arguments", ":class:", "``"))
    if name != "fit":  # texts of Lightning's settings name the value
        assert "None" not in text


def test_help_of_a_command_names_its_required_options_and_long_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(
        "usage: radreward convert --input PATH [PATH ...] --from NAME --output PATH [options] Convert"
    )
    assert "--from NAME Layout of the input: rexval, rate-eval-sentences," in text


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"radreward {version('radreward')}\n"


def test_option_has_the_same_name_type_and_help_in_every_command() -> None:
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for command in COMMANDS:
        if command == "fit":
            continue
        parser = ArgumentParser()
        add_signature(parser, import_module(f"radreward.cli.{command.replace('-', '_')}").run)
        for action in parser._actions:
            for name in action.option_strings[:1]:
                found["type"][name].add(str(getattr(action, "_typehint", None) or action.type))
                if name not in FILES:
                    found["help"][name].add(str(action.help).split(";")[0])
    for property_, names in found.items():
        differing = {name: values for name, values in names.items() if len(values) > 1}
        # fit-regressor reads a file of sentence scores, benchmark columns of files.
        assert differing.keys() <= {"--scores"}, (property_, differing)
    assert not [name for name in found["type"] if "_" in name]
