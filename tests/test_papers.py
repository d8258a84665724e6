"""docs/papers.md: a row for every table and figure, and its commands run in small on made-up data of the layout."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.tuning import load_study_config
from tests.cli.test_fit_regressor import write_human_scores
from tests.meta_evaluation.test_hostile_sources import SOURCES
from tests.meta_evaluation.test_hostile_sources import write as write_source

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")
RESULTS = {
    "ER²Score": (range(1, 8), range(1, 4)),
    "RaTEScore": (range(1, 8), range(1, 5)),
    "Sentence evaluation": (ROMAN, range(1, 4)),
    "RadReason": (range(1, 3), ()),
    "GREEN": (range(1, 12), range(1, 7)),
}
"""Tables and figures of each paper; of RadReason, only a summary was available."""
COMMANDS = [(paper, command) for paper, text in SECTIONS.items() for command in re.findall(r"`([^`\n]+)`", text)]
LAYOUTS = {re.findall(r"--from (\S+)", command)[0] for _, command in COMMANDS if " --from " in command}
CHEAP = {"MODEL": "bleu-1", "green": "bleu-2", "ratescore": "bleu-3", "radreason": "chrf"}
"""Scorers in the place of slower ones."""


def numbers(text: str, word: str) -> set[str]:
    """Return the numbers of "Table 3", "Tables 1 and 2", "Tables 8 to 11" in a text."""
    found = set()
    for listed in re.findall(rf"{word}s? ([0-9IV]+(?:(?:, | and | to )[0-9IV]+)*)", text):
        for first, last in re.findall(r"([0-9IV]+)(?: to ([0-9IV]+))?", listed):
            order = ROMAN if first in ROMAN else [str(number) for number in range(20)]
            found |= set(order[order.index(first) : order.index(last or first) + 1])
    return found


@pytest.mark.parametrize("paper", RESULTS)
def test_every_table_and_figure_has_a_row(paper: str) -> None:
    rows = "\n".join(line for line in SECTIONS[paper].splitlines() if line.startswith("|"))
    tables, figures = RESULTS[paper]
    assert {str(number) for number in tables} <= numbers(rows, "Table")
    assert {str(number) for number in figures} <= numbers(rows, "Figure")


def test_files_in_commands_exist_and_studies_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    files = {file for _, command in COMMANDS for file in re.findall(r"experiments/[\w/.-]+", command)}
    assert len(files) > 20
    assert not [file for file in files if not (ROOT / file).is_file()]
    studies = {file for _, command in COMMANDS for file in re.findall(r"radreward tune --config (\S+)", command)}
    for study in studies:
        assert load_study_config(Path(study)).base.is_file(), study


def run(command: str, folder: Path) -> None:
    words = shlex.split(command.replace("FOLDER", str(folder)).replace("FILE", str(next(folder.glob("*.*")))))
    words = [CHEAP.get(word, word) for word in words]
    if words[1] == "benchmark":
        words = [word for word in words if word not in ("meteor", "cider", "bertscore", "bleu-4")]
        words += ["--bootstrap=20"]
    assert main(words[1:]) == 0, command


@pytest.mark.parametrize("layout", sorted(LAYOUTS - {"sentences", "sentence-eval"}))
def test_commands_about_a_published_layout_run_on_made_up_files(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "source"
    write_source(source, SOURCES[layout])
    [convert, *_] = [command for _, command in COMMANDS if f"--from {layout} " in command]
    run(convert, source)
    [output] = re.findall(r"--output (\S+)", convert)
    users = [text for _, text in COMMANDS if text.startswith("radreward benchmark") and f" {output} " in text]
    assert users
    for number, command in enumerate(users):
        run(re.sub(r"--output \S+", f"--output out-{number}", command), source)
        assert (tmp_path / f"out-{number}" / "table.md").is_file()


def test_commands_about_sentence_scores_run_on_made_up_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").mkdir()
    write_human_scores(tmp_path / "source" / "rated.csv", 20)
    (tmp_path / "search.yaml").write_text("decision-tree: [{max_depth: 3}]")
    chosen = [command for paper, command in COMMANDS if paper == "Sentence evaluation" and "human.jsonl" in command]
    chosen += [command for paper, command in COMMANDS if paper == "Sentence evaluation" and "rated.jsonl" in command]
    commands = list(dict.fromkeys(command for command in chosen if command.startswith("radreward")))
    assert [command.split()[1] for command in commands] == [
        *("convert", "judge-sentences", "fit-regressor", "convert", "fit-regressor", "benchmark")
    ]
    for command in commands:
        run(command + " --search search.yaml" * command.startswith("radreward fit-regressor"), tmp_path / "source")
    results = json.loads((tmp_path / "runs" / "figure2" / "results.json").read_text(encoding="utf-8"))
    taus = {row["scorer"]: row["tau_b"]["value"] for row in results["agreement"] if row["scope"] == "pooled"}
    assert set(taus) == {"runs/judge/held_out.jsonl:regressed", "rouge-l"}
