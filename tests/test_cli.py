"""Commands from end to end in small, and every way in which input can be wrong."""

import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import yaml
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import TQDMProgressBar
from rich.console import Console
from scipy.stats import kendalltau
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator,
)
from transformers import AutoModel, LlamaConfig

import radreward
from radreward.cli import main
from radreward.criteria import RadCliQ
from radreward.data.datamodule import PairedReportDataModule
from radreward.data.records import read_groups, write_groups
from radreward.data.split import held_out
from radreward.data.tokenizer import byte_tokenizer
from radreward.errors import InputError
from radreward.models import load_model
from radreward.modules import ProgressBar, RewardModule
from radreward.synthesis import synthesize_files

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
        "trainer": {
            "max_steps": 6,
            "val_check_interval": 2,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
        },
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


def test_tensorboard_shows_settings_terms_agreement_histograms_and_figures(trained: Path) -> None:
    events = EventAccumulator(str(trained / "logs")).Reload()
    found = events.Tags()
    scalars = {
        "train/loss",
        "train/individual",
        "train/total",
        "val/tau_total",
        "val/spearman_total",
        "val/pairs_total",
    }
    scalars |= {f"train/individual/{tag}" for tag in TAGS} | {f"val/tau_{tag}" for tag in TAGS[:2]}
    assert scalars <= set(found["scalars"])
    assert not {f"val/tau_{tag}" for tag in TAGS[2:]} & set(found["scalars"])  # nobody made such errors
    assert {f"rewards/{tag}" for tag in TAGS} <= set(found["histograms"])
    assert set(found["images"]) == {*(f"calibration/{tag}" for tag in TAGS), "learning/tau"}
    assert [event.step for event in events.Scalars("train/loss")] == [0, 1, 2, 3, 4, 5]
    assert [event.step for event in events.Images("learning/tau")] == [2, 4, 6]
    measured = json.loads((trained / "metrics.json").read_text())["agreement"]["total"]
    assert events.Scalars("final/tau_b")[0].value == pytest.approx(measured["tau_b"], abs=1e-6)
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"model.backbone.lora.r" in content
    assert b"trainer.max_steps" in content


def test_evaluate_agrees_with_what_fit_measured(trained: Path, tmp_path: Path) -> None:
    groups = read_groups(trained.parent / "groups.jsonl")
    write_groups(tmp_path / "held.jsonl", (group for group in groups if held_out(group.reference, 0.3)))
    output = tmp_path / "figures.json"
    command = ["evaluate", "--model", str(trained), "--data", str(tmp_path / "held.jsonl"), "--output", str(output)]
    assert main(command) == 0
    found, measured = json.loads(output.read_text()), json.loads((trained / "metrics.json").read_text())
    assert found["candidates"] == measured["candidates"]
    for name in ("tau_b", "spearman", "pair_accuracy"):
        assert found["agreement"]["total"][name] == pytest.approx(measured["agreement"]["total"][name], abs=1e-3)


def test_evaluate_of_a_scorer_without_criteria_judges_totals_by_the_criteria_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, figures = synthesize_files(tmp_path, RadCliQ(), 4), tmp_path / "figures.json"
    command = ["evaluate", "--model=ratescore", f"--data={path}", f"--output={figures}"]
    assert main(command) == 2
    assert "--criteria: Expected by what errors are stated" in capsys.readouterr().err
    assert main([*command, "--criteria=radcliq"]) == 0
    known = [(g.reference, c.text, sum((c.errors or {}).values())) for g in read_groups(path) for c in g.candidates]
    references, candidates, errors = zip(*known, strict=True)
    totals = radreward.load("ratescore").score(references, candidates).total
    found = json.loads(figures.read_text())["agreement"]
    expected = kendalltau(totals.numpy(), [-number for number in errors]).statistic
    assert found == {"total": {**found["total"], "tau_b": pytest.approx(expected, abs=1e-5)}}


