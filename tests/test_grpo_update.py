"""Loss and gradients of a policy update equal those of TRL's trainer; the benchmark of both runs."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from radreward.models.log_probs import rollout_log_probs
from radreward.objectives import GRPO, Rollouts
from radreward.objectives.functional.advantages import group_advantages

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = {"use_bias_correction_kl": False}  # KL divergence as in the GRPO paper, without an importance ratio
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("trl")
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.grpo_update")


@pytest.mark.parametrize(("kl", "moved"), [(0.0, 0.0), (0.04, 0.3)], ids=["plain", "clipped, with divergence"])
@pytest.mark.parametrize("packing", ["tree", "rows"])
def test_loss_and_gradients_equal_those_of_trl(
    benchmark: ModuleType, tmp_path: Path, kl: float, moved: float, packing: Any
) -> None:
    torch.manual_seed(0)
    size, case = (
        benchmark.ModelSize(width=32, layers=2, vocabulary=60),
        benchmark.Case(4, prompt=20, completion=12, prompts=2),
    )
    sides = benchmark.build(str(tmp_path), size, case.completions, temperature=0.7, epsilon=0.2, beta=kl, **PUBLISHED)
    batch = benchmark.random_batch(case, size.vocabulary)
    lengths = torch.tensor([[len(completion) for completion in group] for group in batch.completions])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)

    def logps() -> torch.Tensor:
        return rollout_log_probs(sides.model, batch.prompts, batch.completions, 0.7, packing)

    now = logps().detach()
    old, ref = (now + moved * torch.randn(now.shape) for _ in range(2))
    inputs = benchmark.peer_inputs(batch) | {"old_per_token_logps": old.flatten(0, 1)}
    if kl:
        inputs["ref_per_token_logps"] = ref.flatten(0, 1)

    def own() -> torch.Tensor:
        objective = GRPO(clip_epsilon=0.2, kl_coef=kl)
        loss, logs = objective(Rollouts(logps(), old, ref if kl else None, mask, batch.advantages))
        assert (logs["clipped"] > 0.02) == (moved > 0)
        return loss

    expected = benchmark.loss_and_gradients(
        benchmark.Variant(sides.trainer.model, lambda: sides.trainer.compute_loss(sides.trainer.model, inputs), 0)
    )
    actual = benchmark.loss_and_gradients(benchmark.Variant(sides.model, own, 0))
    assert len(actual[1]) > 15
    assert benchmark.disagreement(actual, expected) < 1e-5


def test_group_advantages_equal_those_of_trl(benchmark: ModuleType) -> None:
    from trl.trainer.utils import nanstd

    rewards = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    deviation = nanstd(rewards, dim=1).unsqueeze(1)
    torch.testing.assert_close(
        group_advantages(rewards), (rewards - rewards.mean(1, keepdim=True)) / (deviation + 1e-4)
    )


def test_main_prints_results_and_returns_figures(benchmark: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    case = benchmark.Case(3, prompt=20, completion=10, rounds=1, vocabulary=50, against_peer=1e9, step_against_peer=0)
    figures = benchmark.main([case], benchmark.ModelSize(width=32, layers=1))
    assert [figure.verdict for figure in figures] == ["MISSED", "", "", "met"]
    assert "first token" in figures[1].work
    result = json.loads(next(line for line in capsys.readouterr().out.splitlines() if line.startswith("{")))
    peer, rows, tree = result["variants"].values()
    assert tree["tokens"] == rows["tokens"] - 40  # the prompt, for two of three completions
    assert peer["tokens"] >= rows["tokens"]


def test_measure_different_gradient_raises(benchmark: ModuleType, tmp_path: Path) -> None:
    size, case = (
        benchmark.ModelSize(width=32, layers=1, vocabulary=50),
        benchmark.Case(2, prompt=8, completion=4, rounds=1),
    )
    sides = benchmark.build(str(tmp_path), size, 2)
    with torch.no_grad():
        sides.model.lm_head.weight.mul_(1.01)
    with pytest.raises(AssertionError, match="differ"):
        benchmark.measure(case, sides, size.vocabulary)
