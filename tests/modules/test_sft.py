"""SFTModule: it learns answers, the packed way as the separate way, and what it saves is what was measured."""

import json
import signal
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from radreward.cli import build, main
from radreward.comparison import compare
from radreward.comparison.runs import read_run
from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.rollout_engine import Completion
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules import SFTModule
from radreward.modules.generation_metrics import green_score_errors
from radreward.modules.sft import require_sft_collator
from radreward.scorers import load
from radreward.synthesis.pipeline import synthesize
from tests.tiny_run import saved_state

ROOT = Path(__file__).resolve().parents[2]
RUNS = [path for path in sorted(ROOT.glob("experiments/*/*.yaml")) if "SFTModule" in path.read_text("utf-8")]
CONFIG = """
run: {folder}/run
criteria: RadCliQ
checkpoint_every: 1
model:
  class_path: AnalysisModule
  init_args:
    backbone: {{name: tiny-generator, lora: {lora}}}
    decoded: 1
    optimizer: {{lr: 1.0e-3}}
data:
  init_args:
    records: {folder}/groups.parquet
    validation: 0.3
    groups_per_batch: 2
    collator:
      class_path: radreward.data.collators.sft.SFTCollator
      init_args:
        template: {{class_path: radreward.systems.radreason.prompt.RadReasonTemplate, init_args: {{instructed: false}}}}
        writer: {{class_path: radreward.synthesis.fact_analysis_writer.FactAnalysisWriter, init_args: {{varied: false}}}}
        max_length: 200
        max_answer: 90
trainer: {{max_steps: 3, val_check_interval: 3, accelerator: cpu, enable_progress_bar: false}}
"""

