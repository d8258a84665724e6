"""Tests of objectives built from configurations: by name, nested, and from a user's file."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch
from jsonargparse import ArgumentError, ArgumentParser

from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    DynamicWeighting,
    FixedWeighting,
    MarginRewardEnforcement,
    Objective,
    PairObjective,
    PlackettLuce,
    SumObjective,
)
from radreward.testing import make_reward_batch


def build(*args: str) -> Objective:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(Objective, "objective")
    objective = parser.instantiate(parser.parse_args(list(args))).objective
    assert isinstance(objective, Objective)
    return objective


def from_yaml(folder: Path, text: str) -> Objective:
    path = folder / "objective.yaml"
    path.write_text(textwrap.dedent(text))
    return build(f"--objective={path}")


def test_arguments_select_ablation() -> None:
    objective = build(
        "--objective=MarginRewardEnforcement",
        "--objective.lambda_=0.8",
        "--objective.use_criteria=false",
        "--objective.reduction=sum",
        "--objective.weighting=DynamicWeighting",
        "--objective.weighting.update_interval=5",
    )
    assert isinstance(objective, MarginRewardEnforcement)
    assert (objective.lambda_, objective.use_criteria, objective.use_total) == (0.8, False, True)
    assert objective.reduction == "sum"
    assert isinstance(objective.weighting, DynamicWeighting)
    assert objective.weighting.update_interval == 5


def test_objective_built_by_short_name() -> None:
    for kind in (BradleyTerry, CountRegression, PlackettLuce, MarginRewardEnforcement):
        assert type(build(f"--objective={kind.__name__}")) is kind


def test_sum_built_from_yaml(tmp_path: Path) -> None:
    objective = from_yaml(
        tmp_path,
        """\
        class_path: SumObjective
        init_args:
          objectives:
            - class_path: PlackettLuce
              init_args:
                weighting:
                  class_path: FixedWeighting
                  init_args: {weights: [1, 2, 3, 1, 1, 1]}
            - class_path: CountRegression
              init_args: {loss: poisson}
          weights: [1.0, 0.1]
        """,
    )
    assert isinstance(objective, SumObjective)
    listwise, regression = objective.objectives
    assert isinstance(listwise, PlackettLuce)
    assert isinstance(listwise.weighting, FixedWeighting)
    assert isinstance(regression, CountRegression)
    assert regression.loss == "poisson"
    assert objective.weights == [1.0, 0.1]
    assert objective(make_reward_batch()).loss.isfinite()


def test_user_objective_built_from_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_losses.py").write_text(
        textwrap.dedent(
            """\
            from radreward.objectives import PairObjective

            class SmoothMargin(PairObjective):
                def __init__(self, sharpness: float = 1.0, **kwargs) -> None:
                    super().__init__(**kwargs)
                    self.sharpness = sharpness

                def pair_loss(self, accepted, rejected, margin):
                    missing = margin.sign() * (margin - accepted + rejected)
                    return self.weighting((self.sharpness * missing).sigmoid())
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    objective = from_yaml(
        tmp_path,
        """\
        class_path: my_losses.SmoothMargin
        init_args:
          sharpness: 2.0
          reduction: sum
          weighting: {class_path: DynamicWeighting, init_args: {update_interval: 1}}
        """,
    )
    assert isinstance(objective, PairObjective)
    assert objective.reduction == "sum"
    batch = make_reward_batch()
    loss = objective(batch).loss
    (gradient,) = torch.autograd.grad(loss, batch.rewards)
    assert gradient.norm() > 0
    assert isinstance(objective.weighting, DynamicWeighting)
    assert len(objective.weighting.f1) == 6


@pytest.mark.parametrize(
    "args",
    [
        ("--objective=DynamicWeighting",),  # a weighting, not an objective
        ("--objective=MarginRewardEnforcement", "--objective.lamda=2"),
        ("--objective=MarginRewardEnforcement", "--objective.lambda_=much"),
        ("--objective=MarginRewardEnforcement", "--objective.reduction=none"),
    ],
)
def test_invalid_arguments_raise_while_parsing(args: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentError):
        build(*args)
