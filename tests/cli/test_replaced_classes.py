"""A newly named class starts from its own defaults, wherever it is named."""

from pathlib import Path

import pytest

from radreward.cli import build, main
from radreward.modules import RewardModule
from radreward.objectives import BradleyTerry, DynamicWeighting, MarginRewardEnforcement, UniformWeighting

BASE = """
model:
  objective:
    class_path: MarginRewardEnforcement
    init_args: {lambda_: 5, reduction: sum, weighting: {class_path: DynamicWeighting, init_args: {alpha: 2}}}
"""


@pytest.fixture
def base(config: Path, tmp_path: Path) -> list[str]:
    """Return options of a run whose objective has settings."""
    (tmp_path / "base.yaml").write_text(BASE)
    return [f"config={config}", f"config={tmp_path / 'base.yaml'}"]


def objective(*overrides: str) -> BradleyTerry | MarginRewardEnforcement:
    module = build(None, *overrides).module
    assert isinstance(module, RewardModule)
    assert isinstance(module.objective, BradleyTerry | MarginRewardEnforcement)
    return module.objective


@pytest.mark.parametrize(
    "contents",
    ["model: {objective: BradleyTerry}", "model: {objective: {class_path: BradleyTerry}}", None],
    ids=["name in a file", "class path in a file", "argument"],
)
def test_newly_named_class_has_its_own_defaults(contents: str | None, base: list[str], tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(contents or "")
    new = objective(*base, f"config={tmp_path / 'new.yaml'}" if contents else "model.objective=BradleyTerry")
    assert isinstance(new, BradleyTerry)
    assert (new.lambda_, new.reduction) == (1.0, "mean")
    assert isinstance(new.weighting, UniformWeighting)


def test_settings_beside_or_after_the_name_apply(base: list[str], tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(
        "model: {objective: {class_path: BradleyTerry, init_args: {lambda_: 4, use_margin: true}}}"
    )
    new = objective(*base, f"config={tmp_path / 'new.yaml'}", "model.objective.reduction=sum")
    assert isinstance(new, BradleyTerry)
    assert (new.lambda_, new.use_margin, new.reduction) == (4.0, True, "sum")


def test_class_that_is_named_again_keeps_its_settings(base: list[str]) -> None:
    same = objective(*base, "model.objective=MarginRewardEnforcement", "model.objective.weighting.update_interval=3")
    assert (same.lambda_, same.reduction) == (5.0, "sum")
    assert isinstance(same.weighting, DynamicWeighting)
    assert (same.weighting.alpha, same.weighting.update_interval) == (2.0, 3)


def test_new_module_without_a_backbone_is_an_error(base: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", *(f"--{entry}" for entry in base), "--model=SFTModule"]) == 2
    assert "model.backbone: Expected the backbone of SFTModule but got none." in capsys.readouterr().err
