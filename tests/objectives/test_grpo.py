"""Tests of GRPO: composition of rewards, advantages, loss against a loop, and errors."""

from __future__ import annotations

import logging
import math
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from radreward.errors import InputError
from radreward.objectives import (
    GRPO,
    AdvantageScaling,
    BinaryAccuracy,
    DynamicWeighting,
    FixedWeighting,
    FormatReward,
    GaussianAccuracy,
    MajorityGuidedScaling,
    NoScaling,
    ReasoningReward,
    RewardFunction,
    RolloutObjective,
    Rollouts,
)
from radreward.testing import (
    AdvantageScalingConformance,
    RewardFunctionConformance,
    RolloutObjectiveConformance,
    make_completions,
    make_rollouts,
)
from radreward.types import ParsedCompletions


class TestGRPO(RolloutObjectiveConformance):
    objective = staticmethod(lambda: GRPO(kl_coef=0.0))


class TestGRPOWithAllOptions(RolloutObjectiveConformance):
    objective = staticmethod(
        lambda: GRPO(
            BinaryAccuracy(),
            [FormatReward(0.5)],
            DynamicWeighting(update_interval=2),
            MajorityGuidedScaling(variant="as_published"),
            clip_epsilon=0.1,
            kl_coef=0.04,
        )
    )


class TestGaussian(RewardFunctionConformance):
    reward = staticmethod(lambda: GaussianAccuracy(0.25))


class TestBinary(RewardFunctionConformance):
    reward = staticmethod(lambda: BinaryAccuracy())


class TestFormat(RewardFunctionConformance):
    reward = staticmethod(lambda: FormatReward())


class TestReasoning(RewardFunctionConformance):
    reward = staticmethod(lambda: ReasoningReward())


class TestNoScaling(AdvantageScalingConformance):
    scaling = staticmethod(lambda: NoScaling())


class TestMajorityGuidedScaling(AdvantageScalingConformance):
    scaling = staticmethod(lambda: MajorityGuidedScaling())


def completions(error_counts: list[list[list[float]]], target: list[list[float]]) -> ParsedCompletions:
    counts = torch.tensor(error_counts)
    return ParsedCompletions(
        error_counts=counts,
        target=torch.tensor(target),
        well_formed=counts.isfinite().all(-1),
        mentioned=counts.isfinite(),
        texts=tuple(tuple("x" * (g + 1) for g in range(counts.shape[1])) for _ in error_counts),
        report_pairs=tuple(("a", "b") for _ in error_counts),
    )


def test_rewards_summed_with_weights() -> None:
    parsed = completions([[[1.0, 0.0], [2.0, 0.5], [math.nan, 0.0]]], [[1.0, 0.0]])
    objective = GRPO(
        GaussianAccuracy(0.5, weight=2), [FormatReward(0.5), ReasoningReward()], FixedWeighting([3.0, 1.0])
    )
    mean_accuracy = (3 * math.exp(-2) + math.exp(-0.5)) / 4
    expected = [2 * 1 + 0.5 + 1, 2 * mean_accuracy + 0.5 + 1, 2 * 0.25 + 0 + 0.5]
    estimate = objective.compute_advantages(parsed)
    assert estimate.rewards[0].tolist() == pytest.approx(expected, rel=1e-5)
    assert estimate.logs["reward/accuracy/0"].item() == pytest.approx((1 + math.exp(-2)) / 3, rel=1e-5)
    assert estimate.logs["reward/FormatReward"].item() == pytest.approx(2 / 3)


def test_loss_matches_loop_over_tokens() -> None:
    rollouts, objective = make_rollouts(shift=0.4), GRPO(clip_epsilon=0.2, kl_coef=0.3)
    ref_logps = rollouts.ref_logps
    assert ref_logps is not None
    losses = []
    for b in range(3):
        for g in range(5):
            tokens = []
            for t in range(int(rollouts.mask[b, g].sum())):
                p, old, ref = (float(x[b, g, t]) for x in (rollouts.logps.detach(), rollouts.old_logps, ref_logps))
                ratio, advantage = math.exp(p - old), float(rollouts.advantages[b, g])
                surrogate = min(ratio * advantage, max(0.8, min(1.2, ratio)) * advantage)
                tokens.append(-surrogate + 0.3 * (math.exp(ref - p) - (ref - p) - 1))
            losses.append(sum(tokens) / len(tokens))
    fields = (rollouts.logps, rollouts.old_logps, ref_logps, rollouts.mask, rollouts.advantages)
    singles = [Rollouts(*(field[b : b + 1, g : g + 1] for field in fields)) for b in range(3) for g in range(5)]
    assert [objective(single).loss.item() for single in singles] == pytest.approx(losses)
    loss, logs = objective(rollouts)
    assert loss.item() == pytest.approx(sum(losses) / len(losses))
    assert 0 < logs["clipped"] < 1


