"""The script that trains a model like the shipped ER²Score goes on where it was interrupted."""

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "er2score" / "train.py"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the globals of the script, with its first run only, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--trial"])
    names = runpy.run_path(str(SCRIPT))
    main = names["main"].__globals__
    monkeypatch.setitem(main, "STAGES", names["STAGES"][:1])
    return dict(main, main=names["main"], globals=main)


def commands(printed: str) -> list[str]:
    return [line.split()[2] for line in printed.splitlines() if line.startswith("$ ")]


def test_interrupted_training_goes_on(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = script["run"]

    def interrupted(*arguments: str) -> None:
        if arguments[0] == "fit":
            raise KeyboardInterrupt
        run(*arguments)

    monkeypatch.setitem(script["globals"], "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script["main"]()
    assert commands(capsys.readouterr().out) == ["synthesize", "synthesize"]

    monkeypatch.setitem(script["globals"], "run", run)
    script["main"]()
    assert commands(capsys.readouterr().out) == ["fit"]
    model = Path("runs/er2score-trial/statements/model")
    assert json.loads((model / "config.json").read_text())

    shutil.rmtree(model)  # killed after the last checkpoint, before the model was saved
    script["main"]()
    printed = capsys.readouterr().out
    assert commands(printed) == ["fit"]
    assert "--ckpt-path=last" in printed
    assert model.is_dir()

    script["main"]()
    printed = capsys.readouterr().out
    assert commands(printed) == []
    assert "statements is done" in printed


def test_runs_have_data_of_their_own_seeds_and_names(script: dict[str, Any]) -> None:
    stages = runpy.run_path(str(SCRIPT))["STAGES"]
    assert len({stage.name for stage in stages}) == len(stages)
    data = [entry for stage in stages for entry in stage.data]
    assert len({entry.seed for entry in data}) == len(set(data))  # files are named by their seed
    assert script["VALIDATION"].seed not in {entry.seed for entry in data}
