"""AdamW configuration: schedule and parameter groups."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.modules import AdamWConfig, RewardModule

Make = Callable[..., RewardModule]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lr": 0.0}, "`lr` to be > 0 but got 0.0"),
        ({"lr": math.nan}, "`lr`"),
        ({"head_lr": -1.0}, "`head_lr` to be > 0 but got -1.0"),
        ({"weight_decay": -0.1}, "`weight_decay` to be >= 0"),
        ({"warmup_ratio": 1.0}, r"`warmup_ratio` to be in \[0, 1\)"),
    ],
)
def test_adamw_config_value_out_of_range_raises(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AdamWConfig(**values)


@given(st.integers(1, 300), st.floats(0, 0.99))
def test_lr_factor_rises_to_1_then_falls(steps: int, warmup_ratio: float) -> None:
    config = AdamWConfig(warmup_ratio=warmup_ratio)
    rates = [config.lr_factor(step, steps) for step in range(steps)]
    top = max(1, round(warmup_ratio * steps)) - 1
    assert rates[top] == 1
    assert all(low < high for low, high in zip(rates[:top], rates[1 : top + 1], strict=True))
    assert all(low <= high for high, low in zip(rates[top:], rates[top + 1 :], strict=False))
    assert all(0 < rate <= 1 for rate in rates)
    assert config.lr_factor(steps, steps) == pytest.approx(0, abs=1e-12) or steps == top + 1


def test_configure_optimizers_assigns_rate_and_decay_to_every_parameter(module: Make) -> None:
    reward_module = module()
    reward_module.optimizer_config = AdamWConfig(lr=1e-4, head_lr=1e-3, weight_decay=0.1)

    class FakeTrainer:
        estimated_stepping_batches = 10

    reward_module._trainer = FakeTrainer()  # type: ignore[assignment]  # the schedule reads one attribute
    reward_module._fabric = None
    optimizer: Any = reward_module.configure_optimizers()["optimizer"]
    assigned = {id(p): (g["initial_lr"], g["weight_decay"]) for g in optimizer.param_groups for p in g["params"]}
    trained = {name: p for name, p in reward_module.named_parameters() if p.requires_grad}
    assert len(assigned) == sum(len(group["params"]) for group in optimizer.param_groups) == len(trained)
    for name, parameter in trained.items():
        rate = 1e-3 if name.startswith(("model.head", "model.finding_head", "model.pooling")) else 1e-4
        assert assigned[id(parameter)] == (rate, 0.1 if parameter.ndim > 1 else 0.0), name
