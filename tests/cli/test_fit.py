"""Files, logs and messages of `fit`, and how it resumes."""

import json
import re
import shutil
import signal
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
import yaml
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import TQDMProgressBar
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import AutoModel, LlamaConfig

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.data.records import read_groups, write_groups
from radreward.data.split import is_held_out
from radreward.data.tokenizer import byte_tokenizer
from radreward.errors import InputError
from radreward.models import load_reward_model
from radreward.modules import RewardModule
from radreward.modules.checkpoints import load_checkpoint
from radreward.modules.progress import ProgressBar
from radreward.modules.run_resume import start_run
from tests.tiny_run import TAGS


def test_run_folder_holds_settings_versions_checkpoints_and_model(trained: Path) -> None:
    versions = json.loads((trained / "versions.json").read_text())
    assert versions["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert list(json.loads((trained / "data.json").read_text()).values())[0].isalnum()
    metrics = json.loads((trained / "metrics.json").read_text())
    assert set(metrics["agreement"]) == {*TAGS, "total", "errors"}
    assert metrics["steps"] == 6
    assert metrics["weights"] == "best"
    assert {path.name for path in (trained / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    best = load_checkpoint(trained / "checkpoints" / "best.ckpt")
    assert (metrics["weights_step"], metrics["seed"]) == (best["global_step"], 0)
    card = (trained / "model" / "README.md").read_text()
    assert f"- weights\\_step: {best['global_step']}\n- seed: 0\n" in card
    assert "- objective: radreward.objectives.MarginRewardEnforcement\n- objective lambda" in card
    assert list((trained / "logs").glob("events.out.tfevents.*"))
    assert {path.name for path in (trained / "model").iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "calibration.json",
    }


def test_tensorboard_shows_settings_losses_agreement_histograms_and_plots(trained: Path) -> None:
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
    assert scalars | {"lr"} <= set(found["scalars"])
    assert yaml.safe_load((trained / "logs" / "hparams.yaml").read_text())["trainer.max_steps"] == 6
    assert not {f"val/tau_{tag}" for tag in TAGS[2:]} & set(found["scalars"])  # no such errors in the data
    assert {f"rewards/{tag}" for tag in TAGS} <= set(found["histograms"])
    assert set(found["images"]) == {f"calibration/{tag}" for tag in TAGS}
    assert [event.step for event in events.Scalars("train/loss")] == [0, 1, 2, 3, 4, 5]
    assert [event.step for event in events.Images(f"calibration/{TAGS[0]}")] == [6]
    measured = json.loads((trained / "metrics.json").read_text())["agreement"]["total"]
    assert events.Scalars("final/tau_b")[0].value == pytest.approx(measured["tau_b"], abs=1e-6)
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"model.backbone.lora.r" in content
    assert b"trainer.max_steps" in content
    assert b"trainer.precision" not in content  # a default
    assert events.PluginTagToContent("pr_curves").keys() == {f"errors/{tag}" for tag in TAGS[:2]}
    (text,) = events.Tensors("val/most_wrongly_ranked_pairs/text_summary")
    [shown] = text.tensor_proto.string_val
    assert shown == b"No validation pair is ranked wrongly." or b"**Worse candidate: " in shown


def test_curves_of_a_short_run_have_a_point_per_step(config: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "short"
    options = ["--trainer.log_every_n_steps=10", "--trainer.limit_train_batches=2", f"--run-dir={run_dir}"]
    assert main(["fit", f"--config={config}", *options]) == 0
    events = EventAccumulator(str(run_dir / "logs")).Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [0, 1, 2, 3, 4, 5]
    assert [event.step for event in events.Scalars("Overview/loss")] == [1, 2, 3, 4, 5, 6]


def test_ctrl_c_without_a_checkpoint_prints_the_remedy(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("radreward.cli.score.check_input", stopped)
    assert main(["score", f"--scorers={trained}", "--input=a.jsonl", "--output=b.jsonl"]) == 130
    assert capsys.readouterr().err == "radreward: interrupted. Run the same command again.\n"


def test_validation_file_holds_every_reward(trained: Path) -> None:
    from radreward.cli import build

    kept = pq.read_table(trained / "validation.parquet")
    assert kept.column_names == [
        "group",
        "candidate",
        *(f"{kind}/{tag}" for kind in ("reward", "errors") for tag in TAGS),
    ]
    rows = kept.to_pylist()
    data = build(trained / "config.yaml", f"run_dir={trained / 'again'}").data
    assert isinstance(data, PairedReportDataModule)
    known = {group.id: group for group in read_groups(data.files[0], RadCliQCriteria())}
    assert (
        len(rows)
        == json.loads((trained / "metrics.json").read_text())["candidates"]
        == 3 * len({r["group"] for r in rows})
    )
    for row in rows:
        errors = known[row["group"]].candidates[row["candidate"]].errors
        assert {tag: row[f"errors/{tag}"] for tag in TAGS} == errors


def test_saved_configuration_builds_the_same_run(trained: Path, tmp_path: Path) -> None:
    from radreward.cli import build

    again = build(trained / "config.yaml", f"run_dir={tmp_path / 'again'}")
    assert isinstance(again.module, RewardModule)
    assert isinstance(again.data, PairedReportDataModule)
    assert again.module.model.backbone.name == "tiny-bert"
    assert again.module.criteria == RadCliQCriteria() == again.data.criteria
    assert again.checkpoint is None
    assert again.trainer.max_steps == 6


@pytest.mark.parametrize("setting", ["model.backbone.lora", "model.init_args.backbone.init_args.lora"])
def test_nested_null_replaces_a_setting_of_the_file(setting: str, trained: Path, tmp_path: Path) -> None:
    from radreward.cli import build

    training = build(trained / "config.yaml", f"{setting}=null", "model.head_hidden_size=8", f"run_dir={tmp_path}")
    assert isinstance(training.module, RewardModule)
    assert (training.module.model.backbone.lora, training.module.model.backbone.name) == (None, "tiny-bert")


def reload_checkpoint(path: Path) -> None:
    """Load a module from its checkpoint alone; the target of a new process."""
    module = RewardModule.load_from_checkpoint(path, map_location="cpu")
    saved, own = torch.load(path, weights_only=True)["state_dict"], module.state_dict()
    assert module.model.head_hidden_size == 4
    assert saved.keys() < own.keys()  # the frozen backbone is not in it
    assert all(torch.equal(own[name], value) for name, value in saved.items())


def test_checkpoint_reloads_in_a_new_process_without_the_configuration(
    trained: Path, processes: ForkServerContext
) -> None:
    process = processes.Process(target=reload_checkpoint, args=(trained / "checkpoints" / "last.ckpt",))
    process.start()
    process.join()
    assert process.exitcode == 0


def test_existing_run_is_overwritten_only_on_request(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (trained / "metrics.json").read_bytes()
    assert main(["fit", f"--config={trained.parent / 'config.yaml'}"]) == 2
    assert "holds a run" in capsys.readouterr().err
    assert (trained / "metrics.json").read_bytes() == before


def test_folder_that_only_looks_like_a_run_is_never_overwritten(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "data.json").write_text("{}")
    assert main(["fit", f"--config={config}", f"--run-dir={folder}", "--overwrite"]) == 2
    assert "mine: Expected a folder that is new, empty or holds a run" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["data.json"]


def test_other_ranks_accept_the_folder_of_rank_zero(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from radreward.cli import build

    class Reached(Exception):
        pass

    def fit(*_: object, **__: object) -> None:
        raise Reached

    first, second = build(config), build(config)
    start_run(first.run_folder, first.data.file_fingerprints(), resume=False)
    with pytest.raises(InputError, match="holds a run"):
        second.fit()
    monkeypatch.setattr(Trainer, "is_global_zero", False)
    monkeypatch.setattr(Trainer, "fit", fit)
    with pytest.raises(Reached):
        second.fit()


def step(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, weights_only=True)["global_step"])


def test_non_finite_loss_prints_one_line_and_keeps_the_last_checkpoint(
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
    message = (
        r"radreward: Broken: The loss is nan in step 3, groups \d+, \d+, \d+, \d+\. Lower model\.optimizer\.lr; .*\n"
    )
    assert re.fullmatch(message, error)
    last = torch.load(tmp_path / "run" / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 3
    assert all(value.isfinite().all() for value in last["state_dict"].values())
    assert not (tmp_path / "run" / "model").exists()


def test_undefined_agreement_is_never_best_and_counts_for_early_stopping(
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
    assert main(["fit", f"--config={config}", "--trainer.callbacks=silence.Silence", "--early-stop=2"]) == 0
    assert "Step 2: τ-b of the total is undefined" in caplog.text
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["steps"] == 4  # of 6: stopped after the second validation
    assert metrics["weights"] == "last"
    assert metrics["validation_tau_b"] is None
    scalars = EventAccumulator(str(tmp_path / "run" / "logs")).Reload().Tags()["scalars"]
    assert "train/loss" in scalars
    assert [name for name in scalars if "tau" in name] == ["final/max_tau_b"]  # it depends on the errors alone


OTHER = {
    "backbone": (["--model.backbone.name=tiny-llama"], "comes from another model: "),
    "rank": (["--model.backbone.lora.r=8"], "has the shape"),
    "head": (["--model.head_hidden_size=8"], "has the shape"),
    "objective": (
        ["--model.objective=BradleyTerry"],
        "Expected the module, objective and criteria of its run but got other ones: model.objective "
        "radreward.objectives.MarginRewardEnforcement → radreward.objectives.BradleyTerry. Start a new run with "
        "--run-dir, and with --init-from for the weights of a saved model.",
    ),
    "setting of the objective": (
        ["--model.objective=MarginRewardEnforcement", "--model.objective.c=0.5"],
        "but got other ones: model.objective.c 0.01 → 0.5. Start",
    ),
    "criteria": (["--criteria=radcliq-significance"], "but got other ones: criteria radcliq → radcliq-significance."),
}


@pytest.mark.parametrize(("arguments", "message"), OTHER.values(), ids=OTHER.keys())
def test_checkpoint_of_another_model_is_rejected_and_the_run_unchanged(
    arguments: list[str], message: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (trained / "config.yaml").read_bytes()
    assert main(["fit", f"--config={trained.parent / 'config.yaml'}", "--ckpt-path=last", *arguments]) == 2
    error = capsys.readouterr().err
    assert f"{trained / 'checkpoints' / 'last.ckpt'}: " in error
    assert message in error
    assert error.count("\n") == 1
    assert (trained / "config.yaml").read_bytes() == before


def test_resumed_run_with_other_settings_logs_them_in_one_line(
    trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    command = ["fit", f"--config={trained.parent / 'config.yaml'}", f"--run-dir={run}", "--ckpt-path=last"]
    results = ["--model.optimizer=AdamWConfig", "--data.batch_size=2", "--trainer.val_check_interval=1"]
    other = ["--trainer.max_steps=7", "--trainer.log_every_n_steps=2", "--data.num_workers=1"]
    for settings, expected in (
        (
            [*other, *results],
            [
                f"{run}: The run resumes with other settings: model.optimizer null → radreward.modules.AdamWConfig, "
                "data.batch_size 4 → 2, trainer.val_check_interval 2 → 1. The optimizer keeps the learning rates and "
                "the weight decay of the checkpoint."
            ],
        ),
        (["--trainer.max_steps=7", *results], []),
    ):
        caplog.clear()
        assert main([*command, *settings]) == 0
        assert [message for message in caplog.messages if "resumes" in message] == expected


def test_missing_checkpoint_is_named(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, path in (("best", tmp_path / "run" / "checkpoints" / "best.ckpt"), ("gone.ckpt", Path("gone.ckpt"))):
        assert main(["fit", f"--config={config}", f"--ckpt-path={given}"]) == 2
        assert f"radreward: {path}: Expected a checkpoint to resume from" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("precision", ["bf16-true", "64-true"])
def test_run_in_another_precision_saves_a_model(precision: str, config: Path, tmp_path: Path) -> None:
    assert main(["fit", f"--config={config}", f"--trainer.precision={precision}", "--trainer.max_steps=2"]) == 0
    assert load_reward_model(tmp_path / "run" / "model").calibration is not None


# bitsandbytes uses a deprecated name of torch.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:MatMul8bitLt:UserWarning")
@pytest.mark.parametrize("quantization", ["4bit", "8bit"])
def test_quantized_backbone_trains_resumes_and_scores(
    quantization: str, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bitsandbytes")
    backbone = tmp_path / "backbone"
    llama = LlamaConfig(
        vocab_size=260, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
    )
    AutoModel.from_config(llama).save_pretrained(backbone)  # rows of 64 weights: the block of 4-bit numbers
    byte_tokenizer(encoder=False).save_pretrained(backbone)
    command = ["fit", f"--config={config}", f"--model.backbone.name={backbone}", "--trainer.max_steps=2"]
    command.append(f"--model.backbone.quantization={quantization}")
    assert main(command) == 0
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    state = torch.load(last, weights_only=True)["state_dict"]
    trained = ("model.head.", "model.finding_head.", "model.pooling.")
    assert all("lora_" in name or name.startswith(trained) for name in state)
    assert main([*command, "--ckpt-path=last", "--trainer.max_steps=3"]) == 0
    assert step(last) == 3
    capsys.readouterr()
    held = tmp_path / "held.jsonl"
    write_groups(held, (g for g in read_groups(tmp_path / "groups.jsonl") if is_held_out(g.reference, 0.3)))
    metrics = tmp_path / "metrics_held.json"
    assert main(["evaluate", f"--scorer={tmp_path / 'run'}", f"--data={held}", f"--output={metrics}"]) == 0
    measured = json.loads((tmp_path / "run" / "metrics.json").read_text())["agreement"]["total"]["tau_b"]
    assert json.loads(metrics.read_text())["agreement"]["total"]["tau_b"] == pytest.approx(measured, abs=0.05)


def test_ctrl_c_prints_the_command_that_resumes(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
        signal.signal(signal.SIGINT, handler)  # Lightning replaces the handler
    assert "--ckpt-path=last" in capfd.readouterr().err


def test_progress_outside_a_terminal_is_printed_as_lines(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", f"--config={config}", "--trainer.enable_progress_bar=true"]) == 0
    shown = capfd.readouterr()
    assert f"step 0 of 6: training, objective: MarginRewardEnforcement, writing to {tmp_path / 'run'}" in shown.err
    pace = r"[\d.e-]+ s per step, \d+ min left"
    assert re.search(rf"step 2 of 6: validation τ-b -?[\d.]+, training loss [\d.]+, {pace}", shown.err)
    assert "Epoch" not in shown.out  # no bar


def test_progress_on_a_terminal_is_a_bar(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    from radreward.cli import build

    monkeypatch.setattr("radreward.cli.training.make_console", lambda: Console(force_terminal=True))
    for given, expected in (([], ProgressBar), (["trainer.callbacks=TQDMProgressBar"], TQDMProgressBar)):
        training = build(config, "trainer.enable_progress_bar=true", *given)
        assert type(training.trainer.progress_bar_callback) is expected