def test_criteria_that_are_not_the_models_are_refused(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = f"--data={trained.parent / 'groups.jsonl'}"
    assert main(["evaluate", f"--model={trained}", data, "--criteria=mrscore"]) == 2
    assert "judges by radcliq, not by mrscore" in capsys.readouterr().err


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


def test_evaluate_names_what_it_leaves_out(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = read_groups(trained.parent / "groups.jsonl")
    long = first.candidates[1]._replace(text="lamp " * 200)
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    write_groups(some, [first._replace(candidates=(first.candidates[0], long)), second])
    write_groups(none, [first._replace(candidates=(long,))])
    for path, code, told in (
        (some, 1, "Not scored and left out: 1 of 5 candidates; first group '0', candidate 2: over the limit: "),
        (none, 2, f"radreward: {none}: Expected candidates that can be scored but there is none; the first is group"),
    ):
        assert main(["evaluate", f"--model={trained}", f"--data={path}"]) == code
        error = capsys.readouterr().err
        assert error.startswith(told)
        assert error.count("\n") == 1


def test_figures_are_written_into_a_new_folder_or_refused_before_scoring(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", f"--model={trained}", f"--data={trained.parent / 'groups.jsonl'}"]
    assert main([*command, f"--output={tmp_path / 'new' / 'figures.json'}"]) == 0
    assert (tmp_path / "new" / "figures.json").is_file()
    (tmp_path / "file").touch()
    capsys.readouterr()
    for output, told in ((tmp_path, "it is a folder"), (tmp_path / "file" / "a.json", "cannot be written")):
        assert main([*command, f"--output={output}", "--model=absent"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"radreward: {output}: ")
        assert told in error


def test_ctrl_c_before_there_is_anything_to_continue_tells_what_to_do(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("radreward.cli.commands.score", stopped)
    assert main(["score", f"--model={trained}", "--input=a.jsonl", "--output=b.jsonl"]) == 130
    assert capsys.readouterr().err == "radreward: interrupted. Run the same command again.\n"


def test_synthesize_writes_groups_that_fit_can_read(tmp_path: Path) -> None:
    command = ["synthesize", "--criteria", "radcliq", "--groups", "3", "--seed", "1", "--output", str(tmp_path / "d")]
    assert main(command) == 0
    assert len(list(read_groups(tmp_path / "d" / "groups.parquet", RadCliQ()))) == 3


def test_every_validated_reward_is_kept(trained: Path) -> None:
    from radreward.cli import build

    kept = pq.read_table(trained / "validation.parquet")
    assert kept.column_names == [
        "group",
        "candidate",
        *(f"{kind}/{tag}" for kind in ("reward", "errors") for tag in TAGS),
    ]
    rows = kept.to_pylist()
    data = build(trained / "config.yaml", f"run={trained / 'again'}").data
    assert isinstance(data, PairedReportDataModule)
    known = {group.id: group for group in read_groups(data.records, RadCliQ())}
    assert (
        len(rows)
        == json.loads((trained / "metrics.json").read_text())["candidates"]
        == 3 * len({r["group"] for r in rows})
    )
    for row in rows:
        errors = known[row["group"]].candidates[row["candidate"]].errors
        assert {tag: row[f"errors/{tag}"] for tag in TAGS} == errors


def test_the_written_configuration_builds_the_same_run(trained: Path, tmp_path: Path) -> None:
    from radreward.cli import build

    again = build(trained / "config.yaml", f"run={tmp_path / 'again'}")
    assert isinstance(again.module, RewardModule)
    assert isinstance(again.data, PairedReportDataModule)
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


def test_the_other_processes_of_a_run_find_its_folder_begun(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from radreward.cli import build

    class Reached(Exception):
        pass

    def fit(*_: object, **__: object) -> None:
        raise Reached

    first, second = build(config), build(config)
    first.run.begin(first.data.fingerprint(), resume=False)
    with pytest.raises(InputError, match="holds a run"):
        second.fit()
    monkeypatch.setattr(Trainer, "is_global_zero", False)
    monkeypatch.setattr(Trainer, "fit", fit)
    with pytest.raises(Reached):
        second.fit()


def step(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, weights_only=True)["global_step"])


def test_a_loss_that_is_not_finite_ends_in_one_line_and_leaves_the_last_checkpoint(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_loss.py").write_text(
        "from radreward.objectives import PairObjective\n"
        "class Broken(PairObjective):\n"
        "    calls = 0\n"
        "    def pair_loss(self, accepted, rejected, margin):\n"
        "        self.calls += 1\n"
        "        return (accepted - rejected).sum(1) * (float('nan') if self.calls == 4 else 1)\n"
    )
    assert main(["fit", f"--config={config}", "--model.objective=broken_loss.Broken"]) == 2
    error = capfd.readouterr().err
    assert re.fullmatch(r"radreward: The loss is nan in step 3, groups \d+, \d+, \d+, \d+\.\n", error)
    last = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 3
    assert all(value.isfinite().all() for value in last["state_dict"].values())
    assert not (tmp_path / "run" / "model").exists()


def test_undefined_agreement_is_no_best_checkpoint_and_stops_a_run_that_does_not_improve(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "silence.py").write_text(
        "import torch\n"
        "from lightning.pytorch import Callback\n"
        "class Silence(Callback):\n"
        "    def on_validation_start(self, trainer, module):\n"
        "        for parameter in module.model.head.parameters(): torch.nn.init.zeros_(parameter)\n"
    )
    assert main(["fit", f"--config={config}", "--trainer.callbacks=silence.Silence", "--early_stop=2"]) == 0
    assert "Step 2: τ-b of the total is undefined" in caplog.text
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["steps"] == 4  # of 6: the second validation was the last
    assert metrics["weights"] == "last"
    assert metrics["validation_tau_b"] is None
    scalars = EventAccumulator(str(tmp_path / "run" / "logs")).Reload().Tags()["scalars"]
    assert "train/loss" in scalars
    assert [name for name in scalars if "tau" in name] == ["final/tau_b_limit"]  # that of the errors alone


OTHER = {
    "backbone": (["--model.backbone.name=tiny-llama"], "is missing or unknown"),
    "rank": (["--model.backbone.lora.r=8"], "has the shape"),
    "head": (["--model.hidden=8"], "has the shape"),
    "objective": (["--model.objective=BradleyTerry"], "another setting of objective"),
    "setting of the objective": (["--model.objective=MarginRewardEnforcement", "--model.objective.c=0.5"], "objective"),
}


@pytest.mark.parametrize(("arguments", "told"), OTHER.values(), ids=OTHER.keys())
def test_a_checkpoint_of_another_model_is_named_and_the_run_is_left_as_it_is(
    arguments: list[str], told: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (trained / "config.yaml").read_bytes()
    assert main(["fit", f"--config={trained.parent / 'config.yaml'}", "--ckpt_path=last", *arguments]) == 2
    error = capsys.readouterr().err
    assert f"{trained / 'checkpoints' / 'last.ckpt'}: " in error
    assert told in error
    assert error.count("\n") == 1
    assert (trained / "config.yaml").read_bytes() == before


def test_a_checkpoint_that_is_not_there_is_named(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, path in (("best", tmp_path / "run" / "checkpoints" / "best.ckpt"), ("gone.ckpt", Path("gone.ckpt"))):
        assert main(["fit", f"--config={config}", f"--ckpt_path={given}"]) == 2
        assert f"radreward: {path}: Expected a checkpoint to continue from" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("precision", ["bf16-true", "64-true"])
def test_a_run_in_another_precision_ends_with_a_model(precision: str, config: Path, tmp_path: Path) -> None:
    assert main(["fit", f"--config={config}", f"--trainer.precision={precision}", "--trainer.max_steps=2"]) == 0
    assert load_model(tmp_path / "run" / "model").calibration is not None


# bitsandbytes reads a field of torch by a name that torch is dropping.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:MatMul8bitLt:UserWarning")
@pytest.mark.parametrize("quantization", ["4bit", "8bit"])
def test_a_quantised_backbone_is_trained_continued_and_used(
    quantization: str, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bitsandbytes")
    backbone = tmp_path / "backbone"
    llama = LlamaConfig(
        vocab_size=260, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
    )
    AutoModel.from_config(llama).save_pretrained(backbone)  # rows of 64 weights: the block of 4-bit numbers
    byte_tokenizer(encoder=False).save_pretrained(backbone)
    command = ["fit", f"--config={config}", f"--model.backbone.name={backbone}", "--trainer.max_steps=3"]
    command.append(f"--model.backbone.quantization={quantization}")
    assert main(command) == 0
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    state = torch.load(last, weights_only=True)["state_dict"]
    assert all("lora_" in name or name.startswith(("model.head.", "model.pooling.")) for name in state)
    assert main([*command, "--ckpt_path=last", "--trainer.max_steps=5"]) == 0
    assert step(last) == 5
    capsys.readouterr()
    held = tmp_path / "held.jsonl"
    write_groups(held, (g for g in read_groups(tmp_path / "groups.jsonl") if held_out(g.reference, 0.3)))
    figures = tmp_path / "figures.json"
    assert main(["evaluate", f"--model={tmp_path / 'run'}", f"--data={held}", f"--output={figures}"]) == 0
    measured = json.loads((tmp_path / "run" / "metrics.json").read_text())["agreement"]["total"]["tau_b"]
    assert json.loads(figures.read_text())["agreement"]["total"]["tau_b"] == pytest.approx(measured, abs=0.05)


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


def test_where_there_is_no_terminal_lines_tell_how_far_a_run_is(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", f"--config={config}", "--trainer.enable_progress_bar=true"]) == 0
    shown = capfd.readouterr()
    assert f"step 0 of 6: training, kept in {tmp_path / 'run'}" in shown.err
    assert re.search(r"step 2 of 6: validation τ-b -?[\d.]+, loss [\d.]+, [\d.e-]+ s a step, \d+ min left", shown.err)
    assert "Epoch" not in shown.out  # no bar


def test_on_a_terminal_there_is_a_bar(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    from radreward.cli import build

    monkeypatch.setattr("radreward.cli.fit.get_console", lambda: Console(force_terminal=True))
    for given, expected in (([], ProgressBar), (["trainer.callbacks=TQDMProgressBar"], TQDMProgressBar)):
        training = build(config, "trainer.enable_progress_bar=true", *given)
        assert type(training.trainer.progress_bar_callback) is expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--trainer.max_steps=0"], "trainer.max_steps: Expected at least one step"),
        (["--trainer.max_steps=-1", "--trainer.max_epochs=0"], "trainer.max_epochs: Expected at least one step"),
        (["--trainer.limit_train_batches=0"], "trainer.limit_train_batches: Expected at least one step"),
        (["--trainer.val_check_interval=0"], "trainer.val_check_interval: Expected steps, or a fraction"),
        (["--data.records=empty.jsonl"], "empty.jsonl: expected groups"),
        (["--data.collator.max_length=20"], "groups.jsonl, group '"),
    ],
)
def test_what_can_be_told_before_a_run_leaves_no_run_behind(
    arguments: list[str],
    told: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    assert main(["fit", f"--config={config}", *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


LOSSES = {
    "constant": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return margin.sum(1)",
        "losses that depend on",
    ),
    "matrix": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return accepted - rejected",
        "losses of shape (n,) but got (",
    ),
    "number": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return accepted.sum()",
        "losses of shape (n,) but got ()",
    ),
    "tensor": ("Objective", "forward(self, batch): return batch.rewards.sum(1)", "an ObjectiveOutput but got Tensor"),
    "nothing": ("Objective", "forward(self, batch): pass", "an ObjectiveOutput but got NoneType"),
}


@pytest.mark.parametrize(("base", "method", "told"), LOSSES.values(), ids=LOSSES.keys())
def test_a_loss_of_ones_own_that_is_none_is_named_in_one_line(
    base: str,
    method: str,
    told: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"loss_{abs(hash(method))}"  # modules are imported once
    (tmp_path / f"{name}.py").write_text(
        f"from radreward.objectives import {base}\nclass Mine({base}):\n    def {method}"
    )
    assert main(["fit", f"--config={config}", f"--model.objective={name}.Mine"]) == 2
    error = capfd.readouterr().err
    assert error.startswith("radreward: Mine: Expected ")
    assert told in error
    assert error.count("\n") == 1


BAD = {
    "misspelt objective": (["--model.objective=MarginRewardEnforcment"], "Did you mean MarginRewardEnforcement?"),
    "objective of another family": (["--model.objective=Dynamic"], "there is no Objective 'Dynamic'"),
    "objective of no module": (["--model.objective=nothing.Loss"], "model.objective: Problem with given class_path"),
    "objective that is none": (["--model.objective=json.JSONDecoder"], "a subclass of Objective (given: json.JSO"),
    "misspelt callback": (["--trainer.callbacks=EarlyStoping"], "Did you mean EarlyStopping?"),
    "setting of a class without settings": (["--criteria.nme=3"], "RadCliQ has no setting 'nme'. It has none."),
    "no criteria": (["--criteria=null"], "radreward: criteria: Expected what RewardModule judges by"),
    "no whole number": (["--seed_everything=abc"], "seed_everything: Expected a bool; Expected a int (given: abc)"),
    "misspelt criteria": (["--criteria=RadCliK"], "Did you mean RadCliQ?"),
    "criteria as a file": (["--criteria=own.yaml"], "--criteria=CriteriaFile --criteria.path=FILE"),
    "criteria as the other commands call them": (["--criteria=radcliq-significance"], "mean RadCliQSignificance?"),
    "misspelt collator": (["--data.collator=PackedGroup"], "Did you mean PackedGroups?"),
    "misspelt setting": (["--model.objective=BradleyTerry", "--model.objective.lamda=1"], "has no setting 'lamda'"),
    "unknown setting": (["--model.hiden=3"], "RewardModule has no setting 'hiden'. Did you mean hidden?"),
    "constructor of an objective": (["--model.objective=CountRegression", "--model.objective.delta=-1"], "`delta`"),
    "weights for other criteria": (
        ["--model.objective.weighting=Fixed", "--model.objective.weighting.weights=[1,2]"],
        "Expected `weights` to have 6",
    ),
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
    "more than positions": (["--data.collator.max_length=4097"], "`max_length` to be at most 4096, the positions of"),
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
    (tmp_path / "own.yaml").write_text("name: own\ncriteria: [{name: tone, description: Rude.}]")
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
        ("evaluate --data there.jsonl --model nothing", "nothing"),
        ("synthesize --criteria radclik --output d", "radclik"),
        ("synthesize --groups many --output d", "many"),
        ("synthesize --groups 1 --output file", "radreward: file: cannot be "),
    ],
)
def test_bad_commands_are_told_in_one_line(
    command: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "there.jsonl").touch()
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
