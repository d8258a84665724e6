"""A wheel, unpacked in an empty folder, is complete: it runs without the repository."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the content of a wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("needs a git checkout, to build from the files of the project only")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(source)], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


RUN = """
import json, sys
from radreward.cli import main
for command in json.loads(sys.argv[1]):
    if main(command):
        sys.exit(1)
"""


def run(installed: Path, folder: Path, *commands: list[str]) -> str:
    """Run commands in a folder, one after the other in a process that has the wheel only."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-P", "-c", RUN, json.dumps(commands)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_holds_the_package_and_no_tests(installed: Path) -> None:
    names = {path.name for path in installed.iterdir()}
    assert names == {"radreward", next(name for name in names if name.endswith(".dist-info"))}
    shipped = {str(path.relative_to(ROOT / "radreward")) for path in (ROOT / "radreward").rglob("*.safetensors")}
    assert shipped
    assert all((installed / "radreward" / name).is_file() for name in shipped)


def test_description_of_the_wheel_has_no_relative_link(installed: Path) -> None:
    [metadata] = installed.glob("*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    assert "Description-Content-Type: text/markdown" in text
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []
    named = re.findall(r" \(`([^`]+)`\)", text)
    assert "docs/score.md" in named
    assert all((ROOT / name).exists() for name in named)


def test_wheel_runs_the_main_job_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("id,reference,candidate\n1,Left effusion.,Clear lungs.\n")
    synthesize = ["synthesize", "--granularity", "statement", "--groups", "12", "--output", "runs/data"]
    steps = ["--trainer.max_steps=1", "--trainer.val_check_interval=1", "--data.batch_size=2", "--data.val_split=0.3"]
    data = ["--data.records", "runs/data/groups.parquet", "--run-dir", "runs/model"]
    fit = ["fit", "--config", "experiments/ablations/base_small.yaml", *data, *steps]
    score = ["score", "--scorers", "runs/model", "--input", "pairs.csv", "--output", "scores.csv"]
    printed = run(installed, tmp_path, ["experiments"], synthesize, fit, score)
    assert printed.splitlines()[0].endswith(" to experiments")
    assert (tmp_path / "scores.csv").read_text().splitlines()[1].startswith("1,")
    expected = {
        path.relative_to(ROOT) for path in (ROOT / "experiments").rglob("*") if path.suffix in (".yaml", ".py", ".md")
    }
    assert all((tmp_path / path).read_bytes() == (ROOT / path).read_bytes() for path in expected)
    script = [sys.executable, "-m", "experiments.ratescore.sentences", "--train=2", "--test=1", "--output=entities"]
    subprocess.run(script, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)}, check=True)
    assert len((tmp_path / "entities" / "train.jsonl").read_text().splitlines()) == 2


def test_lowest_constraints_are_the_lower_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tested = ("report", "train", "serve", "lexical", "llm", "testing")
    extras = (bound for extra in tested for bound in project["optional-dependencies"][extra])
    declared = (bound for bound in (*project["dependencies"], *extras) if not bound.startswith("radreward["))
    bounds = [re.sub(r"\[.*?\]", "", bound).replace(">=", "==") for bound in declared]
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == bounds


def test_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_workflow_runs_targets_of_the_makefile() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    made = [command.removeprefix("make ") for command in commands if command.startswith("make ")]
    assert made == ["check", "test", "lowest", "release-check"]
    assert set(made) <= targets


def test_experiments_existing_folder_is_refused(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    with pytest.raises(AssertionError, match="experiments: Expected a new folder but it exists"):
        run(installed, tmp_path, ["experiments"])
