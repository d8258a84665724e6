"""The ablation of RadReason: its metrics, its tests over seeds, and a small form of the whole command that resumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from experiments.radreason import ablation
from experiments.radreason.ablation_metrics import (
    answer_metrics,
    f1_by_criterion,
    majority_counts,
    prompt_agreement,
    seed_differences,
)
from experiments.radreason.step_timer import StepTimer

SMALL = {
    "accuracy": "0.5",
    "sft-groups": "4",
    "grpo-groups": "3",
    "grpo-steps": "1",
    "grpo-batch": "1",
    "generations": "2",
    "held-out": "1",
    "validation": "1",
    "seeds": "1",
    "completions": "2",
}
QUIET = (
    "trainer.accelerator=cpu",
    "trainer.precision=32-true",  # many CPUs compute bf16 in software, which takes several times as long
    "trainer.enable_progress_bar=false",
    "trainer.logger=false",
    "data.collator.max_answer_length=75",
)


def test_majority_counts_are_those_of_the_most_frequent_answer() -> None:
    sampled = torch.tensor([[[1.0, 0.0], [2.0, 1.0], [1.0, 0.0]], [[torch.nan, 0.0]] * 3])
    counts = majority_counts(sampled)
    assert counts[0].tolist() == [1.0, 0.0]
    assert counts[1].isnan().all()
    agreement = prompt_agreement(sampled, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert agreement.tolist() == pytest.approx([(1 + np.exp(-2)) / 2, 0.0])


def test_f1_is_that_of_sklearn() -> None:
    rng = np.random.default_rng(0)
    predicted, target = rng.integers(0, 3, (2, 50, 4)).astype(float)
    expected = f1_score(target >= 1, predicted >= 1, average=None)
    assert f1_by_criterion(torch.tensor(predicted), torch.tensor(target)).tolist() == pytest.approx(expected.tolist())


def test_perfect_answers_have_perfect_metrics_at_every_difficulty() -> None:
    target = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    metrics = answer_metrics(target, target.unsqueeze(1).repeat(1, 3, 1), target, torch.arange(3.0), ("a", "b"))
    assert metrics.pop("stated errors") == pytest.approx(5 / 3)
    assert set(metrics.values()) == {1.0}
    wrong = target.clone()
    wrong[0, 0] = 3.0
    hard = answer_metrics(wrong, target.unsqueeze(1), target, torch.arange(3.0), ("a", "b"))
    assert (hard["exact, hard"], hard["exact, easy"], hard["majority"]) == (0.5, 1.0, 1.0)


def test_seed_differences_flip_the_signs_of_seeds() -> None:
    values = np.array([0.3, 0.1, -0.05, 0.2])
    runs = {"a": dict(enumerate(np.zeros(4))), "b": dict(enumerate(values)), "c": {9: 1.0}}
    signed = [abs(np.dot(signs, values)) >= abs(values.sum()) - 1e-12 for signs in product((1, -1), repeat=4)]
    [(name, (difference, p, p_holm, count))] = seed_differences(runs, "a").items()
    assert (name, count) == ("b", 4)
    assert difference == pytest.approx(values.mean())
    assert p == p_holm == np.mean(signed)


def test_time_of_a_step_is_the_mean_of_the_last_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((10.0, 11.0, 13.0, 17.0))
    monkeypatch.setattr("time.process_time", lambda: next(times))
    timer = StepTimer(str(tmp_path / "time.json"), steps=2)
    for _ in range(2):
        timer.on_train_batch_end()
    with pytest.raises(RuntimeError, match="Expected more than 2 steps but the run has 2"):
        timer.on_train_end()
    for _ in range(2):
        timer.on_train_batch_end()
    timer.on_train_end()
    assert json.loads((tmp_path / "time.json").read_text()) == {"seconds_per_step": 3.0}


@pytest.fixture
def run_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    def run() -> str:
        options = [part for name, value in SMALL.items() for part in (f"--{name}", value)]
        arguments = [
            "ablation",
            "--output",
            str(tmp_path / "out"),
            *options,
            "--sft-steps",
            "1",
            "1",
            "2",
            "--set",
            *QUIET,
        ]
        monkeypatch.setattr("sys.argv", arguments)
        ablation.main()
        return capsys.readouterr().out

    return run


@pytest.mark.usefixtures("one_layer_generator")
def test_small_ablation_makes_everything_and_resumes_what_is_missing(
    run_small: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(ablation, "PROBE_STEPS", {"grpo": 1, "sft": 1})
    with monkeypatch.context() as patch:
        patch.setattr(ablation, "_fit_control", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_small()
    trials = sorted((out / "study" / "trials").glob("*/trial.json"))
    assert [json.loads(path.read_text())["state"] for path in trials] == ["complete"] * 5
    compute = json.loads((out / "compute.json").read_text())
    seconds = compute["seconds_per_step"]
    assert compute["control_steps"] == max(1, round(seconds["grpo"] / seconds["sft"]))
    before = {path: path.stat().st_mtime_ns for path in (*trials, out / "start" / "metrics.json", out / "compute.json")}
    printed = run_small()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    table = (out / "table.md").read_text(encoding="utf-8")
    assert table in printed
    for name in ("start", "control: more SFT", "binary", "gaussian", "sdw", "mgas", "both"):
        assert f"| {name} | 1 | " in table
    assert "| against control: more SFT | metric |" in table
    assert "worst F1" in table


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
