"""Groups for every module that takes pairs: splits, groups without pairs, balanced errors, optional targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.data.records import read_groups, write_groups
from radreward.errors import InputError, TooLongError
from radreward.synthesis import synthesize_files
from radreward.types import Candidate, FindingWeights, ReportGroup


class IdCollator(Collator):
    def collate(self, groups: Sequence[ReportGroup]) -> Any:
        return torch.tensor([int(group.id) for group in groups])


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


def test_group_over_the_limit_raises_or_is_skipped_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "groups.jsonl")
    write_groups(path, [group(0)._replace(reference="Long " * 200), *map(group, range(1, 30))])
    collator = RewardCollator(RadCliQCriteria(), max_length=100)
    with pytest.raises(TooLongError, match=r"groups\.jsonl, group '0', candidate 1: Expected at most 100 tokens"):
        PairedReportDataModule(path, RadCliQCriteria(), collator, 0.3).setup()
    data = PairedReportDataModule(path, RadCliQCriteria(), collator, 0.3, skip_too_long=True)
    data.setup()
    assert data.num_too_long == 1
    assert "Skipped 1 groups with a prompt or an answer over the limit." in caplog.text
    assert sum(len(part) for part in data.datasets.values()) == 29


def test_generated_groups_that_datasets_loads_are_training_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    generated = synthesize_files(tmp_path / "data", RadCliQCriteria(), 20, seed=3, granularity="statement")
    expected = {group.id: group for group in read_groups(generated, RadCliQCriteria())}
    loaded = datasets.load_dataset("parquet", data_files=str(generated), split="train")
    loaded.save_to_disk(str(tmp_path / "saved"))
    for records in (str(tmp_path / "saved"), f"hf:{tmp_path / 'data'}"):
        data = PairedReportDataModule(records, RadCliQCriteria(), RewardCollator(RadCliQCriteria()), 0.3)
        assert list(data.file_fingerprints()) == [records]
        data.setup()
        kept = [group for part in data.datasets.values() for group in part[list(range(len(part)))]]
        assert {group.id: group for group in kept} == expected


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
    with pytest.raises(InputError, match=r"groups\.parquet, group '\d+', candidate 1: Expected at most 20 tokens"):
        data.setup()


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

    def spy(path: str, *options: Any) -> Any:
        read.append(path)
        return read_groups(path, *options)

    monkeypatch.setattr("radreward.data.paired_datamodule.read_groups", spy)
    data = PairedReportDataModule(records, RadCliQCriteria(), IdCollator(), 0.3)
    data.setup()
    assert read == [records]
    assert sorted(int(group.id) for split in data.datasets.values() for group in split[list(range(len(split)))]) == [
        *range(40)
    ]


def test_provided_targets_are_those_of_training_candidates(tmp_path: Path) -> None:
    def provided(train: ReportGroup, validation: ReportGroup) -> frozenset[str]:
        paths = [str(tmp_path / f"{name}.jsonl") for name in ("train", "validation")]
        for path, entry in zip(paths, (train, validation), strict=True):
            write_groups(path, [entry])
        data = PairedReportDataModule(paths[0], RadCliQCriteria(), IdCollator(), paths[1])
        data.setup()
        copy = PairedReportDataModule(paths[0], RadCliQCriteria(), IdCollator(), paths[1])
        copy.share(data)
        assert copy.provided == data.provided
        return data.provided

    bare = group(0)
    with_weights = group(1)._replace(
        candidates=(bare.candidates[0]._replace(finding_weights=FindingWeights(1.0, 0.0)), bare[2][1])
    )
    with_located = group(2)._replace(candidates=(bare.candidates[0]._replace(located_errors=()), bare.candidates[1]))
    assert provided(bare, with_weights) == frozenset()
    assert provided(with_weights, bare) == {"finding_weights"}
    assert provided(with_located, bare) == {"located_errors"}