def test_majority_guided_scaling_matches_formula() -> None:
    # First prompt: the majority is correct (γ = 1), so errors get the highest weight. Second: the reverse.
    parsed = completions([[[1.0], [1.0], [0.0]], [[0.0], [0.0], [1.0]]], [[1.0], [1.0]])
    accuracy = BinaryAccuracy()(parsed).squeeze(-1)
    low, high = 0.8 + 0.4 / (1 + math.exp(5)), 0.8 + 0.4 / (1 + math.exp(-5))
    factors = MajorityGuidedScaling()(parsed, accuracy)
    # γ = 0 for the second prompt: ψ is 1 for wrong and 0 for correct answers.
    assert factors.flatten().tolist() == pytest.approx([low, low, high, low, low, high])


def test_malformed_completion_counts_as_incorrect() -> None:
    parsed = completions([[[1.0], [1.0]]], [[1.0]])
    parsed = replace(parsed, well_formed=torch.tensor([[True, False]]))
    factors = MajorityGuidedScaling()(parsed, torch.ones(1, 2))
    assert factors[0, 0] < 1 < factors[0, 1]


def test_dynamic_weighting_updated_once_per_rollout_in_training() -> None:
    objective = GRPO(weighting=DynamicWeighting(update_interval=1), kl_coef=0)
    parsed = completions([[[0.4, 1.0], [0.0, math.nan]]], [[1.0, 1.0]])
    objective.eval().compute_advantages(parsed)
    assert isinstance(objective.weighting, DynamicWeighting)
    assert objective.weighting.f1.numel() == 0
    objective.train().compute_advantages(parsed)
    assert objective.weighting.f1.tolist() == pytest.approx([0.0, 2 / 3])
    for _ in range(3):
        objective(make_rollouts())
    assert objective.weighting.f1.tolist() == pytest.approx([0.0, 2 / 3])
    logs = objective.compute_advantages(parsed).logs
    assert logs["weight/0"] > logs["weight/1"]
    assert logs["f1/1"].item() == pytest.approx(2 / 3)


def test_groups_without_gradient_are_logged() -> None:
    parsed = completions([[[1.0], [1.0]], [[1.0], [0.0]]], [[1.0], [1.0]])
    estimate = GRPO(kl_coef=0).compute_advantages(parsed)
    assert estimate.logs["groups/without_gradient"] == 0.5
    assert estimate.advantages[0].tolist() == [0.0, 0.0]


class Raises(RewardFunction):
    def forward(self, completions: ParsedCompletions) -> Tensor:
        raise KeyError("lamp")


class Odd(RewardFunction):
    """A reward that is NaN for completions whose text has an odd length."""

    def forward(self, completions: ParsedCompletions) -> Tensor:
        return torch.tensor(
            [[math.nan if len(text) % 2 else float(len(text)) for text in g] for g in completions.texts]
        )


class Wrong(RewardFunction):
    def forward(self, completions: ParsedCompletions) -> Tensor:
        return torch.zeros(3)


class Never(RewardFunction):
    def forward(self, completions: ParsedCompletions) -> Tensor:
        return torch.full(completions.well_formed.shape, math.inf)


def test_raising_reward_function_is_reported() -> None:
    with pytest.raises(InputError, match=r"Raises failed: KeyError: 'lamp'") as error:
        GRPO(rewards=[Raises()]).compute_advantages(make_completions())
    assert isinstance(error.value.__cause__, KeyError)