LONG = (
    "data.collator.max_length=900",
    "data.collator.max_answer_length=900",
)  # in bytes, which most tiny backbones read
QUICK = (
    "model.backbone.name=tiny-llama",
    "data.collator.analysis_writer=radreward.data.collators.sft.CountsOnlyWriter",
    "data.collator.max_length=900",
    "data.collator.max_answer_length=600",
)
KILLER = """
import os, signal
import torch
from lightning.pytorch import Callback

torch.set_num_threads(1)  # as in the process that continues

class Killer(Callback):
    def __init__(self, hook: str, step: int) -> None:
        setattr(self, hook, lambda trainer, *_: trainer.global_step == step and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture
def config(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    write_groups(tmp_path / "groups.parquet", synthesize(RadCliQCriteria(), 6, 2, seed=1, granularity="plain"))
    path = tmp_path / "sft.yaml"
    path.write_text(CONFIG.format(folder=tmp_path, lora=getattr(request, "param", "null")))
    return path


@pytest.mark.parametrize("config", ["null", "{r: 2}"], indirect=True, ids=["whole", "adapters"])
def test_a_run_leaves_a_scorer_and_figures(config: Path) -> None:
    training = build(config)
    figures = training.fit()
    saved = json.loads(training.run_folder.metrics.read_text())
    assert saved["agreement"] == figures
    assert set(figures) == {*RadCliQCriteria().tags, "total"}
    spread = {f"{name}{sd}" for name in ("bleu_4", "rouge_l", "bertscore", "green_difference") for sd in ("", "_sd")}
    spread |= {f"{name}_{part}" for name in ("significant", "insignificant", "matched") for part in ("mae", "sd")}
    expected = {"loss", "valid", "finished", "exact", "candidates", "bertscore_cut", *spread}
    assert set(saved["answers"]) == expected
    measured = ("bleu_4", "rouge_l", "bertscore")
    assert all(-1 <= saved["answers"][name] <= 1 for name in measured)
    assert saved["answers"]["significant_mae"] is None, "the criteria are not by significance"
    events = EventAccumulator(str(training.run_folder.folder / "logs"))
    events.Reload()
    logged = {name: [entry.value for entry in events.Scalars(f"val/{name}")] for name in measured}
    assert len(logged["bleu_4"]) == len(logged["rouge_l"]) == 2
    assert logged["bertscore"] == [pytest.approx(saved["answers"]["bertscore"])], "after training alone"
    assert saved["answers"]["candidates"] > 2, "after training all are answered"
    run = read_run(training.run_folder.folder)
    assert len(run.validation.group) == saved["answers"]["candidates"]
    compared = compare([run, run._replace(folder=Path("other"), seed="1")])
    assert compared.metrics["total"][0]["count_mae"].mean == figures["total"]["count_mae"]
    module = training.module
    assert isinstance(module, SFTModule)
    scorer = load(training.run_folder.folder)
    texts = ["Small left effusion."], ["Clear lungs."]
    shown = scorer.score(*texts).evidence
    assert shown is not None
    assert shown[0].answer
    again = {name: value for name, value in module.model.named_parameters() if value.requires_grad}
    kept = scorer.explainer.trained_state()  # type: ignore[attr-defined]  # of one that explains
    assert {name: value.tolist() for name, value in again.items()} == {n: v.tolist() for n, v in kept.items()}


@pytest.mark.parametrize(
    ("hook", "step", "last"),
    [
        pytest.param("on_train_batch_end", 3, 2, id="between two checkpoints"),
        pytest.param("on_validation_start", 4, 2, id="in a validation"),
    ],
)
@pytest.mark.parametrize("config", ["{r: 2}"], indirect=True, ids=[""])
def test_killed_and_continued_is_bit_for_bit_as_if_never_killed(
    config: Path, monkeypatch: pytest.MonkeyPatch, hook: str, step: int, last: int
) -> None:
    folder = config.parent
    (folder / "killing.py").write_text(KILLER)
    monkeypatch.chdir(folder)
    context = get_context("forkserver")
    context.set_forkserver_preload(["radreward.cli.training"])
    # Six groups in batches of two: an epoch ends within.
    settings = ("trainer.max_steps=5", "trainer.val_check_interval=4", "checkpoint_every=2", *QUICK)
    command = ["fit", f"--config={config}", *(f"--{entry}" for entry in settings)]
    killer = [f"--trainer.callbacks{entry}" for entry in ("=killing.Killer", f".hook={hook}", f".step={step}")]
    run = context.Process(target=main, args=([*command, f"--run-dir={folder / 'killed'}", *killer],))
    run.start()
    assert main([*command, f"--run-dir={folder / 'whole'}"]) == 0
    run.join()
    assert run.exitcode == -signal.SIGKILL
    assert saved_state(folder / "killed")["step"] == last
    assert main([*command, f"--run-dir={folder / 'killed'}", "--ckpt_path=last"]) == 0
    torch.testing.assert_close(saved_state(folder / "killed"), saved_state(folder / "whole"), rtol=0, atol=0)
    for file in ("metrics.json", "model/model.safetensors"):
        assert (folder / "killed" / file).read_bytes() == (folder / "whole" / file).read_bytes(), file


def test_a_run_begins_with_a_saved_model(config: Path) -> None:
    training = build(config)
    training.fit()
    begun = build(config, f"run_dir={config.parent}/next", f"init_from={training.run_folder.folder}")
    assert begun.start is not None
    begun.module.load_initial_weights(begun.start)
    first, second = (dict(one.module.named_parameters()) for one in (training, begun))
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    with pytest.raises(InputError, match="backbone and adapters"):
        SFTModule(Backbone("tiny-llama", lora=None)).load_initial_weights(begun.start)


def test_packed_and_separate_rows_have_the_same_loss_and_gradients(config: Path) -> None:
    losses, gradients = [], []
    for packing in ("tree", "rows"):
        training = build(config, f"data.collator.packing={packing}", "model.backbone.name=tiny-mistral", *LONG)
        training.data.setup("fit")
        module = training.module
        assert isinstance(module, SFTModule)
        batch = next(iter(training.data.train_dataloader()))
        loss = module._token_loss(batch.packed, batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        gradients.append({n: p.grad for n, p in module.model.named_parameters() if p.grad is not None})
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for name, value in gradients[0].items():
        torch.testing.assert_close(value, gradients[1][name], rtol=1e-3, atol=1e-5)


def test_the_loss_is_the_mean_over_the_tokens_of_answers(config: Path) -> None:
    training = build(config)
    training.data.setup("fit")
    module = training.module
    assert isinstance(module, SFTModule)
    batch = next(iter(training.data.train_dataloader()))
    collator = training.data.collator  # type: ignore[attr-defined]
    logps = []
    with torch.no_grad():
        for prompt, answer in zip(batch.prompts, batch.answers, strict=True):
            tokens = [token for piece in prompt for token in piece]
            wanted = collator.questions.answer(answer)
            logits = module.model(torch.tensor([[*tokens, *wanted]]), use_cache=False).logits[0].log_softmax(-1)
            logps += [float(logits[len(tokens) - 1 + place, token]) for place, token in enumerate(wanted)]
        found = module._token_loss(batch.packed, batch.labels)
    assert float(found) == pytest.approx(-sum(logps) / len(logps), rel=1e-5)


def test_a_model_learns_the_answers_of_a_batch(config: Path) -> None:
    training = build(config)
    training.data.setup("fit")
    module = training.module
    assert isinstance(module, SFTModule)
    collator = require_sft_collator(training.data)
    group = next(synthesize(RadCliQCriteria(), 1, 2, seed=4, granularity="plain"))
    batch = collator.collate([group._replace(candidates=group.candidates[:1])])
    optimizer = torch.optim.AdamW(module.parameters(), 2e-3)
    for _ in range(80):
        optimizer.zero_grad()
        loss = module._token_loss(batch.packed, batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert loss.item() < 0.05
    module.trainer = training.trainer
    training.trainer.datamodule = training.data  # type: ignore[attr-defined]
    module.on_validation_start()
    seen = module._generate_answers(batch, 1)
    assert seen.well_formed.all()
    assert seen.finished.all()
    assert torch.equal(seen.predicted.counts, seen.predicted.target)
    assert seen.similarity[0, :2].tolist() == pytest.approx([1.0, 1.0])
    assert seen.similarity[:, 2].isnan().all()


def test_answers_that_cannot_be_read_count_as_wrong_and_end_nothing(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = cycle(
        ["", "x" * 100_001, "<think>" * 9_000, "<think> endless", "<think></think><omission>1e999</omission>"]
        + ["<think></think>" + f"<{tag}>NaN</{tag}>" * 2 for tag in RadCliQCriteria().tags]
    )

    def greedy(engine: object, prompts: Any, *_: object) -> list[Completion]:
        return [Completion((3,), (0.0,), next(texts), "length") for _ in prompts]

    monkeypatch.setattr(TransformersEngine, "greedy", greedy)
    training = build(config, *QUICK, "trainer.max_steps=1", "trainer.val_check_interval=1")
    figures = training.fit()
    assert all(row["read"] == row["accuracy"] == 0 for row in figures.values())
    assert figures["total"]["count_mae"] is None
    told = json.loads(training.run_folder.metrics.read_text())["answers"]
    assert (told["valid"], told["finished"], told["exact"]) == (0, 0, 0)


def test_packing_that_changes_the_loss_ends_the_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter((1.0, 1.1))
    monkeypatch.setattr(SFTModule, "_loss", lambda *_: torch.tensor(next(losses), requires_grad=True))
    with pytest.raises(InputError, match="Use `packing: rows`"):
        build(config).fit()


def test_a_loss_that_is_not_finite_names_its_groups(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SFTModule, "_loss", lambda *_: torch.tensor(float("nan"), requires_grad=True))
    monkeypatch.setattr(SFTModule, "_check_packing", lambda *_: None)
    with pytest.raises(FloatingPointError, match=r"The loss is nan in step 0, groups synthetic-1-"):
        build(config).fit()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.collator=radreward.data.collators.reward.RewardCollator", "data.collator: Expected Responses"),
        ("data.collator.max_length=5000", "Expected `max_length` to be at most"),
        ("data.collator.max_answer_length=9", "Set a larger max_answer"),
        ("model.backbone.name=tiny-bert", "is an encoder"),
        ("model.max_decoded=0", "`decoded`"),
    ],
)
def test_settings_that_do_not_go_together_are_told(
    config: Path, override: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", f"--config={config}", f"--{override}"]) == 2
    assert message in capsys.readouterr().err
    assert not (config.parent / "run" / "model").exists()


def test_green_is_compared_with_the_written_answer(config: Path) -> None:
    folder = config.parent
    write_groups(
        folder / "groups.parquet", synthesize(RadCliQSignificanceCriteria(), 8, 2, seed=1, granularity="plain")
    )
    training = build(
        config,
        "criteria=radcliq-significance",
        "data.collator.template=radreward.systems.green.prompt.GreenTemplate",
        "data.collator.max_length=1200",
        "data.collator.max_answer_length=500",
        "data.batch_size=1",
    )
    training.data.setup("fit")
    module = training.module
    assert isinstance(module, SFTModule)
    batch = next(iter(training.data.train_dataloader()))
    collator = require_sft_collator(training.data)
    assert green_score_errors(batch.answers[0], batch.answers[0], collator.criteria) == (0, 0)
    assert torch.tensor(green_score_errors("I cannot.", batch.answers[0], collator.criteria)).isnan().all()


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_experiments_of_analyses_are_read(path: Path) -> None:
    small = (
        "model.backbone.name=tiny-llama",
        "model.backbone.lora={r: 2}",
        "model.backbone.dtype=float32",
        "init_from=null",
    )
    training = build(path, *small, "trainer.accelerator=cpu", "trainer.devices=1", "trainer.precision=32-true")
    assert isinstance(training.module, SFTModule)
    training.module.validate_setup(training.data)
