"""Terms of the loss that a run logs."""

from typing import Any

from lightning.pytorch import Callback, Trainer

from radreward.cli.training import TrainingRun
from radreward.modules import RewardModule


class _Recorder(Callback):
    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        self.steps.append({name: float(value) for name, value in trainer.callback_metrics.items()})


def fit_and_record(training: TrainingRun) -> list[dict[str, float]]:
    """Fit a reward model; return what each step logged in training, without values per criterion."""
    recorder, module = _Recorder(), training.module
    assert isinstance(module, RewardModule)
    training.trainer.callbacks.append(recorder)  # type: ignore[attr-defined]  # set by the constructor
    training.fit()
    return [
        {
            name.removeprefix("train/"): value
            for name, value in step.items()
            if name.startswith("train/") and name.rpartition("/")[2] not in (*module.criteria.tags, "truncated")
        }
        for step in recorder.steps
    ]
