"""What all data modules share: settings, batches, resume within an epoch, fingerprints."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor
from torch.utils.data._utils.pin_memory import pin_memory

from radreward.data.base_datamodule import GLOBAL_SEED, BaseDataModule
from radreward.data.group_files import SizedDataset
from radreward.data.packing import pack, paths_of, unpack
from radreward.io.artifacts import file_fingerprint


class Numbers(SizedDataset):
    """The numbers from 0, with lengths from 20 to 80."""

    def __init__(self, size: int) -> None:
        self.lengths = [20 + 10 * (index % 7) for index in range(size)]

    def __getitem__(self, indices: list[int]) -> list[int]:
        return indices


class NumberDataModule(BaseDataModule):
    def __init__(self, num_workers: int = 0, tokens_per_batch: int | None = None) -> None:
        super().__init__(["numbers.txt"], 0.2, batch_size=3, num_workers=num_workers)
        self.tokens_per_batch = tokens_per_batch
        self.datasets = {"train": Numbers(36), "validation": Numbers(4)}
        self.collate_fn = torch.tensor


class RecordingModule(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.batches: list[list[int]] = []

    def training_step(self, batch: Tensor) -> Tensor:
        self.batches.append(batch.tolist())
        loss: Tensor = self.layer(batch.float()[:, None]).mean()
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.0)


def fit(root: Path, workers: int, steps: int, resume: str | None = None, tokens: int | None = None) -> list[list[int]]:
    module = RecordingModule()
    checkpoint = ModelCheckpoint(root, filename="{step}", every_n_train_steps=7, save_top_k=-1)
    trainer = Trainer(
        accelerator="cpu", logger=False, callbacks=[checkpoint], max_steps=steps, limit_val_batches=0,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    data = NumberDataModule(workers, tokens)
    trainer.fit(module, data, ckpt_path=resume)
    return module.batches


@pytest.mark.parametrize(("device", "pinned"), [("cuda", True), ("cpu", False), ("mps", False)])
def test_batches_for_a_cuda_gpu_are_pinned(device: str, pinned: bool) -> None:
    data: Any = NumberDataModule()
    strategy = SimpleNamespace(root_device=SimpleNamespace(type=device))
    data.trainer = SimpleNamespace(global_rank=0, world_size=1, strategy=strategy)
    assert data.train_dataloader().pin_memory is pinned


def test_pinned_packed_batch_has_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor, *_: tensor + 0)
    packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]])
    pin: Any = pin_memory
    pinned = pin(packed)
    assert pinned.input_ids is not packed.input_ids
    assert unpack(pinned) == unpack(packed)
    assert (pinned.leaf_nodes, paths_of(pinned)) == (packed.leaf_nodes, paths_of(packed))


@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("workers", "tokens"), [(0, None), (1, None), (0, 110)])
def test_run_resumed_within_an_epoch_gets_the_batches_of_an_uninterrupted_run(
    tmp_path: Path, workers: int, tokens: int | None
) -> None:
    uninterrupted = fit(tmp_path / "a", workers, 25, tokens=tokens)
    first = fit(tmp_path / "b", workers, 7, tokens=tokens)
    resumed = fit(tmp_path / "c", workers, 25, str(tmp_path / "b" / "step=7.ckpt"), tokens)
    assert {len(batch) for batch in uninterrupted} >= ({1, 2, 3} if tokens else {3})
    assert first + resumed == uninterrupted
    assert uninterrupted[:5] != uninterrupted[12:17]


def test_seed_everything_decides_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a study that start from one saved model would otherwise be equal."""
    orders = []
    for seed in (0, 1, 0):
        seed_everything(seed, verbose=False)
        orders.append(torch.cat(list(NumberDataModule().train_dataloader())).tolist())
    monkeypatch.delenv(GLOBAL_SEED)
    orders.append(torch.cat(list(NumberDataModule().train_dataloader())).tolist())
    assert orders[0] == orders[2] == orders[3] != orders[1]
    assert sorted(orders[1]) == list(range(36))


def test_validation_batches_are_in_the_order_of_the_file() -> None:
    assert torch.cat(list(NumberDataModule().val_dataloader())).tolist() == [0, 1, 2, 3]


class EmptyDataModule(BaseDataModule):
    """Data of given settings."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_workers": -1}, "Expected `num_workers` to be >= 0 but got -1"),
        ({"batch_size": 0}, "Expected `batch_size` to be >= 1 but got 0"),
        ({"val_split": 0.0}, r"Expected `val_split` to be a file or in \(0, 1\) but got 0.0"),
        ({"val_split": 1.0}, r"Expected `val_split` to be a file or in \(0, 1\) but got 1.0"),
    ],
)
def test_invalid_settings_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EmptyDataModule(**{"files": ["a"], "val_split": 0.1, "batch_size": 1, **settings})


def test_file_fingerprints_include_the_validation_file(tmp_path: Path) -> None:
    train, validation = str(tmp_path / "train"), str(tmp_path / "validation")
    for path in (train, validation):
        Path(path).write_text(path)
    data = EmptyDataModule([train], validation, 1)
    assert data.file_fingerprints() == {path: file_fingerprint(path) for path in (train, validation)}
    assert list(EmptyDataModule([train], 0.1, 1).file_fingerprints()) == [train]
