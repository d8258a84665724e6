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
from radreward.data.length_buckets import LengthBuckets, ResumableLoader
from radreward.data.pairing import pairs
from radreward.data.records import SCHEMA, fingerprint, read_groups
from radreward.data.split import held_out, normalised
from radreward.errors import InputError
from radreward.types import Candidate, ReportGroup

logger = logging.getLogger(__name__)


class StoredGroups(Dataset[Any]):
    """Groups in a memory-mapped Arrow file; indexed by a list of positions."""

    def __init__(self, path: Path, lengths: list[int]) -> None:
        self.path, self.lengths = path, lengths
        self._table: pa.Table | None = None

    def __getitem__(self, indices: list[int]) -> list[ReportGroup]:
        table = self._opened()
        return [_group(table.slice(index, 1).to_pylist()[0]) for index in indices]

    def references(self) -> Iterator[str]:
        """The reference of each group."""
        return (text.as_py() for text in self._opened()["reference"])

    def _opened(self) -> pa.Table:
        if self._table is None:  # opened where it is read: a worker maps the file itself
            self._table = pa.ipc.open_file(pa.memory_map(str(self.path))).read_all()
        return self._table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}

    def __len__(self) -> int:
        return len(self.lengths)


def _group(row: dict[str, Any]) -> ReportGroup:
    return ReportGroup(
        row["id"],
        row["reference"],
        tuple(
            Candidate(entry["text"], dict(entry["errors"] or ()) or None, entry["system"])
            for entry in row["candidates"]
        ),
    )


class TrainingData(LightningDataModule, ABC):
    """Anything to train on: it can say what it was, so that a run is continued on the same."""

    @abstractmethod
    def fingerprint(self) -> dict[str, str]:
        """sha256 of each file that is read."""


class PairedReportDataModule(TrainingData):
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
        validation: float | str = 0.1,
        groups_per_batch: int = 8,
        workers: int = 0,
        seed: int = 0,
        unpairable: Literal["error", "skip", "keep"] = "error",
    ) -> None:
        super().__init__()
        if groups_per_batch < 1:
            raise ValueError(f"Expected `groups_per_batch` to be >= 1 but got {groups_per_batch}.")
        if workers < 0:
            raise ValueError(f"Expected `workers` to be >= 0 but got {workers}.")
        if not isinstance(validation, str) and not 0 < validation < 1:
            raise ValueError(f"Expected `validation` to be a file or in (0, 1) but got {validation}.")
        self.records, self.criteria, self.collator, self.validation = records, criteria, collator, validation
        self.groups_per_batch, self.workers, self.seed, self.unpairable = groups_per_batch, workers, seed, unpairable
        self.skipped = 0
        self._parts: dict[str, StoredGroups] = {}
        self._folder: Path | None = None

    def setup(self, stage: str | None = None) -> None:
        """Read the records once into memory-mapped files."""
        if self._parts:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="radreward-"))
        weakref.finalize(self, shutil.rmtree, self._folder)  # also runs when the process ends
        own = isinstance(self.validation, str)
        for part in ("train", "validation"):
            source = str(self.validation) if own and part == "validation" else self.records
            held = None if own else part == "validation"
            self._parts[part] = self._store(part, source, self._select(source, held))
            if not len(self._parts[part]):
                raise InputError(f"{source}: expected groups for {part} but none are left.")
        if self.skipped:
            logger.warning("Skipped %d groups with one candidate or equal totals.", self.skipped)
        seen = {hash(normalised(text)) for text in self._parts["train"].references()}
        known = [hash(normalised(text)) in seen for text in self._parts["validation"].references()]
        if any(known):
            logger.warning(
                "%d of the %d references of %s are in %s too: agreement on them is flattered.",
                *(sum(known), len(known), self.validation, self.records),
            )

    def _select(self, path: str, held: bool | None) -> Iterator[ReportGroup]:
        for group in read_groups(path, self.criteria):
            if held is not None and held_out(group.reference, float(self.validation), self.seed) != held:
                continue
            errors = torch.stack([self.criteria.vector(entry.errors or {}) for entry in group.candidates])
            totals = self.criteria.total(self.criteria.quality(errors))
            if self.unpairable == "keep" or len(pairs(totals, torch.zeros(len(totals)))):
                yield group
            elif self.unpairable == "skip":
                self.skipped += 1
            else:
                raise InputError(
                    f"{path}, group {group.id!r}: expected candidates with different totals but it has "
                    f"{'one candidate' if len(totals) == 1 else 'equal totals'}. Set unpairable to skip such groups, "
                    "or to keep them."
                )

    def _store(self, part: str, source: str, groups: Iterator[ReportGroup]) -> StoredGroups:
        if self._folder is None:
            raise RuntimeError("Expected `setup` to run first.")
        path, lengths = self._folder / f"{part}.arrow", []
        with pa.ipc.new_file(str(path), SCHEMA) as writer:
            while batch := list(islice(groups, 1000)):
                try:
                    lengths += [self.collator.length(group) for group in batch]
                except InputError as error:
                    raise InputError(f"{source}, {error}") from error
                rows = [{**g._asdict(), "candidates": [entry._asdict() for entry in g.candidates]} for g in batch]
                writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
        return StoredGroups(path, lengths)

    def _loader(self, part: str, shuffle: bool) -> ResumableLoader:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        data = self._parts[part]
        sampler = LengthBuckets(data.lengths, self.groups_per_batch, self.seed, shuffle, rank, world)
        return ResumableLoader(
            data, batch_size=None, sampler=sampler, num_workers=self.workers, collate_fn=self.collator.collate
        )

    def train_dataloader(self) -> ResumableLoader:
        """Batches in an order of their own in each epoch."""
        return self._loader("train", True)

    def val_dataloader(self) -> ResumableLoader:
        """Batches in the order of the file."""
        return self._loader("validation", False)

    def fingerprint(self) -> dict[str, str]:
        """sha256 of each file that was read."""
        files = [self.records] + ([self.validation] if isinstance(self.validation, str) else [])
        return {file: fingerprint(file) for file in files}
