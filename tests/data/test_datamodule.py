from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import PairedReportDataModule
from radreward.data.records import read_groups, write_groups
from radreward.errors import InputError
from radreward.types import Candidate, ReportGroup


class IdCollator(Collator):
    def collate(self, groups: Sequence[ReportGroup]) -> Any:
        return torch.tensor([int(group.id) for group in groups])


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


def group(index: int, second: float = 1.0) -> ReportGroup:
    none = dict.fromkeys(RadCliQCriteria().tags, 0.0)
    return ReportGroup(
        str(index),
        f"Reference {index}." + " More." * (index % 7),
        (Candidate("Clear.", none), Candidate("Hazy.", {**none, "omission": second})),
    )


@pytest.fixture
def records(tmp_path: Path) -> str:
    write_groups(tmp_path / "groups.parquet", map(group, range(40)))
    return str(tmp_path / "groups.parquet")


def fit(
    records: str, root: Path, workers: int, steps: int, resume: str | None = None, tokens: int | None = None
) -> list[list[int]]:
    module = RecordingModule()
    checkpoint = ModelCheckpoint(root, filename="{step}", every_n_train_steps=7, save_top_k=-1)
    trainer = Trainer(
        accelerator="cpu", logger=False, callbacks=[checkpoint], max_steps=steps, limit_val_batches=0,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    data = PairedReportDataModule(records, RadCliQCriteria(), IdCollator(), 0.2, 3, workers, tokens_per_batch=tokens)
    trainer.fit(module, data, ckpt_path=resume)
    return module.batches


@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("workers", "tokens"), [(0, None), (1, None), (0, 110)])
def test_run_resumed_within_an_epoch_gets_the_batches_of_an_uninterrupted_run(
    records: str, tmp_path: Path, workers: int, tokens: int | None
) -> None:
    uninterrupted = fit(records, tmp_path / "a", workers, 25, tokens=tokens)
    first = fit(records, tmp_path / "b", workers, 7, tokens=tokens)
    resumed = fit(records, tmp_path / "c", workers, 25, str(tmp_path / "b" / "step=7.ckpt"), tokens)
    assert {len(batch) for batch in uninterrupted} >= ({1, 2, 3} if tokens else {3})
    assert first + resumed == uninterrupted
    assert uninterrupted[:5] != uninterrupted[12:17]


def test_unpairable_group_raises_is_skipped_or_retained(tmp_path: Path) -> None:
    path = str(tmp_path / "groups.jsonl")
    write_groups(path, [group(0, 0.0), *map(group, range(1, 30))])
    with pytest.raises(InputError, match=r"groups\.jsonl, group '0': .* different totals but it has equal totals\."):
        PairedReportDataModule(path, RadCliQCriteria(), IdCollator(), 0.3).setup()
    data = PairedReportDataModule(path, RadCliQCriteria(), IdCollator(), 0.3, on_unpairable="skip")
    data.setup()
    assert data.num_skipped == 1
    train = {i for batch in data.train_dataloader() for i in batch.tolist()}
    validation = {i for batch in data.val_dataloader() for i in batch.tolist()}
    assert not train & validation
    assert train | validation == set(range(1, 30))
    unfiltered = PairedReportDataModule(path, RadCliQCriteria(), IdCollator(), 0.3, on_unpairable="keep")
    unfiltered.setup()
    loaders = unfiltered.train_dataloader(), unfiltered.val_dataloader()
    assert {i for loader in loaders for batch in loader for i in batch.tolist()} == set(range(30))


