"""The package without the modules and functions that only POSIX systems have, as on Windows."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]

HIDE = """
import os, sys

import sacrebleu  # takes other locks on Windows

for name in ("fcntl", "grp", "pwd", "termios"):  # not `resource`, which transformers imports on Linux
    sys.modules[name] = None
for name in ("fchmod", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "geteuid", "getuid", "mkfifo"):
    delattr(os, name)
os.supports_dir_fd.clear()
"""
SCORE = """
import pkgutil
from importlib import import_module

import radreward
from radreward.cli import main

for module in pkgutil.walk_packages(radreward.__path__, "radreward."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
sys.exit(main(sys.argv[1:]))
"""


def test_package_imports_and_scores_a_file_without_posix(tmp_path: Path) -> None:
    pairs, scores = tmp_path / "pairs.jsonl", tmp_path / "scores.csv"
    row = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Clear lungs. Small left effusion."}
    pairs.write_text(json.dumps(row) + "\n")
    arguments = ["score", "--scorers", "bleu-1", "er2score", f"--input={pairs}", f"--output={scores}"]
    left, link = tmp_path / ".a-abcdefgh.radreward-tmp", tmp_path / ".b-abcdefgh.radreward-tmp"
    left.mkdir()  # of a process that was killed at once
    link.symlink_to(pairs.parent, target_is_directory=True)
    done = subprocess.run([sys.executable, "-c", HIDE + SCORE, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not left.exists()
    assert f"{link}: was not deleted (it is a link or a file)" in done.stderr
    [scored] = csv.DictReader(scores.read_text().splitlines())
    assert (scored["bleu-1_status"], scored["er2score_status"]) == ("ok", "ok")


COLLECT = """
import multiprocessing.context, pytest

os.getuid = lambda: 0  # pytest calls it on Linux
del multiprocessing.context.ForkServerContext
sys.modules["multiprocessing.forkserver"] = None
warned = "ignore:only soft file lock"  # Windows has locks of its own
sys.exit(pytest.main(["--collect-only", "-q", "-W", warned, *sys.argv[1:]]))
"""


def test_files_of_the_windows_job_are_collected_without_posix() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    [command] = [step["run"] for step in workflow["jobs"]["scoring"]["steps"] if "pytest" in step.get("run", "")]
    paths = command.removeprefix("python -m pytest ").split()
    assert all((ROOT / path).exists() for path in paths)
    files = [path for path in paths if path.endswith(".py")]  # the folders would take long
    collect = [sys.executable, "-c", HIDE + COLLECT, *files]
    done = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "tests/scoring/test_file_scoring.py::" in done.stdout
