"""GRPOModule: rollouts, losses, logged values, resume, and errors that must be reported."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from copy import deepcopy
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from radreward.cli import build, main
from radreward.cli.training import TrainingRun
from radreward.criteria import Criteria
from radreward.data.collators.rollout import RolloutCollator
from radreward.errors import InputError
from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules.constant_reward import ConstantRewardWarning
from radreward.modules.grpo import GRPOModule
from radreward.modules.rollouts import RolloutConfig, format_error_kind, reward_inputs
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.systems.green import GreenTemplate
from radreward.systems.radreason import RadReasonTemplate, format_radreason, parse_radreason
from radreward.tuning.runs import read_run
from radreward.types import Candidate, ParsedCompletions, ReportGroup
from tests.tiny_run import KILLER, saved_state

CRITERIA_YAML = {
    "name": "two",
    "criteria": [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}],
}
CRITERIA = Criteria(**CRITERIA_YAML)  # type: ignore[arg-type]  # the two fields
PLAIN = {"class_path": "Backbone", "init_args": {"name": "tiny-llama", "lora": None}}
LETTER_REWARD = """
import torch
from radreward.objectives import RewardFunction

class LetterReward(RewardFunction):
    def forward(self, completions):
        return torch.tensor([[sum(c.isalpha() for c in text) / 10 for text in group] for group in completions.texts])
