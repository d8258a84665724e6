"""Progress of a run: a bar in a terminal, otherwise lines of text."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils.data import DataLoader, TensorDataset

from radreward.modules.progress import PlainTextProgress, ProgressBar, has_progress


class Halves(LightningModule):
    """A module with losses 1, 1/2, 1/3 ... and a validation metric of 0.25."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.objective = torch.nn.Identity()

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        return 0 * self.weight + 1 / (self.global_step + 1)

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_tau", 0.25, batch_size=1)

    def predict_step(self, batch: Any, index: int) -> None:
        return None

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Trainer]:
    """Train four steps with a validation after every second one, then predict."""

    def fit(progress: Callback) -> Trainer:
        trainer = Trainer(
            accelerator="cpu", logger=False, callbacks=[progress], max_steps=4, val_check_interval=2,
            check_val_every_n_epoch=None, num_sanity_val_steps=1, enable_checkpointing=False,
            enable_progress_bar=isinstance(progress, ProgressBar), enable_model_summary=False,
            default_root_dir=tmp_path,
        )  # fmt: skip
        loader: DataLoader[Any] = DataLoader(TensorDataset(torch.zeros(3)))
        trainer.fit(Halves(), loader, loader)
        trainer.predict(dataloaders=loader, model=Halves())
        return trainer

    return fit


NOISE = pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")


@NOISE
def test_plain_text_progress_reports_loss_speed_metric_and_folder(
    run: Callable[..., Trainer], capsys: pytest.CaptureFixture[str]
) -> None:
    run(PlainTextProgress("runs/first", interval=1000))
    lines = capsys.readouterr().err.splitlines()
    pace = r"[\d.e-]+ s per step, \d+ min left"
    assert re.fullmatch(r"step 0 of 4: training, objective: torch\.\S+\.Identity, writing to runs/first", lines[0])
    assert re.fullmatch(
        rf"step 2 of 4: validation τ-b 0\.250, training loss 0\.75, {pace}", lines[1]
    )  # mean of 1 and 1/2
    assert re.fullmatch(
        rf"step 4 of 4: validation τ-b 0\.250, training loss 0\.2917, {pace}", lines[2]
    )  # of 1/3 and 1/4
    assert lines[3:] == ["step 4 of 4: scoring the validation split with the weights to save"]


@NOISE
def test_plain_text_progress_reports_mean_reward(
    run: Callable[..., Trainer], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(self: Halves, batch: Any, index: int) -> torch.Tensor:
        self.log("train/reward", float(self.global_step), prog_bar=True, logger=False, batch_size=1)
        return 0 * self.weight

    monkeypatch.setattr(Halves, "training_step", step)
    run(PlainTextProgress("runs/first", interval=1000))
    lines = capsys.readouterr().err.splitlines()
    assert ", training loss 0, mean reward 0.5, " in lines[1]  # of steps 0 and 1
    assert ", training loss 0, mean reward 2.5, " in lines[2]


@NOISE
def test_plain_text_progress_reports_after_interval(
    run: Callable[..., Trainer], capsys: pytest.CaptureFixture[str]
) -> None:
    run(PlainTextProgress("runs/first", interval=0))
    lines = capsys.readouterr().err.splitlines()
    losses = [float(match[1]) for match in (re.search(r": training loss ([\d.]+),", line) for line in lines) if match]
    assert losses == [1.0, 0.5, 0.3333, 0.25]
    assert sum("validation τ-b 0.250" in line for line in lines) == 2


@NOISE
def test_progress_bar_shows_no_last_epoch_and_no_version(
    run: Callable[..., Trainer], capsys: pytest.CaptureFixture[str]
) -> None:
    bar = ProgressBar()
    trainer = run(bar)
    assert trainer.max_epochs == -1
    shown = capsys.readouterr().out
    assert re.search(r"Epoch 1 +", shown)
    assert "/-2" not in shown
    assert "v_num" not in bar.get_metrics(trainer, trainer.lightning_module)


@pytest.mark.parametrize("plain_text", [True, False])
def test_has_progress_follows_callbacks_of_trainer(plain_text: bool, tmp_path: Path) -> None:
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[PlainTextProgress(tmp_path)] if plain_text else [],
    )  # fmt: skip
    assert has_progress(trainer) == plain_text
