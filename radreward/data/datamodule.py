"""The one data module: records, split, pairing rule, batches of like length, resume."""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import Dataset

from radreward.criteria import Criteria
from radreward.data.collators.base import Collator
from radreward.data.length_buckets import LengthBucketSampler, ResumableDataLoader
from radreward.data.pairing import make_pairs
from radreward.data.records import GROUP_SCHEMA, read_groups
from radreward.data.split import is_held_out, normalize_text
from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint
from radreward.types import Candidate, ReportGroup

logger = logging.getLogger(__name__)


class ArrowGroupDataset(Dataset[Any]):
    """Groups in a memory-mapped Arrow file; indexed by a list of positions."""

    def __init__(self, path: Path, lengths: list[int]) -> None:
        self.path, self.lengths = path, lengths
        self._table: pa.Table | None = None

    def __getitem__(self, indices: list[int]) -> list[ReportGroup]:
        table = self._open_table()
        return [_group_from_row(table.slice(index, 1).to_pylist()[0]) for index in indices]

    def references(self) -> Iterator[str]:
        """The reference of each group."""
        return (text.as_py() for text in self._open_table()["reference"])

    def _open_table(self) -> pa.Table:
        if self._table is None:  # opened where it is read: a worker maps the file itself
            self._table = pa.ipc.open_file(pa.memory_map(str(self.path))).read_all()
        return self._table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}

    def __len__(self) -> int:
        return len(self.lengths)


def _group_from_row(row: dict[str, Any]) -> ReportGroup:
    return ReportGroup(
        row["id"],
        row["reference"],
        tuple(
            Candidate(entry["text"], dict(entry["errors"] or ()) or None, entry["system"])
            for entry in row["candidates"]
        ),
    )


class BaseDataModule(LightningDataModule, ABC):
    """Anything to train on: it can say what it was, so that a run is continued on the same."""

    @abstractmethod
    def file_fingerprints(self) -> dict[str, str]:
        """sha256 of each file that is read."""


class PairedReportDataModule(BaseDataModule):
    """Groups of candidates that make pairs, in batches.

    Args:
        records: File of groups or flat pairs, see `read_groups`.
        criteria: What the errors are stated by.
        collator: Makes a batch of groups.
        validation: A file of its own, or the fraction of references held out.
        groups_per_batch: References in a batch.
        workers: Processes that prepare batches; 0 prepares them in the main process.
        seed: Decides the split and, with the epoch, the order.
        unpairable: What a group with one candidate or equal totals does: stop with its name; be skipped, counted and
            logged; or be kept, where candidates of different references are compared, as for W and p.

    Raises:
        InputError: In `setup`, for records that cannot be used.
    """

    def __init__(
        self,
        records: str,
        criteria: Criteria,
        collator: Collator,
        val_split: float | str = 0.1,
        batch_size: int = 8,
        num_workers: int = 0,
        seed: int = 0,
        on_unpairable: Literal["error", "skip", "keep"] = "error",
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"Expected `groups_per_batch` to be >= 1 but got {batch_size}.")
        if num_workers < 0:
            raise ValueError(f"Expected `workers` to be >= 0 but got {num_workers}.")
        if not isinstance(val_split, str) and not 0 < val_split < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {val_split}.")
        self.records, self.criteria, self.collator, self.val_split = records, criteria, collator, val_split
        self.batch_size, self.num_workers, self.seed, self.on_unpairable = batch_size, num_workers, seed, on_unpairable
        self.num_skipped = 0
        self._datasets: dict[str, ArrowGroupDataset] = {}
        self._folder: Path | None = None

    def setup(self, stage: str | None = None) -> None:
        """Read the records once into memory-mapped files."""
        if self._datasets:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="radreward-"))
        weakref.finalize(self, shutil.rmtree, self._folder)  # also runs when the process ends
        own = isinstance(self.val_split, str)
        for part in ("train", "validation"):
            source = str(self.val_split) if own and part == "validation" else self.records
            held = None if own else part == "validation"
            self._datasets[part] = self._write_arrow(part, source, self._read_split(source, held))
            if not len(self._datasets[part]):
                raise InputError(f"{source}: expected groups for {part} but none are left.")
        if self.num_skipped:
            logger.warning("Skipped %d groups with one candidate or equal totals.", self.num_skipped)
        seen = {hash(normalize_text(text)) for text in self._datasets["train"].references()}
        known = [hash(normalize_text(text)) in seen for text in self._datasets["validation"].references()]
        if any(known):
            logger.warning(
                "%d of the %d references of %s are in %s too: agreement on them is flattered.",
                *(sum(known), len(known), self.val_split, self.records),
            )

    def _read_split(self, path: str, held_out: bool | None) -> Iterator[ReportGroup]:
        for group in read_groups(path, self.criteria):
            if held_out is not None and is_held_out(group.reference, float(self.val_split), self.seed) != held_out:
                continue
            errors = torch.stack([self.criteria.to_tensor(entry.errors or {}) for entry in group.candidates])
            totals = self.criteria.total_quality(self.criteria.quality(errors))
            if self.on_unpairable == "keep" or len(make_pairs(totals, torch.zeros(len(totals)))):
                yield group
            elif self.on_unpairable == "skip":
                self.num_skipped += 1
            else:
                raise InputError(
                    f"{path}, group {group.id!r}: expected candidates with different totals but it has "
                    f"{'one candidate' if len(totals) == 1 else 'equal totals'}. Set unpairable to skip such groups, "
                    "or to keep them."
                )

    def _write_arrow(self, split: str, source: str, groups: Iterator[ReportGroup]) -> ArrowGroupDataset:
        if self._folder is None:
            raise RuntimeError("Expected `setup` to run first.")
        path, lengths = self._folder / f"{split}.arrow", []
        with pa.ipc.new_file(str(path), GROUP_SCHEMA) as writer:
            while batch := list(islice(groups, 1000)):
                try:
                    lengths += [self.collator.length(group) for group in batch]
                except InputError as error:
                    raise InputError(f"{source}, {error}") from error
                rows = [{**g._asdict(), "candidates": [entry._asdict() for entry in g.candidates]} for g in batch]
                writer.write_table(pa.Table.from_pylist(rows, schema=GROUP_SCHEMA))
        return ArrowGroupDataset(path, lengths)

    def _make_loader(self, split: str, shuffle: bool) -> ResumableDataLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._datasets[split]
        sampler = LengthBucketSampler(data.lengths, self.batch_size, self.seed, shuffle, rank, world)
        return ResumableDataLoader(
            data, batch_size=None, sampler=sampler, num_workers=self.num_workers, collate_fn=self.collator.collate
        )

    def train_dataloader(self) -> ResumableDataLoader:
        """Batches in an order of their own in each epoch."""
        return self._make_loader("train", True)

    def val_dataloader(self) -> ResumableDataLoader:
        """Batches in the order of the file."""
        return self._make_loader("validation", False)

    def file_fingerprints(self) -> dict[str, str]:
        """sha256 of each file that was read."""
        files = [self.records] + ([self.val_split] if isinstance(self.val_split, str) else [])
        return {file: file_fingerprint(file) for file in files}
