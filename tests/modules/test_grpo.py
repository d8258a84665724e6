"""A policy trained on its own judgements: what a step draws, learns and tells, and that nothing goes wrong silently."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from radreward.cli import build, main
from radreward.comparison.runs import read_run
from radreward.criteria import Criteria
from radreward.data.collators.rollout import RolloutCollator
from radreward.errors import InputError
from radreward.generative.evaluator import load_generative_evaluator
from radreward.models.rollout_engine import Completion, RolloutEngine, SamplingParams, TokenizedPrompt
from radreward.modules.grpo import GRPOModule
from radreward.modules.rollout_logging import RolloutConfig, format_error_kind
from radreward.objectives import RewardFunction
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate, format_radreason, parse_radreason
from radreward.types import Candidate, ParsedCompletions, ReportGroup
from tests.tiny_run import saved_state

CRITERIA = Criteria("two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}])
PLAIN = {"class_path": "Backbone", "init_args": {"name": "tiny-llama", "lora": None}}
KILLER = """
import os, signal
import torch
from lightning.pytorch import Callback
from radreward.objectives import RewardFunction

torch.set_num_threads(1)  # as in the process that continues

class Killer(Callback):
    '''Ends the process in so many-th call of a hook after so many steps.'''

    def __init__(self, hook: str, step: int, call: int) -> None:
        self.left = call

        def kill(trainer, *_):
            self.left -= trainer.global_step == step
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(self, hook, kill)

class Letters(RewardFunction):
    def forward(self, completions):
        return torch.tensor([[sum(c.isalpha() for c in text) / 10 for text in group] for group in completions.texts])
