"""docs/papers.md: a row for every table and figure; a test runs, steps or builds the command of every row."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.criteria import load_criteria
from radreward.synthesis import synthesize_files
from radreward.tuning import load_study_config
from tests import test_experiments, test_full_size_experiments, test_green_studies, test_ratescore_studies
from tests.cli.test_fit_regressor import write_human_scores
from tests.meta_evaluation.test_hostile_sources import SOURCES
from tests.meta_evaluation.test_hostile_sources import write as write_source
from tests.modules import test_grpo_experiments, test_sft
from tests.systems.ratescore import test_module as affinity

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
ROWS = [
    (paper, *re.findall(r"(?<=\| ).+?(?= \|)", line)[-2:])
    for paper, text in SECTIONS.items()
    for line in re.findall(r"^\| (?!experiment|---).*", text, re.MULTILINE)
]
"""Paper, commands and state of each row."""
COMMANDS = [(paper, command) for paper, cell, _ in ROWS for command in re.findall(r"`([^`\n]+)`", cell)]
CONFIG = re.compile(r"radreward (fit|tune) --config (\S+)")
LAYOUTS = {re.findall(r"--from (\S+)", command)[0] for _, command in COMMANDS if " --from " in command}
CHEAP = {"MODEL": "bleu-1", "green": "bleu-2", "ratescore": "bleu-3", "radreason": "chrf"}
"""Scorers in the place of slower ones."""
STEPPED = {
    *(path.relative_to(ROOT) for path in (*test_full_size_experiments.FULL_SIZE, *test_experiments.RUNS)),
    *(Path("experiments/radreason", f"{name}.yaml") for name in test_grpo_experiments.RUNS),
    *(path.relative_to(ROOT) for path in (affinity.CONFIG, affinity.CONFIG.with_name("affinity-tpe.yaml"))),
    test_green_studies.STUDY,
}
"""Files with which a test takes a training step."""
BUILT = {
    *(path.relative_to(ROOT) for path in (*test_experiments.STUDIES, *test_sft.RUNS)),
    *(Path("experiments/radreason", f"{name}.yaml") for name in test_grpo_experiments.STUDIES),
    *(Path("experiments/ratescore", f"{name}.yaml") for name in test_ratescore_studies.STUDIES),
}
"""Files that a test builds, all variants of studies included."""
TESTS = {
    "experiments/ratescore/tagger.yaml": "systems/ratescore/taggers/test_module.py::test_settings_of_the_embedded",
    "experiments/sentence_eval/judge.yaml": "systems/sentence_eval/test_module.py::test_exporter_accepts_the_shipped",
    "experiments/green/backbones.yaml": "modules/test_language_model.py::test_backbones_of_green_build",
    "experiments.er2score.train": "test_er2score_training.py::test_interrupted_training_goes_on",
    "experiments/ratescore/compare_fits.py": "systems/ratescore/test_module.py::test_study_searches_w_and_p",
    "experiments/sentence_eval/compare_judges.py": "cli/test_fit_regressor.py::test_human_sentences_are_judged",
    "experiments.radreason.ablation": "experiments/radreason/test_ablation.py::test_small_ablation_makes_everything",
    "experiments.rexrank": "experiments/test_rexrank.py::test_command_writes_the_leaderboard_row",
    "--judge chat": "cli/llm/test_judge_sentences.py::test_judge_sentences_repeated_run",
    "--refine": "cli/llm/test_judge_sentences.py::test_refine_corrects_reports",
    "--llm-task analysis": "cli/llm/test_synthesize_llm.py::test_analysis_and_reasoning_write_every_pair",
    "--candidates pairings": "synthesis/test_green_pairings.py::test_outputs_of_a_generator",
    "fit-regressor --data": "cli/test_fit_regressor.py::test_fit_regressor_saves_a_scorer",
    "green:StanfordAIMI/": "scorers/test_generative.py::test_published_weights_are_loaded_by_name",
    "radeval:bleu": "scorers/test_radeval.py::test_standin_score_command",
}
"""Part of a command → test that executes it, by the start of its name."""


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


def files_of(cell: str) -> list[Path]:
    """Return the configurations that a cell names, those named after it by their file name or its end included."""
    found: list[Path] = []
    for text in re.findall(r"`([^`\n]+)`", cell):
        if config := CONFIG.search(text):
            found.append(Path(config[2]))
        elif found and re.fullmatch(r"\w+\.yaml", text):
            found.append(found[-1].with_name(text))
        elif found and re.fullmatch(r"-\w+", text):
            found.append(found[0].with_stem(found[0].stem + text))
    return found


CONFIGS = [(path, state) for _, cell, state in ROWS for path in files_of(cell)]


@pytest.mark.parametrize(("path", "state"), CONFIGS, ids=[path.stem for path, _ in CONFIGS])
def test_configuration_of_a_row_is_tested_by_its_state(path: Path, state: str) -> None:
    assert state.startswith(("built", "stepped", "trained"))
    tested = STEPPED if state.startswith("stepped") else STEPPED | BUILT | {Path(name) for name in TESTS}
    assert path in tested, f"{path}: no test does what its row says: {state}"


@pytest.mark.parametrize(("part", "test"), TESTS.items())
def test_test_that_executes_a_command_names_it(part: str, test: str) -> None:
    assert any(part in command for _, command in COMMANDS), f"{part}: in no row"
    file, _, name = test.partition("::")
    code = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name}" in code
    script = re.split(r"[/.]", part)[-2 if "/" in part else -1]
    option = re.split(r"[ :]", part)[-1].removeprefix("--")
    assert script in code or option in code, f"{test} does not name {part}"


@pytest.mark.parametrize(
    "command", dict.fromkeys(text for _, text in COMMANDS if text.startswith(("radreward", "python")))
)
def test_every_command_is_executed_by_a_test(command: str) -> None:
    """Commands with a configuration are tested above, those about a layout below."""
    inputs = re.findall(r"(?<=--output )\S+", " ".join(text for _, text in COMMANDS if " --from " in text))
    executed = (
        CONFIG.match(command)
        or any(part in command for part in TESTS)
        or any(command.startswith(start) for start in HERE)
        or " --from " in command
        or any(name in command for name in (*inputs, "judged.jsonl"))
    )
    assert executed, f"{command}: executed by no test"


HERE = {
    "radreward score --scorers MODEL": "",
    "radreward score --scorers temporal-f1": "",
    "radreward score --scorers radreason": "--input=pairs.jsonl --output=reasons.jsonl",
    "radreward score --scorers green": "--input=pairs.jsonl --output=green.jsonl",
    "radreward summarize": "--input=green.jsonl --output=summary",
    "radreward synthesize --candidates balanced": "--groups=3",
    "radreward evaluate": "",
    "radreward synthesize --criteria FILE": "--groups=6 --output=own",
    "radreward fit --criteria FILE": "--data.records=own/groups.parquet --data.val_split=0.4 --run-dir=run "
    "--data.collator.max_length=4096 --model.backbone.name=tiny-bert --trainer.max_steps=1 --trainer.accelerator=cpu "
    "--trainer.logger=false",
}
"""Start of each command that the next test executes, in this order → the options that it adds."""


def test_commands_about_pairs_and_groups_run_in_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"id": "1", "reference": "Worsening left effusion.", "candidate": "Stable left effusion. Edema."}
    Path("pairs.jsonl").write_text(json.dumps(row) + "\n")
    synthesize_files(Path("known"), load_criteria("radcliq-significance"), 4, per_reference=2)  # as er2score counts
    errors = [{"name": name, "description": "Known to synthesis."} for name in ("omission", "false prediction")]
    Path("own.yaml").write_text(json.dumps({"name": "own", "criteria": errors}))
    values = {"MODEL": "er2score", "GROUPS": "known/groups.parquet", "FILE": "own.yaml"}
    for start, options in HERE.items():
        [command, *_] = [
            text for _, text in COMMANDS if text.startswith(start) and not any(part in text for part in TESTS)
        ]
        words = [values.get(word, word) for word in shlex.split(f"{command} {options}")]
        assert main(words[1:]) == 0, command


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
