"""The script that trains the shipped ER²Score goes on where it was interrupted."""

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from radreward.models import load_reward_model
from radreward.systems.er2score.gated_template import GatedStatementPairTemplate

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "er2score" / "train.py"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the globals of the script, with its first stage only, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--trial"])
    names = runpy.run_path(str(SCRIPT))
    main = names["main"].__globals__
    schedule = names["read_schedule"](names["SCHEDULE"])
    first_stage = schedule._replace(stages=schedule.stages[:1])
    monkeypatch.setitem(main, "read_schedule", lambda path: first_stage)
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
    artifact = load_reward_model("runs/er2score-trial/model")
    assert type(artifact.template) is GatedStatementPairTemplate
    assert artifact.rule_share == 0.7
    assert artifact.calibration is not None


@pytest.mark.parametrize("kept", ["# form: trial\nstages: []", "# form: full\n{schedule}"])
def test_folder_of_another_schedule_or_form_is_refused(kept: str, script: dict[str, Any]) -> None:
    copy = Path("runs/er2score-trial/schedule.yaml")
    copy.parent.mkdir(parents=True)
    copy.write_text(kept.replace("{schedule}", script["SCHEDULE"].read_text(encoding="utf-8")))
    with pytest.raises(SystemExit, match=r"Expected the trial form of .*Choose another --output"):
        script["main"]()
    assert [*copy.parent.iterdir()] == [copy]


def test_schedule_has_shorter_forms_of_every_stage_and_rejects_unknown_fields(tmp_path: Path) -> None:
    names = runpy.run_path(str(SCRIPT))
    schedule = names["read_schedule"](names["SCHEDULE"])
    assert {name for stage in schedule.stages for name in stage.data} == schedule.data.keys()
    for entry in (*schedule.stages, *schedule.data.values(), schedule.validation):
        assert 2 >= entry.count("trial") < entry.count("short") < entry.count("full")
    seeds = [entry.seed for entry in (schedule.validation, *schedule.data.values())]
    assert len(set(seeds)) == len(seeds)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(names["SCHEDULE"].read_text(encoding="utf-8").replace("short_steps: 400", "short: 400", 1))
    with pytest.raises(TypeError, match="short"):
        names["read_schedule"](wrong)
