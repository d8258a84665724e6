"""Commands from end to end in small, and every way in which input can be wrong."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from radreward.cli import main
from radreward.criteria import RadCliQ

WORDS = ["lamp", "kettle", "stair", "window", "carpet", "drawer"]
TAGS = RadCliQ().tags


def write_records(path: Path, groups: int = 24) -> Path:
    choose = random.Random(0)
    with path.open("w") as file:
        for number in range(groups):
            reference = " ".join(choose.choices(WORDS, k=8))
            candidates = [
                {"text": reference + " broken" * k, "errors": {tag: k * (j < 2) for j, tag in enumerate(TAGS)}}
                for k in range(3)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return path


def settings(folder: Path) -> dict[str, Any]:
    return {
        "run": str(folder / "run"),
        "criteria": "RadCliQ",
        "checkpoint_every": 1,
        "model": {"backbone": {"name": "tiny-bert", "lora": {"r": 4}}, "hidden": 4},
        "data": {"records": str(write_records(folder / "groups.jsonl")), "validation": 0.3, "groups_per_batch": 4},
        "trainer": {"max_steps": 6, "val_check_interval": 2, "accelerator": "cpu", "enable_progress_bar": False},
    }


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings(tmp_path)))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "config.yaml").write_text(yaml.safe_dump(settings(folder)))
    assert main(["fit", f"--config={folder / 'config.yaml'}"]) == 0
    return folder / "run"


def test_a_run_leaves_everything_that_it_was_made_of(trained: Path) -> None:
    versions = json.loads((trained / "versions.json").read_text())
    assert versions["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert list(json.loads((trained / "data.json").read_text()).values())[0].isalnum()
    metrics = json.loads((trained / "metrics.json").read_text())
    assert set(metrics["agreement"]) == {*TAGS, "total"}
    assert metrics["steps"] == 6
    assert metrics["weights"] == "best"
    assert {path.name for path in (trained / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    assert list((trained / "logs").glob("events.out.tfevents.*"))
    assert {path.name for path in (trained / "model").iterdir()} == {
        "config.json",
        "model.safetensors",
        "calibration.json",
    }


def test_evaluate_agrees_with_what_fit_measured(trained: Path, tmp_path: Path) -> None:
    from radreward.data.records import read_groups, write_groups
    from radreward.data.split import held_out

    groups = read_groups(trained.parent / "groups.jsonl")
    write_groups(tmp_path / "held.jsonl", (group for group in groups if held_out(group.reference, 0.3)))
    output = tmp_path / "figures.json"
    command = ["evaluate", "--model", str(trained), "--data", str(tmp_path / "held.jsonl"), "--output", str(output)]
    assert main(command) == 0
    found, measured = json.loads(output.read_text()), json.loads((trained / "metrics.json").read_text())
    assert found["candidates"] == measured["candidates"]
    for name in ("tau_b", "spearman", "pair_accuracy"):
        assert found["agreement"]["total"][name] == pytest.approx(measured["agreement"]["total"][name], abs=1e-3)


def test_score_writes_every_row_and_ends_with_1_where_one_was_rejected(trained: Path, tmp_path: Path) -> None:
    rows = [{"id": "a", "reference": "lamp", "candidate": "stair"}, {"id": "b", "reference": "lamp", "candidate": ""}]
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", "--model", str(trained), "--input", str(source), "--output", str(output)]
    assert main(command) == 1
    first, second = [json.loads(line) for line in output.read_text().splitlines()]
    assert first["status"] == "ok"
    assert isinstance(first["total"], float)
    assert (second["id"], second["status"], second["total"]) == ("b", "empty candidate", None)
    source.write_text(json.dumps(rows[0]) + "\n")
    assert main(command) == 0


def test_synthesize_writes_groups_that_fit_can_read(tmp_path: Path) -> None:
    from radreward.criteria import RadCliQ
    from radreward.data.records import read_groups

    command = ["synthesize", "--criteria", "radcliq", "--groups", "3", "--seed", "1", "--output", str(tmp_path / "d")]
    assert main(command) == 0
    assert len(list(read_groups(tmp_path / "d" / "groups.parquet", RadCliQ()))) == 3


def test_the_written_configuration_builds_the_same_run(trained: Path, tmp_path: Path) -> None:
    from radreward.cli import build

    again = build(trained / "config.yaml", f"run={tmp_path / 'again'}")
    assert again.module.model.backbone.name == "tiny-bert"
    assert again.module.criteria == RadCliQ() == again.data.criteria
    assert again.checkpoint is None
    assert again.trainer.max_steps == 6


RELOAD = """
import sys, torch
from radreward.modules import RewardModule
module = RewardModule.load_from_checkpoint(sys.argv[1], map_location="cpu")
saved, own = torch.load(sys.argv[1], weights_only=True)["state_dict"], module.state_dict()
assert module.model.hidden == 4
assert saved.keys() < own.keys()  # the frozen backbone is not in it
assert all(torch.equal(own[name], value) for name, value in saved.items())
"""


def test_a_checkpoint_reloads_in_a_fresh_process_without_the_configuration(trained: Path) -> None:
    subprocess.run([sys.executable, "-c", RELOAD, str(trained / "checkpoints" / "last.ckpt")], check=True)


def test_an_earlier_run_is_not_overwritten_unasked(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (trained / "metrics.json").read_bytes()
    assert main(["fit", f"--config={trained.parent / 'config.yaml'}"]) == 2
    assert "holds a run" in capsys.readouterr().err
    assert (trained / "metrics.json").read_bytes() == before


DYNAMIC = {
    "class_path": "MarginRewardEnforcement",
    "init_args": {"weighting": {"class_path": "Dynamic", "init_args": {"every": 3}}},
}


def test_killed_in_the_middle_of_an_epoch_and_continued_is_bit_for_bit_as_if_never_killed(tmp_path: Path) -> None:
    values = settings(tmp_path)
    values["model"]["objective"] = DYNAMIC  # its third update, which makes the weights, comes after the kill
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(values))
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "from lightning.pytorch import Callback\n"
        "class Slow(Callback):\n"
        "    def on_train_batch_end(self, trainer, *args):\n"
        "        if trainer.global_step == 3: time.sleep(300)\n"
    )
    command = [sys.executable, "-m", "radreward", "fit", f"--config={config}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = subprocess.Popen([*command, "--trainer.callbacks=slow.Slow"], cwd=tmp_path, env=environment)
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    wait_for(lambda: last.is_file() and step(last) == 2, killed)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    found = torch.load(last, weights_only=True)
    assert found["global_step"] == 2
    assert not found["loops"]["fit_loop"]["epoch_progress"]["current"]["completed"]  # in the middle of an epoch
    assert found["state_dict"]["objective.weighting.steps"] == 2
    assert not len(found["state_dict"]["objective.weighting.f1"])
    assert main(["fit", f"--config={config}", "--ckpt_path=last"]) == 0
    assert main(["fit", f"--config={config}", f"--run={tmp_path / 'whole'}"]) == 0
    continued, whole = (
        torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
        for folder in (tmp_path / "run", tmp_path / "whole")
    )
    assert whole["epoch"] >= 1  # and beyond it
    for part in (continued, whole):
        assert len(part["state_dict"]["objective.weighting.f1"]) == len(TAGS)
    assert_equal(continued["state_dict"], whole["state_dict"])
    assert_equal(continued["optimizer_states"][0]["state"], whole["optimizer_states"][0]["state"])
    models = [(tmp_path / run / "model" / "model.safetensors").read_bytes() for run in ("run", "whole")]
    assert models[0] == models[1]


def assert_equal(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def step(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, weights_only=True)["global_step"])


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 200
    while not condition():
        assert process.poll() is None, "ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_ctrl_c_tells_how_to_continue(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stop.py").write_text(
        "from lightning.pytorch import Callback\n"
        "class Stop(Callback):\n"
        "    def on_train_batch_start(self, trainer, *args):\n"
        "        if trainer.global_step == 2: raise KeyboardInterrupt\n"
    )
    handler = signal.getsignal(signal.SIGINT)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            assert main(["fit", f"--config={config}", "--trainer.callbacks=stop.Stop"]) == 130
    finally:
        signal.signal(signal.SIGINT, handler)  # Lightning ignores it from then on
    assert "--ckpt_path=last" in capfd.readouterr().err


BAD = {
    "misspelt objective": (["--model.objective=MarginRewardEnforcment"], "Did you mean MarginRewardEnforcement?"),
    "objective of another family": (["--model.objective=Dynamic"], "there is no Objective 'Dynamic'"),
    "misspelt criteria": (["--criteria=RadCliK"], "Did you mean RadCliQ?"),
    "misspelt collator": (["--data.collator=PackedGroup"], "Did you mean PackedGroups?"),
    "misspelt setting": (["--model.objective=BradleyTerry", "--model.objective.lamda=1"], "has no setting 'lamda'"),
    "unknown setting": (["--model.hiden=3"], "--model.hiden"),
    "constructor of an objective": (["--model.objective=CountRegression", "--model.objective.delta=-1"], "`delta`"),
    "constructor of the data": (["--data.groups_per_batch=0"], "`groups_per_batch`"),
    "wrong type": (["--data.collator.max_length=abc"], "max_length"),
    "unknown choice": (["--trainer.precision=bf17"], "trainer.precision"),
    "no configuration": (["--config=absent.yaml"], "absent.yaml"),
    "broken configuration": (["--config=broken.yaml"], "broken.yaml, line 2, column 3: Expected YAML but"),
    "configuration of another kind": (["--config", "list.yaml"], "list.yaml: Expected settings by name but got list"),
    "configuration of bytes": (["-c", "bytes.yaml"], "bytes.yaml: Expected YAML in UTF-8"),
    "unknown key of a file": (["--config=unknown.yaml"], "modle"),
    "no records": (["--data.records=absent.jsonl"], "absent.jsonl"),
    "other criteria": (["--criteria=MRScore"], "row 1"),
    "criteria file": (["--criteria=CriteriaFile", "--criteria.path=absent.yaml"], "absent.yaml"),
    "unknown tiny backbone": (["--model.backbone.name=tiny-whale"], "tiny-whale"),
    "no checkpoint": (["--ckpt_path=last"], "last.ckpt"),
    "too long": (["--data.collator.max_length=4"], "max_length"),
}


@pytest.mark.parametrize(("arguments", "told"), BAD.values(), ids=BAD.keys())
def test_bad_settings_are_told_in_one_line(
    arguments: list[str],
    told: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("run: a\n b: [1\n")
    (tmp_path / "list.yaml").write_text("- 1")
    (tmp_path / "bytes.yaml").write_bytes(b"run: \xff")
    (tmp_path / "unknown.yaml").write_text("modle: 3")
    assert main(["fit", f"--config={config}", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1, error
    assert "<class" not in error


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("score --input absent.jsonl --output out.jsonl --model absent", "absent"),
        ("score --output out.jsonl", "--input"),
        ("scor", "scor"),
        ("evaluate --data absent.jsonl --model nothing", "nothing"),
        ("synthesize --criteria radclik --output d", "radclik"),
        ("synthesize --groups many --output d", "many"),
    ],
)
def test_bad_commands_are_told_in_one_line(
    command: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1, error


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom radreward.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert 'torch' not in sys.modules and 'lightning' not in sys.modules"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in shown.stdout for name in ("fit", "evaluate", "score", "synthesize"))
