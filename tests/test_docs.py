"""The reference of settings in docs/ is the one that the code prints."""

from pathlib import Path

import pytest
import yaml

from radreward.cli import main

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "fit.yaml"


def test_fit_reference_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        main(["fit", "--criteria", "radcliq", "--print_config=comments"])
    printed = capsys.readouterr().out
    assert REFERENCE.read_text(encoding="utf-8") == printed, "docs/fit.yaml is outdated: run `make docs`"


def test_fit_reference_documents_every_setting_of_the_model() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    assert settings["criteria"] == "radcliq"
    lines = text.splitlines()
    for name in settings["model"]["init_args"]:
        index = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[index - 1].lstrip().startswith("#"), f"{name} has no comment"
