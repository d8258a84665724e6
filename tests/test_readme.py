"""Every command and snippet of the README files and the guides in docs/ runs as typed, on less data."""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import yaml

from benchmarks.__main__ import benchmark_names as names
from radreward.cli import main
from radreward.cli.parser import parse_options
from radreward.criteria import load_criteria
from radreward.meta_evaluation.converters.rating_key import write_key
from radreward.serving.rating.cases import read_cases
from tests.serving.rating.exported_files import write_export

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
MKDOCS = ROOT / "mkdocs.yml"
SYSTEMS = sorted((ROOT / "radreward" / "systems").glob("*/README.md"))
GUIDES = (README, *(ROOT / "docs" / name for name in re.findall(r"- (\S+\.md)$", MKDOCS.read_text(), re.MULTILINE)))
"""The README, then the pages of the site in their order; later pages use files of earlier ones."""
EXPERIMENTS = (ROOT / "experiments" / "README.md",)
FIT = (
    *("--trainer.max_steps=1", "--trainer.val_check_interval=1", "--data.batch_size=2", "--data.val_split=0.3"),
    "--trainer.precision=32-true",  # many CPUs compute bf16 in software, which takes several times as long
)
TINY = ("model.backbone.name=tiny-bert", "model.backbone.lora.targets=auto", "data.collator.max_length=4096")
SMALL = {
    "synthesize": ("--groups=12", "--per-reference=2"),
    "30000": ("--groups=20", "--reports=my.csv"),  # short reports; fit-regressor needs 15 references
    "40": ("--groups=5",),  # all scorers of `benchmark` read them
    "fit": (*FIT, "--trainer.enable_progress_bar=false", "--trainer.logger=false"),
    "benchmark": ("--bootstrap=100",),
    "--probes": ("--probes=1",),
    "fit-regressor": ("--search=search.yaml",),
    "tune": (*(entry.removeprefix("--") for entry in FIT), *TINY, "trainer.logger=false"),
    "experiments/radreason/sft.yaml": ("--data.batch_size=8", "--model.max_decoded=1"),  # few answers to decode
    # cross-validation needs references
    "experiments/ratescore/affinity.yaml": (
        "--trainer.max_steps=-1",
        "--data.batch_size=64",
        "--model.n_folds=2",
        "--model.bootstrap_samples=2",
    ),
    "experiments/studies/margin.yaml": ("--trials=2",),  # the others try every combination
    "experiments.er2score.train": ("--trial", "--output=runs/er2score-full"),
    "experiments.er2score.calibrate": ("--groups=4", "--graded=2"),
    "experiments.probes.details": ("--scorers", "entity-f1"),
    "experiments.probes.order": ("--scorers", "chexpert-f1", "rouge-l"),
    "experiments.everyday.measure": ("--scorers", "rouge-l"),
    "experiments.finding_classifier.fit": ("--per-kind=2", "--every=200", "--steps=2"),
    "experiments.finding_classifier.recognition": ("--every=200", "--steps=2"),
    "experiments.openi.groups": ("--groups=60",),
    "experiments.openi.recognition": ("--groups=10",),
    "experiments.ratescore.encoder": ("--sentences=60", "--reports=6", "--names=60", "--steps=5"),
    "experiments.ratescore.rate_eval": ("--triads=60",),
    "experiments.ratescore.sentences": ("--train=500", "--test=50"),
}
SHORTENED = ("everyday", "probes", "ranking_tests", "reading")
"""Folders of experiments of whose files a sixth of the rows remains."""


def on_less_data(arguments: list[str]) -> list[str]:
    return [*arguments, *(entry for word in arguments for entry in SMALL.get(word, ()))]


def run(command: list[str], folder: Path, log: Path) -> None:
    """Run a script, or a program of this environment, in a folder; the target of a new process."""
    os.chdir(folder)
    with log.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    program, *arguments = command
    sys.argv = arguments if program == "python" else [str(Path(sys.executable).with_name(program)), *arguments]
    is_module = sys.argv[0] == "-m"
    sys.argv = sys.argv[is_module:]
    sys.path.insert(0, str(folder if is_module else Path(sys.argv[0]).resolve().parent))
    try:
        (runpy.run_module if is_module else runpy.run_path)(sys.argv[0], run_name="__main__")
    finally:
        sys.stdout.flush()


def exit_code(command: list[str], folder: Path, log: Path, processes: ForkServerContext) -> int | None:
    """Return the exit code of a command that ran in a new process."""
    process = processes.Process(target=run, args=(command, folder, log))
    process.start()
    process.join()
    return process.exitcode


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def lines_of(paths: Sequence[Path], *languages: str) -> list[str]:
    """Return the distinct commands of files, without comments, in order."""
    texts = ["".join(blocks(path, language)) for path in paths for language in languages]
    return [
        line
        for line in dict.fromkeys(entry.split("  #")[0].strip() for text in texts for entry in text.splitlines())
        if line
    ]


