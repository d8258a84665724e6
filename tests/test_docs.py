"""The reference of settings in docs/ is the one that the code prints."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "fit.yaml"
# In a process of its own: the help lists the subclasses of the modules that are imported.
COMMAND = [sys.executable, "-m", "radreward", "fit", "--criteria", "radcliq", "--print_config=comments"]


def test_fit_reference_is_what_the_command_prints() -> None:
    environment = {**os.environ, "COLUMNS": "120"}
    printed = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert REFERENCE.read_text(encoding="utf-8") == printed, "docs/fit.yaml is outdated: run `make docs`"


def test_fit_reference_documents_every_setting_of_the_model() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    assert settings["criteria"] == "radcliq"
    lines = text.splitlines()
    for name in settings["model"]["init_args"]:
        index = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[index - 1].lstrip().startswith("#"), f"{name} has no comment"
