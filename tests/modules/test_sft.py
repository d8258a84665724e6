"""SFTModule: packed losses and gradients, learning, resume, and a saved model equal to the evaluated one."""

import json
import signal
from dataclasses import replace
from itertools import cycle
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from radreward.cli import build, main
from radreward.cli.training import TrainingRun
from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.collators.sft import SFTCollator
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.log_probs import next_token_loss
from radreward.models.rollout_engine import Completion
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules import SFTModule
from radreward.modules.base import require_collator
from radreward.scorers import load
from radreward.synthesis import synthesize
from radreward.tuning.comparison import compare
from radreward.tuning.runs import read_run
from tests.tiny_run import KILLER, saved_state

ROOT = Path(__file__).resolve().parents[2]
# Full-size runs are tested in test_full_size_experiments.py.
RUNS = [
    path
    for path in sorted(ROOT.glob("experiments/*/*.yaml"))
    if "SFTModule" in path.read_text("utf-8") and "name: tiny-generator" in path.read_text("utf-8")
]
CONFIG = """
run_dir: {folder}/run
criteria: radcliq
checkpoint_every: 1
model:
  class_path: SFTModule
  init_args:
    backbone: {{name: {backbone}, lora: {lora}}}
    max_decoded: 1
    optimizer: {{lr: 1.0e-3}}
data:
  init_args:
    records: {folder}/groups.parquet
    val_split: 0.3
    batch_size: 2
    collator:
      class_path: radreward.data.collators.sft.SFTCollator
      init_args:
        template:
          class_path: radreward.systems.radreason.RadReasonTemplate
          init_args: {{include_instruction: false}}
        analysis_writer:
          class_path: radreward.synthesis.fact_analysis_writer.FactAnalysisWriter
          init_args: {{vary_wording: false}}
        max_length: 300
        max_answer_length: 160
trainer: {{max_steps: 3, val_check_interval: 3, accelerator: cpu, enable_progress_bar: false}}
"""

# Lengths in bytes, the tokens of most tiny backbones.
LONG = ("data.collator.max_length=900", "data.collator.max_answer_length=900")
QUICK = (
    "data.collator.analysis_writer=radreward.data.collators.sft.CountsOnlyWriter",
    "data.collator.max_answer_length=60",  # an untrained model never ends its answers
)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "groups.parquet"
    write_groups(path, synthesize(RadCliQCriteria(), 9, 2, seed=6, granularity="plain"))
    return path


@pytest.fixture
def config(tmp_path: Path, tiny_llama: Path, groups: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "groups.parquet").write_bytes(groups.read_bytes())
    path = tmp_path / "sft.yaml"
    path.write_text(CONFIG.format(folder=tmp_path, backbone=tiny_llama, lora=getattr(request, "param", "null")))
    return path


def ready(config: Path, *overrides: str) -> tuple[TrainingRun, SFTModule]:
    """Return a run that has read its data, and its module."""
    training = build(config, *overrides)
    training.data.setup("fit")
    assert isinstance(training.module, SFTModule)
    return training, training.module


@pytest.mark.parametrize("config", ["null", "{r: 2}"], indirect=True, ids=["all weights", "adapters"])
def test_fit_saves_scorer_and_metrics(config: Path) -> None:
    training = build(config)
    metrics = training.fit()
    saved = json.loads(training.run_folder.metrics.read_text())
    assert saved["agreement"] == metrics
    assert set(metrics) == {*RadCliQCriteria().tags, "total"}
    similarities = ("bleu_4", "rouge_l", "bertscore")
    expected = {"loss", "well_formed", "finished", "exact", "candidates", "bertscore_truncated"}
    assert set(saved["answers"]) == expected | {f"{name}{suffix}" for name in similarities for suffix in ("", "_std")}
    assert all(-1 <= saved["answers"][name] <= 1 for name in similarities)
    events = EventAccumulator(str(training.run_folder.folder / "logs"))
    events.Reload()
    logged = {name: [entry.value for entry in events.Scalars(f"val/{name}")] for name in similarities}
    assert len(logged["bleu_4"]) == len(logged["rouge_l"]) == 2
    assert logged["bertscore"] == [pytest.approx(saved["answers"]["bertscore"])], "only after training"
    assert saved["answers"]["candidates"] > 2, "after training all answers are generated"
    run = read_run(training.run_folder.folder)
    assert len(run.validation.group) == saved["answers"]["candidates"]
    compared = compare([run, replace(run, folder=Path("other"), seed="1")])
    assert compared.metrics["total"][0]["count_mae"].mean == metrics["total"]["count_mae"]
    module = training.module
    assert isinstance(module, SFTModule)
    scorer = load(training.run_folder.folder)
    texts = ["Small left effusion."], ["Clear lungs."]
    evidence = scorer.score(*texts).evidence
    assert evidence is not None
    assert evidence[0].raw_answer
    measured = {name: value for name, value in module.model.named_parameters() if value.requires_grad}
    loaded = scorer.evaluator.trained_state()  # type: ignore[attr-defined]  # of a generative scorer
    assert {name: value.tolist() for name, value in measured.items()} == {n: v.tolist() for n, v in loaded.items()}


