"""Objectives on rollouts: rewards composed, advantages, the loss against a loop, and what goes wrong."""

from __future__ import annotations

import logging
import math
import textwrap
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
)
from radreward.testing import (
    AdvantageScalingConformance,
    RewardFunctionConformance,
    RolloutObjectiveConformance,
    make_completions,
    make_rollouts,
)
from radreward.types import ParsedCompletions, Rollouts


class TestGroupRelative(RolloutObjectiveConformance):
    objective = staticmethod(lambda: GRPO(kl_coef=0.0))


class TestGroupRelativeWithAll(RolloutObjectiveConformance):
    objective = staticmethod(
        lambda: GRPO(
            BinaryAccuracy(),
            [FormatReward(0.5)],
            DynamicWeighting(update_interval=2),
            MajorityGuidedScaling(variant="printed"),
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


class TestIdentity(AdvantageScalingConformance):
    scaling = staticmethod(lambda: NoScaling())


class TestMajorityGuided(AdvantageScalingConformance):
    scaling = staticmethod(lambda: MajorityGuidedScaling())


def completions(values: list[list[list[float]]], target: list[list[float]]) -> ParsedCompletions:
    tensor = torch.tensor(values)
    texts = tuple(tuple("x" * (g + 1) for g in range(tensor.shape[1])) for _ in values)
    valid = tensor.isfinite().all(-1)
    return ParsedCompletions(
        tensor, torch.tensor(target), valid, tensor.isfinite(), texts, tuple(("a", "b") for _ in values)
    )


def test_rewards_are_composed_with_their_weights() -> None:
    given = completions([[[1.0, 0.0], [2.0, 0.5], [math.nan, 0.0]]], [[1.0, 0.0]])
    objective = GRPO(
        GaussianAccuracy(0.5, weight=2), [FormatReward(0.5), ReasoningReward()], FixedWeighting([3.0, 1.0])
    )
    near = (3 * math.exp(-2) + math.exp(-0.5)) / 4
    expected = [2 * 1 + 0.5 + 1, 2 * near + 0.5 + 1, 2 * 0.25 + 0 + 0.5]
    judgement = objective.compute_advantages(given)
    assert judgement.rewards[0].tolist() == pytest.approx(expected, rel=1e-5)
    assert judgement.logs["reward/accuracy/0"].item() == pytest.approx((1 + math.exp(-2)) / 3, rel=1e-5)
    assert judgement.logs["reward/FormatReward"].item() == pytest.approx(2 / 3)


def test_the_loss_is_a_loop_over_tokens() -> None:
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
    output = objective(rollouts)
    assert output.losses.tolist() == pytest.approx(losses)
    assert objective.reduce(output).item() == pytest.approx(sum(losses) / len(losses))
    assert 0 < output.logs["clipped"] < 1


def test_majority_guided_known_answers() -> None:
    # Most say 1 where 1 is right (γ = 1): errors count most. Most say 0 where 1 is right: the right one counts most.
    given = completions([[[1.0], [1.0], [0.0]], [[0.0], [0.0], [1.0]]], [[1.0], [1.0]])
    accuracy = BinaryAccuracy()(given).squeeze(-1)
    low, high = 0.8 + 0.4 / (1 + math.exp(5)), 0.8 + 0.4 / (1 + math.exp(-5))
    found = MajorityGuidedScaling()(given, accuracy)
    # γ = 0 in the second: ψ of the wrong is 1, of the right 0.
    assert found.flatten().tolist() == pytest.approx([low, low, high, low, low, high])


def test_a_completion_of_invalid_form_is_not_correct() -> None:
    given = completions([[[1.0], [1.0]]], [[1.0]])
    given = given._replace(well_formed=torch.tensor([[True, False]]))
    found = MajorityGuidedScaling()(given, torch.ones(1, 2))
    assert found[0, 0] < 1 < found[0, 1]


def test_dynamic_weighting_learns_from_completions_once_per_rollout_and_only_in_training() -> None:
    objective = GRPO(weighting=DynamicWeighting(update_interval=1), kl_coef=0)
    given = completions([[[0.4, 1.0], [0.0, math.nan]]], [[1.0, 1.0]])
    objective.eval().compute_advantages(given)
    assert isinstance(objective.weighting, DynamicWeighting)
    assert objective.weighting.f1.numel() == 0
    objective.train().compute_advantages(given)
    assert objective.weighting.f1.tolist() == pytest.approx([0.0, 2 / 3])
    for _ in range(3):
        objective(make_rollouts())
    assert objective.weighting.f1.tolist() == pytest.approx([0.0, 2 / 3])
    terms = objective.compute_advantages(given).logs
    assert terms["weight/0"] > terms["weight/1"]
    assert terms["f1/1"].item() == pytest.approx(2 / 3)


def test_groups_without_gradient_are_counted() -> None:
    given = completions([[[1.0], [1.0]], [[1.0], [0.0]]], [[1.0], [1.0]])
    judgement = GRPO(kl_coef=0).compute_advantages(given)
    assert judgement.logs["groups/without_gradient"] == 0.5
    assert judgement.advantages[0].tolist() == [0.0, 0.0]


class Raises(RewardFunction):
    def forward(self, completions: ParsedCompletions) -> Tensor:
        raise KeyError("lamp")


class Odd(RewardFunction):
    """NaN for every completion of an odd length of text."""

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


def test_a_reward_function_that_raises_ends_the_training_with_its_name() -> None:
    with pytest.raises(InputError, match=r"Raises failed: KeyError: 'lamp'") as caught:
        GRPO(rewards=[Raises()]).compute_advantages(make_completions())
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_reward_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"Wrong gave \(3,\), not \(3, 5\) or \(3, 5, 6\)"):
        GRPO(rewards=[Wrong()]).compute_advantages(make_completions())


def test_completions_without_a_reward_are_left_out_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    given = completions([[[1.0]] * 5, [[0.0]] * 5], [[1.0], [1.0]])
    with caplog.at_level(logging.WARNING):
        judgement = GRPO(rewards=[Odd()]).compute_advantages(given)
    assert "Odd gave no finite number for 6 of 10 completions" in caplog.text
    assert judgement.logs["completions/unjudged"].item() == pytest.approx(0.6)
    row = judgement.advantages[0].tolist()
    assert row[0] == row[2] == row[4] == 0
    assert row[1] == pytest.approx(-row[3])
    assert row[3] > 0.7


def test_a_reward_that_weighs_nothing_is_logged_and_leaves_no_completion_out() -> None:
    given = completions([[[1.0]] * 4 + [[0.0]]], [[1.0]])
    judgement = GRPO(rewards=[Odd(weight=0)]).compute_advantages(given)
    assert judgement.logs["completions/unjudged"] == 0
    assert judgement.logs["reward/Odd"].item() == pytest.approx(3)
    assert torch.equal(judgement.advantages, GRPO(rewards=[]).compute_advantages(given).advantages)


def test_rewards_that_are_never_numbers_end_the_training() -> None:
    with pytest.raises(InputError, match="Never gave no finite number for any of 15"):
        GRPO(rewards=[Never()]).compute_advantages(make_completions())


def test_the_same_reward_twice_has_two_names() -> None:
    terms = GRPO(rewards=[FormatReward(), FormatReward(0.5)]).compute_advantages(make_completions()).logs
    assert {"reward/FormatReward", "reward/FormatReward_2"} <= set(terms)


def test_the_divergence_needs_its_reference() -> None:
    rollouts: Rollouts = make_rollouts()._replace(ref_logps=None)
    assert not GRPO(kl_coef=0).uses_reference_policy
    GRPO(kl_coef=0)(rollouts)
    with pytest.raises(ValueError, match="ref_logps"):
        GRPO(kl_coef=0.1)(rollouts)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GRPO(clip_epsilon=0), "clip"),
        (lambda: GRPO(kl_coef=-1), "kl"),
        (lambda: GRPO(GaussianAccuracy(weight=0), []), "weighs more than 0"),
        (lambda: GaussianAccuracy(0), "sigma"),
        (lambda: FormatReward(-1), "weight"),
        (lambda: MajorityGuidedScaling(beta=-1), "beta"),
        (lambda: MajorityGuidedScaling(c=2), "`c`"),
        (lambda: MajorityGuidedScaling(min_scale=2), "low"),
        (lambda: MajorityGuidedScaling(variant="other"), "form"),  # type: ignore[arg-type]  # what a caller may pass
    ],
)
def test_constructors_refuse(make: type[RolloutObjective | AdvantageScaling], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_from_yaml_with_a_reward_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        class_path: GroupRelative
        init_args:
          accuracy: {class_path: GaussianAccuracy, init_args: {sigma: 1.0}}
          rewards:
            - {class_path: FormatReward}
            - {class_path: brevity.Brevity, init_args: {weight: 0.25}}
          weighting: {class_path: Dynamic, init_args: {every: 3}}
          scaling: {class_path: MajorityGuided, init_args: {beta: 5}}
        """)
    )
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(RolloutObjective, "objective")
    objective = parser.instantiate(parser.parse_args([f"--objective={path}", "--objective.kl=0"])).objective
    assert (objective.accuracy.sigma, objective.scaling.beta, objective.kl) == (1.0, 5, 0)
    assert "reward/Brevity" in objective.judge(make_completions()).terms