def test_reward_of_wrong_shape_raises() -> None:
    with pytest.raises(InputError, match=r"Wrong: Expected a tensor of shape \(3, 5\) or \(3, 5, 6\) but got \(3,\)"):
        GRPO(rewards=[Wrong()]).compute_advantages(make_completions())


def test_completions_without_reward_are_excluded_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    parsed = completions([[[1.0]] * 5, [[0.0]] * 5], [[1.0], [1.0]])
    with caplog.at_level(logging.WARNING):
        estimate = GRPO(rewards=[Odd()]).compute_advantages(parsed)
    assert "Odd returned no finite value for 6 of 10 completions" in caplog.text
    assert estimate.logs["completions/without_reward"].item() == pytest.approx(0.6)
    row = estimate.advantages[0].tolist()
    assert row[0] == row[2] == row[4] == 0
    assert row[1] == pytest.approx(-row[3])
    assert row[3] > 0.7


def test_reward_of_zero_weight_is_logged_only() -> None:
    parsed = completions([[[1.0]] * 4 + [[0.0]]], [[1.0]])
    estimate = GRPO(rewards=[Odd(weight=0)]).compute_advantages(parsed)
    assert estimate.logs["completions/without_reward"] == 0
    assert estimate.logs["reward/Odd"].item() == pytest.approx(3)
    assert torch.equal(estimate.advantages, GRPO(rewards=[]).compute_advantages(parsed).advantages)


def test_reward_without_finite_values_raises() -> None:
    with pytest.raises(InputError, match="Never returned no finite value for any of 15"):
        GRPO(rewards=[Never()]).compute_advantages(make_completions())


def test_repeated_reward_class_gets_numbered_name() -> None:
    logs = GRPO(rewards=[FormatReward(), FormatReward(0.5)]).compute_advantages(make_completions()).logs
    assert {"reward/FormatReward", "reward/FormatReward_2"} <= set(logs)


def test_kl_divergence_requires_reference_logps() -> None:
    rollouts: Rollouts = make_rollouts()._replace(ref_logps=None)
    assert not GRPO(kl_coef=0).uses_reference_policy
    GRPO(kl_coef=0)(rollouts)
    with pytest.raises(ValueError, match="ref_logps"):
        GRPO(kl_coef=0.1)(rollouts)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GRPO(clip_epsilon=0), "clip_epsilon"),
        (lambda: GRPO(kl_coef=-1), "kl_coef"),
        (lambda: GRPO(GaussianAccuracy(weight=0), []), "weight above 0"),
        (lambda: GaussianAccuracy(0), "sigma"),
        (lambda: FormatReward(-1), "weight"),
        (lambda: MajorityGuidedScaling(beta=-1), "beta"),
        (lambda: MajorityGuidedScaling(c=2), "`c`"),
        (lambda: MajorityGuidedScaling(min_scale=2), "min_scale"),
        (lambda: MajorityGuidedScaling(variant="other"), "variant"),  # type: ignore[arg-type]  # invalid on purpose
    ],
)
def test_invalid_settings_raise_value_error(make: type[RolloutObjective | AdvantageScaling], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_grpo_built_from_yaml_with_user_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brevity.py").write_text(
        textwrap.dedent("""
        import torch
        from radreward.objectives import RewardFunction

        class Brevity(RewardFunction):
            def forward(self, completions):
                return torch.tensor([[1.0 / (1 + len(text)) for text in group] for group in completions.texts])
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "objective.yaml"
    path.write_text(
        textwrap.dedent("""
        class_path: GRPO
        init_args:
          accuracy_reward: {class_path: GaussianAccuracy, init_args: {sigma: 1.0}}
          rewards:
            - {class_path: FormatReward}
            - {class_path: brevity.Brevity, init_args: {weight: 0.25}}
          weighting: {class_path: DynamicWeighting, init_args: {update_interval: 3}}
          scaling: {class_path: MajorityGuidedScaling, init_args: {beta: 5}}
        """)
    )
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(RolloutObjective, "objective")
    objective = parser.instantiate(parser.parse_args([f"--objective={path}", "--objective.kl_coef=0"])).objective
    assert (objective.accuracy_reward.sigma, objective.scaling.beta, objective.kl_coef) == (1.0, 5, 0)
    assert "reward/Brevity" in objective.compute_advantages(make_completions()).logs