@pytest.mark.parametrize("config", ["{r: 2}"], indirect=True, ids=[""])
def test_resume_after_kill_equals_uninterrupted_run_bit_for_bit(
    config: Path, processes: ForkServerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = config.parent
    (folder / "killing.py").write_text(KILLER)
    monkeypatch.chdir(folder)
    # Six groups in batches of two: the run spans two epochs.
    settings = ("trainer.max_steps=5", "trainer.val_check_interval=4", "checkpoint_every=2", *QUICK)
    command = ["fit", f"--config={config}", *(f"--{entry}" for entry in settings)]
    assert main([*command, f"--run-dir={folder / 'uninterrupted'}"]) == 0
    # between two checkpoints, and in a validation
    for hook, step, last in (("on_train_batch_end", 3, 2), ("on_validation_start", 4, 2)):
        killer = [f"--trainer.callbacks{entry}" for entry in ("=killing.Killer", f".hook={hook}", f".step={step}")]
        killed = folder / hook
        run = processes.Process(target=main, args=([*command, f"--run-dir={killed}", *killer],))
        run.start()
        run.join()
        assert run.exitcode == -signal.SIGKILL
        assert saved_state(killed)["step"] == last
        assert main([*command, f"--run-dir={killed}", "--ckpt-path=last"]) == 0
        torch.testing.assert_close(saved_state(killed), saved_state(folder / "uninterrupted"), rtol=0, atol=0)
        for file in ("metrics.json", "model/model.safetensors"):
            assert (killed / file).read_bytes() == (folder / "uninterrupted" / file).read_bytes(), (hook, file)


def test_init_from_loads_saved_weights(config: Path) -> None:
    training = build(config, *QUICK, "trainer.max_steps=1", "trainer.val_check_interval=1")
    training.fit()
    second_run = build(config, *QUICK, f"run_dir={config.parent}/next", f"init_from={training.run_folder.folder}")
    assert second_run.init_from is not None
    second_run.module.load_initial_weights(second_run.init_from)
    first, second = (dict(run.module.named_parameters()) for run in (training, second_run))
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    with pytest.raises(InputError, match="the backbone and adapters of this run but"):
        SFTModule(Backbone("tiny-llama", lora=None)).load_initial_weights(second_run.init_from)


def test_packed_loss_and_gradients_equal_separate_rows(config: Path) -> None:
    losses, gradients = [], []
    for packing in ("tree", "rows"):
        training, module = ready(config, f"data.collator.packing={packing}", "model.backbone.name=tiny-mistral", *LONG)
        batch = next(iter(training.data.train_dataloader()))
        loss = next_token_loss(module.model, batch.packed, batch.targets)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        gradients.append({n: p.grad for n, p in module.model.named_parameters() if p.grad is not None})
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for name, value in gradients[0].items():
        torch.testing.assert_close(value, gradients[1][name], rtol=1e-3, atol=1e-5)


def test_loss_is_mean_over_answer_tokens(config: Path) -> None:
    training, module = ready(config)
    batch = next(iter(training.data.train_dataloader()))
    collator = training.data.collator  # type: ignore[attr-defined]
    logps = []
    with torch.no_grad():
        for prompt, answer in zip(batch.prompts, batch.answers, strict=True):
            tokens = [token for segment in prompt for token in segment]
            target = collator.prompt_encoder.encode_answer(answer)
            logits = module.model(torch.tensor([[*tokens, *target]]), use_cache=False).logits[0].log_softmax(-1)
            logps += [float(logits[len(tokens) - 1 + index, token]) for index, token in enumerate(target)]
        loss = next_token_loss(module.model, batch.packed, batch.targets)
    assert float(loss) == pytest.approx(-sum(logps) / len(logps), rel=1e-5)


def test_model_learns_the_answers_of_a_batch(config: Path) -> None:
    training, module = ready(config)
    collator = require_collator(training.data, SFTCollator, "SFT")
    group = next(synthesize(RadCliQCriteria(), 1, 2, seed=4, granularity="plain"))
    batch = collator.collate([group._replace(candidates=group.candidates[:1])])
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2)
    for _ in range(90):
        optimizer.zero_grad()
        loss = next_token_loss(module.model, batch.packed, batch.targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert loss.item() < 0.05
    module.trainer = training.trainer
    training.trainer.datamodule = training.data  # type: ignore[attr-defined]
    module.on_validation_start()
    with torch.no_grad():
        output = module.validation_step(batch, 0)
    assert output is not None
    example = output["example"]
    assert "".join(example.generated.split()) == "".join(example.target.split())
    (generations,) = module.val_generations
    assert generations.columns["well_formed"].all()
    assert generations.columns["finished"].all()
    assert torch.equal(generations.predicted.counts, generations.predicted.target)
    assert [generations.columns[name][0].item() for name in ("bleu_4", "rouge_l")] == pytest.approx([1.0, 1.0])
    assert generations.columns["bertscore"].isnan().all()


def test_unparsable_answers_count_as_wrong_and_do_not_stop_the_run(
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
    metrics = training.fit()
    assert all(row["parsed"] == row["accuracy"] == 0 for row in metrics.values())
    assert metrics["total"]["count_mae"] is None
    answers = json.loads(training.run_folder.metrics.read_text())["answers"]
    assert (answers["well_formed"], answers["finished"], answers["exact"]) == (0, 0, 0)


def test_packing_that_changes_the_loss_raises(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter((1.0, 1.1))
    monkeypatch.setattr(
        "radreward.modules.sft.next_token_loss", lambda *_: torch.tensor(next(losses), requires_grad=True)
    )
    with pytest.raises(InputError, match="Use `packing: rows`"):
        build(config).fit()


def test_loss_not_finite_raises_with_groups(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "radreward.modules.sft.next_token_loss", lambda *_: torch.tensor(float("nan"), requires_grad=True)
    )
    monkeypatch.setattr(SFTModule, "check_packing", lambda *_: None)
    with pytest.raises(FloatingPointError, match=r"The loss is nan in step 0, groups synthetic-6-"):
        build(config).fit()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.collator=radreward.data.collators.reward.RewardCollator", "data.collator: Expected SFTCollator for SFT"),
        ("data.collator.max_length=20000", "Expected `max_length` to be at most"),
        ("data.collator.max_answer_length=9", "Set a larger max_answer_length"),
        ("model.backbone.name=tiny-bert", "is an encoder"),
        ("model.max_decoded=0", "`max_decoded`"),
    ],
)
def test_fit_with_incompatible_settings_reports_them(
    config: Path, override: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", f"--config={config}", f"--{override}"]) == 2
    assert message in capsys.readouterr().err
    assert not (config.parent / "run" / "model").exists()


def test_template_of_another_class_is_refused_before_training(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_template.py").write_text(
        "from radreward.systems.radreason import RadReasonTemplate\nclass MyTemplate(RadReasonTemplate): pass\n"
    )
    assert main(["fit", f"--config={config}", "--data.collator.template=my_template.MyTemplate"]) == 2
    assert "data.collator.template: Expected GreenTemplate or RadReasonTemplate but got My" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_validation_compares_green_score_with_written_answer(config: Path) -> None:
    groups = synthesize(RadCliQSignificanceCriteria(), 8, 2, seed=1, granularity="plain")
    write_groups(config.parent / "groups.parquet", groups)
    training, _ = ready(
        config,
        "criteria=radcliq-significance",
        "data.collator.template=radreward.systems.green.GreenTemplate",
        "data.collator.max_length=1200",
        "data.collator.max_answer_length=500",
        "data.batch_size=1",
    )
    batch = next(iter(training.data.train_dataloader()))
    collator = require_collator(training.data, SFTCollator, "SFT")
    statistics = collator.template.answer_statistics(batch.answers[0], collator.criteria)
    assert set(statistics) == {"matched", "score", "significant", "insignificant"}
    assert None not in statistics.values()
    unparsable = collator.template.answer_statistics("I cannot.", collator.criteria)
    assert dict.fromkeys(statistics) == unparsable


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_sft_experiments_build_with_a_small_backbone(path: Path) -> None:
    small = (
        "model.backbone.name=tiny-llama",
        "model.backbone.lora={r: 2}",
        "model.backbone.dtype=float32",
        "init_from=null",
    )
    training = build(path, *small, "trainer.accelerator=cpu", "trainer.devices=1", "trainer.precision=32-true")
    assert isinstance(training.module, SFTModule)
    training.module.exporter.check(training.module, training.data)