def test_several_files_are_read_one_after_the_other(records: str, tmp_path: Path) -> None:
    write_groups(tmp_path / "more.jsonl", [group(index) for index in range(40, 50)])
    files = [records, str(tmp_path / "more.jsonl")]
    data = PairedReportDataModule(files, RadCliQCriteria(), IdCollator(), 0.2, 3)
    data.setup()
    ids = {split: [part[[index]][0].id for index in range(len(part))] for split, part in data.datasets.items()}
    assert sorted([*ids["train"], *ids["validation"]], key=int) == [str(index) for index in range(50)]
    assert ids["train"] == sorted(ids["train"], key=int)
    with pytest.raises(ValueError, match="Expected `records` to name a file but got none"):
        PairedReportDataModule([], RadCliQCriteria(), IdCollator())
    write_groups(tmp_path / "more.jsonl", [group(50, second=0.0)])
    with pytest.raises(InputError, match=r"more\.jsonl, group '50'"):
        PairedReportDataModule(files, RadCliQCriteria(), IdCollator(), 0.2, 3).setup()


def test_group_with_one_candidate_raises(tmp_path: Path) -> None:
    path = str(tmp_path / "groups.jsonl")
    write_groups(path, [group(0)._replace(candidates=group(0).candidates[:1])])
    with pytest.raises(InputError, match="but it has one candidate. Set on_unpairable to skip such groups"):
        PairedReportDataModule(path, RadCliQCriteria(), IdCollator(), path).setup()


def test_references_in_both_splits_are_counted_and_logged(
    records: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    validation_path = str(tmp_path / "own.jsonl")
    equal = group(0)._replace(reference="reference  0.")  # equal except for case and white space
    write_groups(validation_path, [equal, *map(group, range(40, 45))])
    PairedReportDataModule(records, RadCliQCriteria(), IdCollator(), validation_path).setup()
    assert f"1 of the 6 references of {validation_path} are in {records} too" in caplog.text
    caplog.clear()
    PairedReportDataModule(records, RadCliQCriteria(), IdCollator(), 0.5).setup()
    assert not caplog.text


def test_setup_prompt_over_limit_raises(records: str) -> None:
    criteria = RadCliQCriteria()
    data = PairedReportDataModule(records, criteria, RewardCollator(criteria, "tiny-bert", max_length=20), 0.5)
    with pytest.raises(InputError, match=r"groups\.parquet, group '\d+', candidate 1: expected at most 20 tokens"):
        data.setup()


def test_negative_num_workers_raises() -> None:
    with pytest.raises(ValueError, match="Expected `num_workers` to be >= 0 but got -1"):
        PairedReportDataModule("a.jsonl", RadCliQCriteria(), IdCollator(), num_workers=-1)


def test_balanced_errors_draw_rare_errors_more_often(tmp_path: Path) -> None:
    none = dict.fromkeys(RadCliQCriteria().tags, 0.0)

    def candidates(index: int) -> tuple[Candidate, ...]:
        rare = {"incorrect_location": 1.0} if index % 8 == 0 else {}
        return (Candidate("Clear.", none), Candidate("Hazy.", {**none, "omission": 1.0, **rare}))

    groups = [ReportGroup(str(index), f"Reference {index}.", candidates(index)) for index in range(80)]
    write_groups(tmp_path / "groups.parquet", groups)
    rare = []
    for balance in (False, True):
        data = PairedReportDataModule(
            str(tmp_path / "groups.parquet"), RadCliQCriteria(), IdCollator(), 0.2, 4, balance_errors=balance
        )
        data.setup()
        loader = data.train_dataloader()
        rare.append(torch.cat(list(loader)).remainder(8).eq(0).float().mean())
        assert list(data.val_dataloader())
    assert rare[0] < 0.2
    assert rare[1] > 1.8 * rare[0]
    with pytest.raises(ValueError, match="Expected no `tokens_per_batch` with `balance_errors`"):
        PairedReportDataModule("x", RadCliQCriteria(), IdCollator(), tokens_per_batch=9, balance_errors=True)


def test_setup_reads_a_file_once_for_both_splits(records: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def spy(path: str, criteria: Any) -> Any:
        read.append(path)
        return read_groups(path, criteria)

    monkeypatch.setattr("radreward.data.datamodule.read_groups", spy)
    data = PairedReportDataModule(records, RadCliQCriteria(), IdCollator(), 0.3)
    data.setup()
    assert read == [records]
    assert sorted(int(group.id) for split in data.datasets.values() for group in split[list(range(len(split)))]) == [
        *range(40)
    ]