"""


def write_config(folder: Path, **model: Any) -> Path:
    """Write the configuration of a run whose reward is the number of letters, so that a random model earns it."""
    records = folder / "groups.jsonl"
    with records.open("w") as file:
        for number in range(12):
            reference = f"lamp {number} kettle"
            candidates = [
                {"text": f"{reference}{' b' * k}", "errors": {"tone": k, "length": number % 2}} for k in range(2)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    (folder / "killing.py").write_text(KILLER + LETTER_REWARD)
    objective = {
        "rewards": [{"class_path": "killing.LetterReward"}],
        "clip_epsilon": 0.001,
        "weighting": {"class_path": "DynamicWeighting", "init_args": {"update_interval": 3}},
        "scaling": {"class_path": "MajorityGuidedScaling"},
    }
    criteria = folder / "criteria.yaml"
    criteria.write_text(yaml.safe_dump(CRITERIA_YAML))
    settings = {
        "run_dir": str(folder / "run"),
        "checkpoint_every": 2,
        "criteria": str(criteria),
        "model": {
            "class_path": "radreward.modules.GRPOModule",
            "init_args": {
                "backbone": {"class_path": "Backbone", "init_args": {"name": "tiny-llama", "lora": {"r": 4}}},
                "objective": {"class_path": "GRPO", "init_args": objective},
                "rollouts": {"num_generations": 3, "num_iterations": 2},
                "optimizer": {"lr": 0.01},
                **model,
            },
        },
        "data": {
            "class_path": "radreward.data.paired_datamodule.PairedReportDataModule",
            "init_args": {
                "records": str(records),
                "val_split": 0.3,
                "batch_size": 2,
                "collator": {
                    "class_path": "RolloutCollator",
                    "init_args": {
                        "template": {
                            "class_path": "radreward.systems.radreason.RadReasonTemplate",
                            "init_args": {"include_instruction": False},
                        },
                        "max_length": 64,
                        "max_answer_length": 12,
                    },
                },
            },
        },
        "trainer": {
            "max_steps": 6,
            "val_check_interval": 3,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
        },
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        assert main(["fit", f"--config={write_config(folder)}"]) == 0
    return folder


def scalars(run: Path) -> dict[str, list[float]]:
    events = EventAccumulator(str(run / "logs"))
    events.Reload()
    return {tag: [entry.value for entry in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_fit_learns_and_logs_every_metric(uninterrupted: Path) -> None:
    logged = scalars(uninterrupted / "run")
    for name in (
        *("loss", "kl", "clipped", "reward/accuracy", "reward/accuracy/tone", "reward/LetterReward", "reward/total"),
        *("reward/std", "advantage/max_abs", "advantage/scale", "groups/without_gradient", "weight/tone"),
        *("completions/length", "completions/unfinished", "completions/without_reward", "completions/well_formed"),
        *("format_error/think", "completions/engine_logp_gap"),
    ):
        assert len(logged[f"train/{name}"]) >= 3, name
    assert max(logged["train/completions/engine_logp_gap"]) < 1e-4
    assert max(logged["train/kl"]) > 0
    assert any(value > 0 for value in logged["train/clipped"])
    weights = {name: value for name, value in saved_state(uninterrupted / "run")["weights"].items() if "lora_B" in name}
    assert all(value.abs().max() > 0 for value in weights.values())
    events = EventAccumulator(str(uninterrupted / "run" / "logs"), {"tensors": 0})
    events.Reload()
    assert {"train/advantage_scales", "train/advantages"} <= set(events.Tags()["histograms"])
    assert {"train/completions/text_summary", "val/example/text_summary"} <= set(events.Tags()["tensors"])
    metrics = json.loads((uninterrupted / "run" / "metrics.json").read_text())
    assert set(metrics["agreement"]) == {"tone", "length", "total"}
    assert metrics["agreement"]["total"]["parsed"] == 0
    assert any((uninterrupted / "run" / "model").glob("*.safetensors"))
    predictions = read_run(uninterrupted / "run").validation
    assert len(predictions.group) == len(predictions.rewards) > 2
    assert np.isnan(predictions.rewards).all(), "no answer is parsable, so that no pair is ordered correctly"
    assert metrics["agreement"]["total"]["pair_accuracy"] == 0


def test_validation_decodes_the_prompts_of_all_batches_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    sample, greedy = TransformersEngine.sample, []

    def counting(engine: TransformersEngine, prompts: Any, params: SamplingParams) -> Any:
        if params.temperature == 0:
            greedy.append(len(prompts))
        return sample(engine, prompts, params)

    monkeypatch.setattr(TransformersEngine, "sample", counting)
    training = build(write_config(tmp_path), "trainer.max_steps=1", "trainer.logger=false")
    training.fit()
    batches = list(training.data.val_dataloader())
    assert len(batches) > 1
    assert greedy == [sum(len(batch.prompts) for batch in batches)]


@pytest.mark.parametrize(
    ("hook", "step", "call", "last"),
    [
        pytest.param("on_before_optimizer_step", 4, 2, 4, id="between two updates on the same rollouts"),
        pytest.param("on_validation_start", 3, 1, 2, id="in a validation"),
    ],
)
def test_resume_after_kill_equals_uninterrupted_run_bit_for_bit(
    uninterrupted: Path,
    processes: ForkServerContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hook: str,
    step: int,
    call: int,
    last: int,
) -> None:
    command = ["fit", f"--config={uninterrupted / 'config.yaml'}", f"--run-dir={tmp_path / 'run'}"]
    monkeypatch.chdir(uninterrupted)
    entries = ("=killing.Killer", f".hook={hook}", f".step={step}", f".call={call}")
    run = processes.Process(target=main, args=([*command, *(f"--trainer.callbacks{entry}" for entry in entries)],))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL
    checkpoint = saved_state(tmp_path / "run")
    assert checkpoint["step"] == last
    assert checkpoint["weights"]["objective.weighting.counts"].sum() > 0, "counts not yet used for weights"
    assert (checkpoint["weights"]["reference.weights.1"] == 0).all(), "B of the adapters at the start"
    assert main([*command, "--ckpt-path=last"]) == 0
    torch.testing.assert_close(
        saved_state(tmp_path / "run"), saved_state(uninterrupted / "run"), rtol=0, atol=0, equal_nan=True
    )
    models = [(run / "model" / "model.safetensors").read_bytes() for run in (tmp_path / "run", uninterrupted / "run")]
    assert models[0] == models[1]


class CannedRolloutEngine(RolloutEngine):
    """Engine that returns fixed texts."""

    def __init__(self, texts: list[str], finish: Literal["stop", "length"] = "stop") -> None:
        self.texts, self.finish = texts, finish

    def sample(self, prompts: Any, params: SamplingParams) -> list[tuple[Completion, ...]]:
        group = []
        for number in range(params.num_completions):
            text = self.texts[number % len(self.texts)]
            tokens = tuple(3 + byte % 250 for byte in text.encode()[:40]) or (2,)
            group.append(Completion(tokens, (0.0,) * len(tokens), text, self.finish))
        return [tuple(group) for _ in prompts]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TrainingRun]:
    """Return a function that builds a run with some settings once, with its data."""
    runs: dict[str, TrainingRun] = {}

    def build_once(*overrides: str, **model: Any) -> TrainingRun:
        key = json.dumps([overrides, model])
        if key not in runs:
            folder = tmp_path_factory.mktemp("module")
            with pytest.MonkeyPatch.context() as patch:
                patch.syspath_prepend(folder)
                runs[key] = build(write_config(folder, **model), "trainer.logger=false", *overrides)
            runs[key].data.setup("fit")
            runs[key].trainer.datamodule = runs[key].data  # type: ignore[attr-defined]
        return runs[key]

    return build_once


@pytest.fixture
def module(built: Callable[..., TrainingRun]) -> Callable[..., Any]:
    """Return a factory of modules and their first batch, ready for a training step; each module is a new copy."""

    def make(*overrides: str, texts: list[str] | None = None, **model: Any) -> tuple[Any, Any]:
        training = built(*overrides, **model)
        torch.manual_seed(0)  # as `build` does
        policy: Any = deepcopy(training.module)
        policy.trainer = training.trainer
        policy.logged = {}
        policy.log = lambda *_, **__: None
        policy.log_dict = lambda values, **_: policy.logged.update(values)
        if texts is not None:
            policy.engine = CannedRolloutEngine(texts)
        policy.on_fit_start()
        return policy, next(iter(training.data.train_dataloader()))

    return make


def gradients(module: GRPOModule, loss: Tensor) -> dict[str, Tensor]:
    module.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: value.grad.clone() for name, value in module.named_parameters() if value.grad is not None}


def test_packed_loss_and_gradients_equal_separate_rows(module: Callable[..., Any]) -> None:
    policy, batch = module()
    with torch.no_grad():
        for name, value in policy.model.named_parameters():
            if "lora_B" in name:
                value.normal_(std=0.1)
    packed = policy.training_step(batch, 0)
    expected = gradients(policy, packed)
    policy.packing, policy.rollout_batch = "rows", None
    rows = policy.training_step(batch, 0)
    torch.testing.assert_close(rows, packed, rtol=1e-5, atol=1e-6)
    separate = gradients(policy, rows)
    assert separate.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(separate[name], value, rtol=1e-3, atol=1e-4 * float(value.abs().max()) + 1e-9)


def test_rollouts_depend_on_seed_and_rank_only(module: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    policy, batch = module()
    samples = []
    with torch.random.fork_rng(devices=[]):
        for seed, rank in ((0, 0), (0, 1), (0, 0), (1, 0)):
            torch.manual_seed(seed)
            monkeypatch.setattr(GRPOModule, "global_rank", rank)
            completions = policy.sample_rollouts(batch, 0).completions
            samples.append([completion.tokens for group in completions for completion in group])
    assert samples[0] == samples[2]
    assert not set(samples[0]) & set(samples[1])
    assert not set(samples[0]) & set(samples[3]), "another seed"


def test_counts_in_completions_become_advantages(module: Callable[..., Any]) -> None:
    right = format_radreason([0, 1], "Tone is fine. Length is not.", CRITERIA)
    wrong = format_radreason([1, 1], "Tone.", CRITERIA)
    policy, batch = module(texts=[right, wrong, "<think>"])
    rollout_batch = policy.sample_rollouts(batch, 0)
    parsed = reward_inputs(batch, rollout_batch.completions, rollout_batch.parsed, CRITERIA)
    assert parsed.error_counts[0].tolist()[:2] == [[0.0, 1.0], [1.0, 1.0]]
    assert parsed.error_counts[0, 2].isnan().all()
    assert parsed.well_formed[0].tolist() == [True, True, False]
    assert parsed.mentioned[0].tolist() == [[True, True], [True, False], [False, False]]
    assert parsed.target.tolist() == batch.target.tolist()
    exact = [row for row, target in enumerate(batch.target.tolist()) if target == [0.0, 1.0]]
    advantages = rollout_batch.estimate.advantages
    assert all(advantages[row, 0] > advantages[row, 2] for row in exact)


MALFORMED = [
    ("", "empty"),
    ("x" * 100_001, "too long"),
    ("<think>" * 20_000, "too long"),
    ("<think> endless", "think"),
    ("<tone>1</tone><length>0</length>", "think"),
    ("<think></think><tone>1e999</tone><length>0</length>", "numbers"),
    ("<think></think><tone>NaN</tone><length>0</length>", "numbers"),
    ("<think></think><tone>-3</tone><length>0</length>", "numbers"),
    ("<think></think><tone>two</tone><length>0</length>", "numbers"),
    ("<think></think><tone>1</tone><tone>1</tone><length>0</length>", "numbers"),
    ("<think></think><tone><tone>1</tone></tone><length>0</length>", "numbers"),
    ("<think></think><tone>1<length>0</length>", "numbers"),
    ("<think></think><tone>1</tone>" * 3000, "think"),
    ("<think>The report says </length>", "think"),  # the stop string ends it
]


def test_malformed_completions_are_counted_by_kind(module: Callable[..., Any]) -> None:
    policy, batch = module("data.batch_size=1")
    logged = policy.logged
    for text, kind in MALFORMED:
        assert format_error_kind(parse_radreason(text, CRITERIA)) == kind
        policy.engine, policy.rollout_batch = CannedRolloutEngine([text, format_radreason([0, 0], "", CRITERIA)]), None
        assert policy.training_step(batch, 0).isfinite()
        share = float(logged[f"train/format_error/{kind.replace(' ', '_')}"])
        assert share == pytest.approx(2 / 3)  # the first and the third of three
        assert float(logged["train/completions/well_formed"]) == pytest.approx(1 / 3)


def test_unfinished_completions_are_counted(module: Callable[..., Any]) -> None:
    policy, batch = module()
    logged = policy.logged
    policy.engine = CannedRolloutEngine(["and so on " * 9], "length")
    assert policy.training_step(batch, 0).isfinite()
    assert float(logged["train/completions/unfinished"]) == 1
    assert float(logged["train/completions/length"]) == 40


def test_malformed_green_completions_are_counted_by_kind(module: Callable[..., Any]) -> None:
    policy, batch = module(
        "data.collator.template=radreward.systems.green.GreenTemplate",
        "data.collator.max_length=1800",
        "data.batch_size=1",
    )
    logged = policy.logged
    good = GreenTemplate().render_answer(ErrorAnalysis((1.0, 0.0), "Rude.", (("b",), ()), ()), CRITERIA)
    for text, kind in (
        ("", "empty"),
        ("x" * 100_001, "too long"),
        (good.replace("(a) tone: 1.", "(a) tone: two."), "numbers"),
        (good.replace("(a) tone: 1.", "(a) tone: 1e999."), "numbers"),
        (good.replace("(a) tone: 1.", "(a) tone: -3."), "numbers"),
        (f"{good}\n\n[Matched Findings]:\n9. X", "numbers"),
        ("[Clinically Significant Errors]:\n" * 400, "numbers"),
    ):
        policy.engine, policy.rollout_batch = CannedRolloutEngine([text, good]), None
        assert policy.training_step(batch, 0).isfinite()
        assert float(logged[f"train/format_error/{kind.replace(' ', '_')}"]) == pytest.approx(2 / 3), text[:40]
        assert float(logged["train/completions/well_formed"]) == pytest.approx(1 / 3)


def test_groups_with_equal_rewards_have_no_gradient(module: Callable[..., Any]) -> None:
    policy, batch = module("model.objective.kl_coef=0", texts=["lamp"])
    logged = policy.logged
    assert not any(value.any() for value in gradients(policy, policy.training_step(batch, 0)).values())
    assert logged["train/groups/without_gradient"] == 1


def test_constant_rewards_over_twenty_steps_are_warned_of(
    module: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    same, other = (format_radreason([count, 0], "Hm.", CRITERIA) for count in (0, 7))
    policy, batch = module(texts=[same])
    warning = ConstantRewardWarning()

    def step(texts: list[str]) -> None:
        policy.engine, policy.rollout_batch = CannedRolloutEngine(texts), None
        policy.rollout_batch = policy.sample_rollouts(batch, 0)
        warning.on_train_batch_end(policy.trainer, policy, None, batch, 0)

    for texts in (*[[same]] * 19, [same, other], *[[same]] * 19):
        step(texts)
    assert not caplog.records, "the rewards of one step differed"
    step([same])
    step([same])
    (record,) = caplog.records
    assert "100 % of its answers state the counts 0, 0. Raise the temperature" in record.getMessage()
    assert any(isinstance(entry, ConstantRewardWarning) for entry in policy.configure_callbacks())


def test_fit_with_incompatible_settings_reports_them_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_config(tmp_path)
    for override, message in (
        ("--data.collator.max_length=5000", "at most 4096"),
        ("--data.collator=RewardCollator", "Expected RolloutCollator for GRPO but got RewardCollator"),
        ("--data.collator.max_length=8", "at most 8 tokens but the prompt has"),
        ("--model.backbone.name=tiny-bert", "bert is an encoder"),
    ):
        assert main(["fit", f"--config={config}", override]) == 2, override
        assert message in capsys.readouterr().err, override
        assert not (tmp_path / "run").exists()


def test_without_adapters_and_kl_all_weights_are_trained(module: Callable[..., Any]) -> None:
    policy, batch = module("model.objective.kl_coef=0", backbone=PLAIN)
    trained = gradients(policy, policy.training_step(batch, 0))
    assert len(trained) == len(list(policy.model.parameters()))


def test_init_from_saved_policy_starts_with_its_weights(
    uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(uninterrupted)
    evaluator = load_generative_evaluator(uninterrupted / "run" / "model")
    assert evaluator.prompt_encoder.criteria.tags == CRITERIA.tags
    assert len(evaluator.generate(["lamp"], ["lamp b"])) == 1
    training = build(
        write_config(tmp_path), f"run_dir={tmp_path / 'on'}", f"init_from={uninterrupted / 'run' / 'model'}"
    )
    module: Any = training.module
    module.load_initial_weights(training.init_from)
    for name, value in evaluator.trained_state().items():
        torch.testing.assert_close(dict(module.model.named_parameters())[name].detach(), value)


@pytest.mark.parametrize("backbone", [PLAIN, {"class_path": "Backbone", "init_args": {"name": "tiny-llama"}}])
def test_reference_policy_is_the_policy_at_the_start_of_the_stage(
    module: Callable[..., Any], tmp_path: Path, backbone: dict[str, Any]
) -> None:
    first, _ = module(backbone=backbone)
    change_weights(first)  # as a first stage does
    encoder = first.datamodule.collator.prompt_encoder
    GenerativeEvaluator(first.backbone, first.model, encoder).save(tmp_path / "first")
    policy, batch = module(backbone=backbone)
    policy.load_initial_weights(tmp_path / "first")
    logged = policy.logged
    loss = policy.training_step(batch, 0)
    assert float(logged["train/kl"]) == 0
    start = policy.rollout_batch.ref_logps
    loss.backward()
    assert all(value.grad is None for value in policy.reference.parameters())
    change_weights(policy)
    completions = policy.rollout_batch.completions
    changed = policy._log_probs(batch, completions).detach()
    with torch.no_grad(), policy.reference.replacing(policy.model):
        torch.testing.assert_close(policy._log_probs(batch, completions), start, rtol=0, atol=0)
    torch.testing.assert_close(policy._log_probs(batch, completions).detach(), changed, rtol=0, atol=0)
    assert (changed - start).abs().max() > 1e-4
    assert {f"reference.weights.{index}" for index in range(len(policy.reference.weights))} <= policy.checkpoint_keys()


def change_weights(policy: Any) -> None:
    """Add 0.01 to all weights that are trained."""
    with torch.no_grad():
        for value in policy.model.parameters():
            if value.requires_grad:
                value.add_(0.01)


def test_without_kl_there_is_no_reference_policy(module: Callable[..., Any]) -> None:
    assert module("model.objective.kl_coef=0")[0].reference is None


def test_training_increases_the_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    config = write_config(tmp_path, backbone=PLAIN, rollouts={"num_generations": 6, "num_iterations": 3})
    short = ("trainer.max_steps=12", "trainer.val_check_interval=1.0", "trainer.logger=false", "checkpoint_every=1000")
    training = build(config, *short, "model.objective.clip_epsilon=0.2", "model.optimizer.lr=0.02")
    module, rewards = training.module, []
    assert isinstance(module, GRPOModule)
    compute_advantages = module.objective.compute_advantages

    def recorded(completions: ParsedCompletions) -> Any:
        estimate = compute_advantages(completions)
        rewards.append(float(estimate.rewards.mean()))
        return estimate

    monkeypatch.setattr(module.objective, "compute_advantages", recorded)
    training.fit()
    assert len(rewards) == 12  # once per batch, whatever the number of updates
    assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.3, rewards


def test_backward_per_prompt_gives_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    config, weights = write_config(tmp_path), []
    for number, value in enumerate(("true", "false")):
        options = (
            f"model.rollouts.backward_per_prompt={value}",
            "trainer.max_steps=2",
            f"run_dir={tmp_path / str(number)}",
        )
        training = build(config, *options, "trainer.logger=false")
        training.fit()
        weights.append({name: p for name, p in training.module.named_parameters() if p.requires_grad})
    for name, expected in weights[1].items():
        torch.testing.assert_close(weights[0][name], expected, rtol=0, atol=1e-6)


def test_several_iterations_with_gradient_accumulation_raise(module: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="accumulate_grad_batches"):
        module("trainer.accumulate_grad_batches=2")


def test_failing_reward_function_ends_the_run_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing.py").write_text(
        "from radreward.objectives import RewardFunction\n"
        "class Fails(RewardFunction):\n    def forward(self, completions):\n        raise RuntimeError('no lamp')\n"
    )
    config = write_config(tmp_path)
    assert main(["fit", f"--config={config}", "--model.objective.accuracy_reward=failing.Fails"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert "The reward function Fails failed: RuntimeError: no lamp" in lines[-1]


def test_rollout_collator_raises_or_truncates_long_prompts() -> None:
    group = ReportGroup("7", "a lamp " * 20, (Candidate("a kettle", {"tone": 1, "length": 0}),))
    with pytest.raises(InputError, match="group '7', candidate 1: Expected at most 40 tokens"):
        RolloutCollator(CRITERIA, template=RadReasonTemplate(False), max_length=40).collate([group])
    truncating = RolloutCollator(CRITERIA, template=RadReasonTemplate(False), max_length=40, on_too_long="truncate")
    batch = truncating.collate([group])
    assert batch.num_truncated == 1
    assert sum(map(len, batch.prompts[0])) <= 40
    full: TokenizedPrompt = RolloutCollator(CRITERIA, template=RadReasonTemplate(False)).collate([group]).prompts[0]
    assert "a kettle" in truncating.prompt_encoder.tokenizer.decode([token for segment in full for token in segment])
    assert batch.target.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "invalid",
    [
        {"num_generations": 1},
        {"num_iterations": 0},
        {"temperature": 0.0},
        {"top_p": 0.0},
        {"batch_size": 0},
        {"vllm_memory": 1.0},
    ],
)
def test_rollout_config_value_out_of_range_raises(invalid: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(invalid))):
        RolloutConfig(**invalid)