def workplace(folder: Path) -> dict[str, str]:
    """Fill a user's folder with short experiments, reports and pairs; return the environment of commands."""
    (folder / "experiments").mkdir()
    for entry in (ROOT / "experiments").iterdir():
        if entry.name in ("ablations", *SHORTENED):
            shutil.copytree(entry, folder / "experiments" / entry.name)
        else:
            (folder / "experiments" / entry.name).symlink_to(entry)
    for study in (folder / "experiments" / "ablations").glob("*.yaml"):
        study.write_text(study.read_text().replace("{choices: [0, 1, 2]}", "{choices: [0]}"))
    for tests in (path for name in SHORTENED for path in (folder / "experiments" / name).rglob("*.jsonl")):
        tests.write_text("".join(tests.read_text().splitlines(keepends=True)[::6]))
    rows = [{"id": n, "reference": f"Left effusion {n}.", "candidate": "Small left effusion."} for n in range(4)]
    (folder / "search.yaml").write_text("decision-tree: [{max_depth: 2}]\nrandom-forest: [{max_depth: 2}]\n")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides, findings = ("left", "right", "bilateral"), ("pleural effusion", "atelectasis", "consolidation", "scarring")
    reports = [f"Small {side} {one}. Mild {other}." for side in sides for one in findings for other in ("edema", "CHF")]
    (folder / "my.csv").write_text("report\n" + "".join(f"{text}\n" for text in reports))
    kinds = (("normal", "Lungs are clear"), ("Opacity/lung/left", "Left lung opacity"))
    coded = [f"{n},{kinds[n % 2][0]},{kinds[n % 2][1]} on film {n}.,\n" for n in range(100)]
    (folder / "indiana_reports.csv").write_text("uid,MeSH,findings,impression\n" + "".join(coded))
    write_rated_cases(folder)
    write_cases_and_ratings(folder)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}


def write_rated_cases(folder: Path) -> None:
    """Write made-up files in the layouts of RadPref and RadJudge."""
    texts = {"C1": "Small left pleural effusion.", "C2": "Lungs are clear."}
    reports = {
        f"{name}_{key}": value for name, text in texts.items() for key, value in (("report", text), ("source", name))
    }
    cases = [{"id": str(n), "ground_truth_report": f"Left pleural effusion, film {n}.", **reports} for n in range(4)]
    missed = {"rating": 2, "missing_findings": {"0": {"clinical_significance": "actionable"}}}
    annotations = {case["id"]: {"C1": {"rating": 5}, "C2": missed} for case in cases}
    (folder / "radpref" / "radiologist_annotations").mkdir(parents=True)
    (folder / "radpref" / "preference_data.json").write_text(json.dumps(cases))
    for user in ("user_1", "user_2"):
        path = folder / "radpref" / "radiologist_annotations" / f"{user}.json"
        path.write_text(json.dumps({"annotations": annotations}))
    candidates = {name: {"text": text} for name, text in texts.items()}
    ranking = {"id": "1", "ground_truth": texts["C1"], "candidates": candidates, "expected_ranking": "C1 > C2"}
    (folder / "radjudge").mkdir()
    tests = [{"category": "made up", "tests": [ranking]}]
    (folder / "radjudge" / "ranking_tests.py").write_text(f"RANKING_TESTS = {tests!r}\n")