"""


def write_settings(folder: Path, **model: Any) -> Path:
    """Of a run whose reward is the number of letters: a random model gets some."""
    records = folder / "groups.jsonl"
    with records.open("w") as file:
        for number in range(12):
            reference = f"lamp {number} kettle"
            candidates = [
                {"text": f"{reference}{' b' * k}", "errors": {"tone": k, "length": number % 2}} for k in range(2)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    (folder / "policy_parts.py").write_text(KILLER)
    objective = {
        "rewards": [{"class_path": "policy_parts.Letters"}],
        "clip": 0.001,
        "weighting": {"class_path": "Dynamic", "init_args": {"every": 3}},
        "scaling": {"class_path": "MajorityGuidedScaling"},
    }
    settings = {
        "run_dir": str(folder / "run"),
        "checkpoint_every": 2,
        "criteria": {
            "class_path": "radreward.criteria.Criteria",
            "init_args": {"name": "two", "criteria": [entry._asdict() for entry in CRITERIA.criteria]},
        },
        "model": {
            "class_path": "radreward.modules.GRPOModule",
            "init_args": {
                "backbone": {"class_path": "Backbone", "init_args": {"name": "tiny-llama", "lora": {"r": 4}}},
                "objective": {"class_path": "GRPO", "init_args": objective},
                "rollouts": {"completions": 3, "updates": 2},
                "optimizer": {"lr": 0.01},
                **model,
            },
        },
        "data": {
            "class_path": "radreward.data.datamodule.PairedReportDataModule",
            "init_args": {
                "records": str(records),
                "validation": 0.3,
                "groups_per_batch": 2,
                "collator": {
                    "class_path": "RolloutCollator",
                    "init_args": {
                        "template": {"class_path": "RadReasonTemplate", "init_args": {"instructed": False}},
                        "max_length": 64,
                        "max_answer": 12,
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        assert main(["fit", f"--config={write_settings(folder)}"]) == 0
    return folder


def scalars(run: Path) -> dict[str, list[float]]:
    events = EventAccumulator(str(run / "logs"))
    events.Reload()
    return {tag: [entry.value for entry in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_a_run_learns_and_logs_all_that_is_asked_for(whole: Path) -> None:
    logged = scalars(whole / "run")
    for name in (
        *("loss", "kl", "clipped", "reward/accuracy", "reward/accuracy/tone", "reward/Letters", "reward/total"),
        *("reward/std", "advantage/max_abs", "advantage/scale", "groups/without_gradient", "weight/tone"),
        *("completions/length", "completions/unfinished", "completions/without_reward", "completions/well_formed"),
        *("problem/think", "completions/engine_apart"),
    ):
        assert len(logged[f"train/{name}"]) >= 3, name
    assert max(logged["train/completions/engine_apart"]) < 1e-4
    assert max(logged["train/kl"]) > 0
    assert any(value > 0 for value in logged["train/clipped"])
    weights = {name: value for name, value in saved_state(whole / "run")["weights"].items() if "lora_B" in name}
    assert all(value.abs().max() > 0 for value in weights.values())
    events = EventAccumulator(str(whole / "run" / "logs"), {"tensors": 0})
    events.Reload()
    assert {"train/scales", "train/advantages"} <= set(events.Tags()["histograms"])
    assert "train/completions/text_summary" in events.Tags()["tensors"]
    metrics = json.loads((whole / "run" / "metrics.json").read_text())
    assert set(metrics["agreement"]) == {"tone", "length", "total"}
    assert metrics["agreement"]["total"]["read"] == 0
    assert any((whole / "run" / "model").glob("*.safetensors"))
    judged = read_run(whole / "run").validation
    assert len(judged.group) == len(judged.rewards) > 2
    assert np.isnan(judged.rewards).all(), "nothing can be read: no pair is ordered right, and nothing is made up"
    assert metrics["agreement"]["total"]["pair_accuracy"] == 0


@pytest.mark.parametrize(
    ("hook", "step", "call", "last"),
    [
        pytest.param("on_before_optimizer_step", 4, 2, 4, id="between two updates on the same rollouts"),
        pytest.param("on_validation_start", 3, 1, 2, id="in a validation"),
    ],
)
def test_killed_and_continued_is_bit_for_bit_as_if_never_killed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str, step: int, call: int, last: int
) -> None:
    context = get_context("forkserver")
    context.set_forkserver_preload(["radreward.cli.training"])
    command = ["fit", f"--config={whole / 'config.yaml'}", f"--run-dir={tmp_path / 'run'}"]
    monkeypatch.chdir(whole)
    entries = ("=policy_parts.Killer", f".hook={hook}", f".step={step}", f".call={call}")
    run = context.Process(target=main, args=([*command, *(f"--trainer.callbacks{entry}" for entry in entries)],))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL
    kept = saved_state(tmp_path / "run")
    assert kept["step"] == last
    assert kept["weights"]["objective.weighting.counts"].sum() > 0, "it has counted outcomes that it has not yet used"
    assert main([*command, "--ckpt_path=last"]) == 0
    torch.testing.assert_close(
        saved_state(tmp_path / "run"), saved_state(whole / "run"), rtol=0, atol=0, equal_nan=True
    )
    models = [(run / "model" / "model.safetensors").read_bytes() for run in (tmp_path / "run", whole / "run")]
    assert models[0] == models[1]


class CannedRolloutEngine(RolloutEngine):
    """Says what it is told to."""

    def __init__(self, texts: list[str], finish: Literal["stop", "length"] = "stop") -> None:
        self.texts, self.finish = texts, finish

    def sample(self, prompts: Any, params: SamplingParams) -> list[tuple[Completion, ...]]:
        group = []
        for number in range(params.num_completions):
            text = self.texts[number % len(self.texts)]
            tokens = tuple(3 + byte % 250 for byte in text.encode()[:40]) or (2,)
            group.append(Completion(tokens, (0.0,) * len(tokens), text, self.finish))
        return [tuple(group) for _ in prompts]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a training and its batch, ready for a step."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(*overrides: str, texts: list[str] | None = None, **model: Any) -> tuple[Any, Any]:
        training = build(write_settings(tmp_path, **model), "trainer.logger=false", *overrides)
        made: Any = training.module
        made.trainer = training.trainer
        training.trainer.datamodule = training.data  # type: ignore[attr-defined]
        training.data.setup("fit")
        made.log = made.log_dict = lambda *_, **__: None
        if texts is not None:
            made.engine = CannedRolloutEngine(texts)
        made.on_fit_start()
        return made, next(iter(training.data.train_dataloader()))

    return make


def gradients(module: GRPOModule, loss: Tensor) -> dict[str, Tensor]:
    module.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: value.grad.clone() for name, value in module.named_parameters() if value.grad is not None}


def test_one_row_for_a_prompt_gives_the_loss_and_gradients_of_separate_rows(module: Callable[..., Any]) -> None:
    one, batch = module()
    one._drawn = None
    with torch.no_grad():
        for name, value in one.model.named_parameters():
            if "lora_B" in name:
                value.normal_(std=0.1)
    packed = one.training_step(batch, 0)
    expected = gradients(one, packed)
    one.packing, one._drawn = "rows", None
    rows = one.training_step(batch, 0)
    torch.testing.assert_close(rows, packed, rtol=1e-5, atol=1e-6)
    found = gradients(one, rows)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-4 * float(value.abs().max()) + 1e-9)


def test_each_process_draws_its_own_and_the_same_again(
    module: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, batch = module()
    drawn = []
    with torch.random.fork_rng(devices=[]):
        for seed, rank in ((0, 0), (0, 1), (0, 0), (1, 0)):
            torch.manual_seed(seed)
            monkeypatch.setattr(GRPOModule, "global_rank", rank)
            drawn.append([completion.tokens for group in one._draw(batch, 0).completions for completion in group])
    assert drawn[0] == drawn[2]
    assert not set(drawn[0]) & set(drawn[1])
    assert not set(drawn[0]) & set(drawn[3]), "another seed draws others"


def test_numbers_in_completions_become_rewards(module: Callable[..., Any]) -> None:
    right = format_radreason([0, 1], "Tone is fine. Length is not.", CRITERIA)
    wrong = format_radreason([1, 1], "Tone.", CRITERIA)
    one, batch = module(texts=[right, wrong, "<think>"])
    drawn = one._draw(batch, 0)
    read = one._read(batch, drawn.completions)
    assert read.values[0].tolist()[:2] == [[0.0, 1.0], [1.0, 1.0]]
    assert read.values[0, 2].isnan().all()
    assert read.valid[0].tolist() == [True, True, False]
    assert read.discussed[0].tolist() == [[True, True], [True, False], [False, False]]
    assert read.target.tolist() == batch.target.tolist()
    exact = [row for row, target in enumerate(batch.target.tolist()) if target == [0.0, 1.0]]
    assert all(drawn.judgement.advantages[row, 0] > drawn.judgement.advantages[row, 2] for row in exact)


UNREADABLE = [
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
    ("<think>The report says </length>", "think"),  # where it ends: nothing is drawn behind the last tag
]


def test_completions_that_cannot_be_read_get_nothing_for_it_and_are_counted(module: Callable[..., Any]) -> None:
    one, batch = module()
    logged: dict[str, Any] = {}
    one.log_dict = lambda values, **_: logged.update(values)
    for text, kind in UNREADABLE:
        assert format_error_kind(parse_radreason(text, CRITERIA)) == kind
        one.engine, one._drawn = CannedRolloutEngine([text, format_radreason([0, 0], "", CRITERIA)]), None
        assert one.training_step(batch, 0).isfinite()
        assert float(logged[f"train/problem/{kind}"]) == pytest.approx(2 / 3)  # the first and the third of three
        assert float(logged["train/completions/well_formed"]) == pytest.approx(1 / 3)


def test_completions_without_an_end_are_counted(module: Callable[..., Any]) -> None:
    one, batch = module()
    logged: dict[str, Any] = {}
    one.log_dict = lambda values, **_: logged.update(values)
    one.engine = CannedRolloutEngine(["and so on " * 9], "length")
    assert one.training_step(batch, 0).isfinite()
    assert float(logged["train/completions/unfinished"]) == 1
    assert float(logged["train/completions/length"]) == 40


def test_completions_in_another_layout_are_read_and_counted_alike(module: Callable[..., Any]) -> None:
    one, batch = module(
        "data.collator.template=radreward.systems.green.prompt.GreenTemplate", "data.collator.max_length=1800"
    )
    logged: dict[str, Any] = {}
    one.log_dict = lambda values, **_: logged.update(values)
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
        one.engine, one._drawn = CannedRolloutEngine([text, good]), None
        assert one.training_step(batch, 0).isfinite()
        assert float(logged[f"train/problem/{kind}"]) == pytest.approx(2 / 3), text[:40]
        assert float(logged["train/completions/well_formed"]) == pytest.approx(1 / 3)


def test_groups_with_equal_rewards_leave_the_weights_as_they_were(module: Callable[..., Any]) -> None:
    one, batch = module("model.objective.kl_coef=0", texts=["lamp"])
    logged: dict[str, Any] = {}
    one.log_dict = lambda values, **_: logged.update(values)
    assert not any(value.any() for value in gradients(one, one.training_step(batch, 0)).values())
    assert logged["train/groups/without_gradient"] == 1


def test_settings_that_do_not_go_together_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_settings(tmp_path)
    for given, told in (
        ("--data.collator.max_length=5000", "at most 4096"),
        ("--data.collator=RewardCollator", "Expected RolloutCollator for a policy but got RewardCollator"),
        ("--data.collator.max_length=8", "at most 8 tokens but the prompt has"),
        ("--model.backbone.name=tiny-bert", "bert is an encoder"),
    ):
        assert main(["fit", f"--config={config}", given]) == 2, given
        assert told in capsys.readouterr().err, given
        assert not (tmp_path / "run").exists()


def test_without_adapters_and_divergence_the_whole_model_is_trained(module: Callable[..., Any]) -> None:
    one, batch = module("model.objective.kl_coef=0", backbone=PLAIN)
    found = gradients(one, one.training_step(batch, 0))
    assert len(found) == len(list(one.model.parameters()))


def test_a_run_goes_on_from_a_saved_model_and_stays_near_it(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(whole)
    explainer = load_generative_evaluator(whole / "run" / "model")
    assert explainer.prompt_encoder.criteria.tags == CRITERIA.tags
    assert len(explainer.generate(["lamp"], ["lamp b"])) == 1
    training = build(write_settings(tmp_path), f"run_dir={tmp_path / 'on'}", f"init_from={whole / 'run' / 'model'}")
    module: Any = training.module
    module.start_from(training.start)
    for name, value in explainer.trained_state().items():
        torch.testing.assert_close(dict(module.model.named_parameters())[name].detach(), value)


def test_the_policy_before_training_is_a_copy_where_there_are_no_adapters(module: Callable[..., Any]) -> None:
    one, batch = module(backbone=PLAIN)
    assert "reference.lm_head.weight" in one.checkpoint_names()
    with torch.no_grad():
        for value in one.model.parameters():
            value.add_(0.01)
    drawn = one._draw(batch, 0)
    apart = one._logps(batch, drawn.completions).detach()
    one.model.load_state_dict(one.reference.state_dict())
    torch.testing.assert_close(drawn.ref_logps, one._logps(batch, drawn.completions).detach())
    assert (apart - drawn.ref_logps).abs().max() > 1e-4
    assert not any(value.requires_grad for value in one.reference.parameters())


def test_training_raises_the_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    config = write_settings(tmp_path, backbone=PLAIN, rollouts={"completions": 6, "updates": 3})
    short = ("trainer.max_steps=12", "trainer.val_check_interval=1.0", "trainer.logger=false", "checkpoint_every=1000")
    training = build(config, *short, "model.objective.clip_epsilon=0.2", "model.optimizer.lr=0.02")
    module, rewards = training.module, []
    assert isinstance(module, GRPOModule)
    judge = module.objective.compute_advantages

    def watched(completions: ParsedCompletions) -> Any:
        judgement = judge(completions)
        rewards.append(float(judgement.rewards.mean()))
        return judgement

    monkeypatch.setattr(module.objective, "judge", watched)
    training.fit()
    assert len(rewards) == 12  # one judgement a step, however many updates
    assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.3, rewards


def test_updates_and_accumulation_exclude_each_other(module: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="accumulate_grad_batches"):
        module("trainer.accumulate_grad_batches=2")


class Fails(RewardFunction):
    def forward(self, completions: ParsedCompletions) -> Tensor:
        raise RuntimeError("no lamp")


def test_a_reward_that_fails_ends_the_run_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing.py").write_text(
        "from radreward.objectives import RewardFunction\n"
        "class Fails(RewardFunction):\n    def forward(self, completions):\n        raise RuntimeError('no lamp')\n"
    )
    config = write_settings(tmp_path)
    assert main(["fit", f"--config={config}", "--model.objective.accuracy_reward=failing.Fails"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert "The reward function Fails failed: RuntimeError: no lamp" in told[-1]


def test_prompts_are_those_of_questions_cut_where_it_is_wanted() -> None:
    group = ReportGroup("7", "a lamp " * 20, (Candidate("a kettle", {"tone": 1, "length": 0}),))
    with pytest.raises(InputError, match="group '7', candidate 1: expected at most 40 tokens"):
        RolloutCollator(CRITERIA, template=RadReasonTemplate(False), max_length=40).collate([group])
    cut = RolloutCollator(CRITERIA, template=RadReasonTemplate(False), max_length=40, on_too_long="truncate")
    batch = cut.collate([group])
    assert batch.num_truncated == 1
    assert sum(map(len, batch.prompts[0])) <= 40
    whole: TokenizedPrompt = RolloutCollator(CRITERIA, template=RadReasonTemplate(False)).collate([group]).prompts[0]
    assert "a kettle" in cut.prompt_encoder.tokenizer.decode([token for piece in whole for token in piece])
    assert batch.target.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "wrong", [{"completions": 1}, {"updates": 0}, {"temperature": 0.0}, {"top_p": 0.0}, {"batch_size": 0}]
)
def test_settings_of_rollouts_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RolloutConfig(**wrong)
