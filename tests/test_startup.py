"""Commands import only what they need; measured by module in new processes, never by time."""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from radreward.cli import main

MODEL = {"torch", "transformers"}
TRAINING = {"bitsandbytes", "lightning", "optuna", "peft", "sklearn", "tensorboard"}
TABLES = {"datasets", "matplotlib", "pandas"}
RULES = {"radreward.text.sentence_parser"}
ROOT = Path(__file__).parents[1]
CODE = """
import json, sys
from radreward.cli import main
watched, commands = json.loads(sys.argv[1])
results = []
for command in commands:
    try:
        code = main(command)
    except SystemExit as end:  # raised by --help
        code = end.code
    results.append([code, sorted(set(watched) & set(sys.modules))])
print("\\n" + json.dumps(results))
"""


def _imported(watched: set[str], *commands: tuple[str, ...]) -> list[tuple[int, set[str]]]:
    """Return the exit codes of commands in one process, and the watched modules that were imported until each ended."""
    command = [sys.executable, "-c", CODE, json.dumps([sorted(watched), commands])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [(code, set(modules)) for code, modules in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    row = {"id": "a", "reference": "Clear lungs.", "candidate": "Left effusion.", "errors": {}}
    path.write_text(json.dumps(row) + "\n")
    return path


def test_help_imports_nothing_heavy() -> None:
    commands = [(*name, "--help") for name in ((), ("score",), ("evaluate",), ("synthesize",), ("summarize",))]
    watched = MODEL | TRAINING | TABLES | {"numpy", "pyarrow"}
    assert _imported(watched, *commands) == [(0, set())] * 5


def test_missing_file_is_reported_before_heavy_imports() -> None:
    commands = [
        ("evaluate", "--data=nowhere.jsonl"),
        ("score", "--input=nowhere.csv", "--output=a.csv"),
        ("benchmark", "--data=nowhere.jsonl", "--scorers=ratescore", "--output=out"),
    ]
    synthesize = ("synthesize", "--output=data", "--reports=nowhere.csv")  # last: it may import the rules
    *others, (code, modules) = _imported(MODEL | TRAINING | TABLES | RULES, *commands, synthesize)
    assert others == [(2, set())] * 3
    assert (code, modules - RULES) == (2, set())


def test_missing_model_is_reported_before_heavy_imports(pairs: Path) -> None:
    score = ("score", "--scorers=nobody", f"--input={pairs}", f"--output={pairs.with_name('a.csv')}")
    evaluate = ("evaluate", "--scorer=nobody", f"--data={pairs}")
    assert _imported(MODEL | TRAINING | TABLES | RULES, score, evaluate) == [(2, set())] * 2


def test_data_commands_import_no_model(tmp_path: Path) -> None:
    watched = MODEL | TRAINING | TABLES - {"pandas"}  # pyarrow imports it if installed
    command = ("synthesize", "--groups=2", f"--output={tmp_path / 'data'}")
    assert _imported(watched, command) == [(0, set())]


def test_embedded_models_and_offline_metrics_score_without_transformers_or_training_code(
    pairs: Path, tmp_path: Path
) -> None:
    watched = (
        TRAINING | TABLES | MODEL | {"scipy", "sympy", "torch._dynamo", "torch.distributed.tensor", "torchmetrics"}
    )
    scorers = "--scorers", "er2score", "ratescore", "sentence-eval", "bleu-4", "chexpert-f1"
    files = f"--input={pairs}", f"--output={tmp_path / 'scores.csv'}"
    assert _imported(watched, ("score", *scorers, *files)) == [(0, {"torch"})]


VARIABLES = ("OMP_WAIT_POLICY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
# Prints the variables when torch is about to be imported, which is when OpenMP reads its own, and ends there.
STOP_AT_TORCH = f"""
import os, runpy, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch":
            print(*(os.environ.get(name) for name in {VARIABLES}), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Finder)
sys.path.insert(0, "")
"""
DEMO = "runpy.run_path('experiments/demo.py', run_name='__main__')"
SCORE = "from radreward.cli import main; main(['score', '--scorers=er2score', '--input=a.csv', '--output=b.csv'])"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "PASSIVE 64 64"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE 64 64"),
        ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "9"}, "PASSIVE 9 64"),
        ({"LRU_CACHE_CAPACITY": "9"}, "PASSIVE 64 9"),
    ],
)
@pytest.mark.parametrize("program", [SCORE, DEMO])
def test_variables_of_torch_are_set_unless_given(
    program: str, given: dict[str, str], expected: str, pairs: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | given
    code = STOP_AT_TORCH + program.replace("a.csv", str(pairs))
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.stdout.splitlines() == [expected]


def test_command_looks_for_garbage_rarely_and_leaves_the_settings_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, int]] = []

    def run_command(arguments: list[str]) -> int:
        seen.append(gc.get_threshold())
        return len(arguments) - 1

    monkeypatch.setattr("radreward.cli.parser.run_command", run_command)
    before = gc.get_threshold()
    try:
        for first in (700, 50_000, 0):  # 0 turns the collection off
            gc.set_threshold(first, 7, 8)
            assert main(["list"]) == 0
            assert gc.get_threshold() == (first, 7, 8)
    finally:
        gc.set_threshold(*before)
    assert seen == [(10_000, 7, 8), (50_000, 7, 8), (0, 7, 8)]