def write_cases_and_ratings(folder: Path) -> None:
    """Write cases to rate, and the files that two raters export."""
    rows = [{"id": n, "reference": f"Left effusion {n}.", "candidate": "Left effusion."} for n in range(5)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cases, tags = read_cases(folder / "cases.jsonl"), load_criteria("radcliq").tags
    write_key(cases, tags, folder / "rate.key.json")
    for rater, ratings in (("Anne", (5, 4, 3, 2, 1)), ("Bela", (5, 3, 4, 2, 2))):
        given = [(rating, [("omission", True)] * (5 - rating)) for rating in ratings]
        write_export(folder / f"ratings-{rater}.json", cases, tags, rater, given)


@contextmanager
def started(command: list[str], folder: Path, processes: ForkServerContext) -> Iterator[None]:
    """Run a command that serves, from its first line until the block ends."""
    log = folder / "service.txt"
    process = processes.Process(target=run, args=(command, folder, log))
    process.start()
    while "Serving" not in (log.read_text() if log.exists() else ""):
        assert process.is_alive(), log.read_text()
        time.sleep(0.1)
    try:
        yield
    finally:
        os.kill(process.pid or 0, signal.SIGINT)
        process.join()
    assert process.exitcode == 0, log.read_text()


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("paths", [GUIDES, EXPERIMENTS], ids=["guides", "experiments"])
def test_readme_commands_run(paths: Sequence[Path], tmp_path: Path, processes: ForkServerContext) -> None:
    environment = workplace(tmp_path)
    ran = 0
    with ExitStack() as services:
        for line in lines_of(paths, "bash"):
            if line.startswith("make "):
                assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
                continue
            if " -m benchmarks" in line:  # their own tests run them on small sizes
                assert line.split(" -m benchmarks ")[1] in names(), line
                continue
            line = line.replace("tensorboard ", "tensorboard --inspect ")  # with this option it ends
            log = tmp_path / "log.txt"
            command = on_less_data(shlex.split(line))
            if command[:2] == ["radreward", "serve"]:  # it runs until the last command has ended
                services.enter_context(started(command, tmp_path, processes))
                continue
            if command[0] in ("radreward", "python", "tensorboard"):
                code = exit_code(command, tmp_path, log, processes)
            else:
                with log.open("wb") as file:
                    code = subprocess.run(command, cwd=tmp_path, env=environment, stdout=file, stderr=file).returncode
            assert code == 0, f"{line}\n{log.read_text()}"
            ran += 1
    assert ran >= 4


@pytest.mark.parametrize("paths", [GUIDES, EXPERIMENTS, SYSTEMS], ids=["guides", "experiments", "systems"])
def test_readme_commands_for_other_machines_parse(paths: Sequence[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse commands that need a GPU, a cluster, a trained model or your data: `sh` blocks, and those of systems."""
    monkeypatch.chdir(ROOT)
    lines = lines_of(paths, *(("sh", "bash") if paths is SYSTEMS else ("sh",)))
    assert len(lines) >= 3
    for line in lines:
        program, command, *arguments = shlex.split(line)
        script = f"{arguments[0].replace('.', '/')}.py" if command == "-m" else command
        assert program == "radreward" or (program == "python" and (ROOT / script).is_file()), line
        if program == "python":
            continue  # tested by its own test
        if command == "fit":
            with pytest.raises(SystemExit) as end:  # --print_config parses everything and builds nothing
                main(["fit", *arguments, "--print_config"])
            assert end.value.code in (None, 0)
        elif arguments != ["--help"]:
            assert parse_options(command, arguments)


CONFORMANCE_OF_LOSSES = """
for loss in (SoftMargin, LearnedScale, WarmedUpMargin):
    tests = type("Tests", (ObjectiveConformance,), {"objective": loss})()
    for name in filter(lambda name: name.startswith("test_"), dir(tests)):
        getattr(tests, name)()
"""


def test_readme_snippets_run(tmp_path: Path, processes: ForkServerContext) -> None:
    code = "\n".join(block for path in GUIDES for block in blocks(path, "python"))
    assert code.count("import") >= 4
    code += f"\nTestSmoothMargin().test_dtypes()\n{CONFORMANCE_OF_LOSSES}"
    (tmp_path / "snippets.py").write_text(code)
    log = tmp_path / "log.txt"
    assert exit_code(["python", "snippets.py"], tmp_path, log, processes) == 0, log.read_text()
    [printed] = blocks(README, "text")
    assert printed in log.read_text()


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.parent.name)
def test_commands_of_a_system_make_the_models_they_start_from(path: Path) -> None:
    text = path.read_text()
    configs = {name: yaml.safe_load((ROOT / name).read_text()) for name in re.findall(r"--config (\S+\.yaml)", text)}
    made = {*re.findall(r"--run-dir (\S+)", text), *(config.get("run_dir") for config in configs.values())}
    for name, config in configs.items():
        settings = yaml.safe_load((ROOT / config["base"]).read_text()) if "base" in config else config
        assert settings.get("init_from") in {None, *made}, name


@pytest.mark.parametrize("path", [*GUIDES, *EXPERIMENTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_in_readme_exist(path: Path) -> None:
    text = path.read_text()
    named = re.findall(r"--config (\S+\.yaml)|python (experiments/\S+\.py)", text)
    modules = re.findall(r"python -m (experiments\.[\w.]+)", text)
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    assert re.sub(r"\A---\n.*?\n---\s+", "", text, flags=re.DOTALL).startswith("# ")
    for name in ["".join(pair) for pair in named]:
        assert (ROOT / name).is_file() or name.startswith("runs/"), name
    for name in modules:
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file(), name
    for name in linked:
        assert (path.parent / name).exists(), name


@pytest.mark.parametrize("path", [ROOT / "ARCHITECTURE.md", *SYSTEMS], ids=lambda path: str(path.relative_to(ROOT)))
def test_code_paths_in_documentation_exist(path: Path) -> None:
    named = re.findall(r"`([a-z_0-9]+/[A-Za-z_0-9/.-]*(?:\.(?:py|txt|js|yaml)|/))`", path.read_text())
    assert named
    for name in named:
        assert any((folder / name).exists() for folder in (ROOT / "radreward", ROOT)), name
