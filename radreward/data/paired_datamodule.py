"""The data module of groups: each reference with its candidates, which form pairs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.criteria.pairs import make_pairs
from radreward.data.base_datamodule import BaseDataModule
from radreward.data.collators.base import Collator
from radreward.data.group_files import ArrowGroupDataset, ArrowGroupWriter, TemporaryFolder
from radreward.data.group_lengths import Length, measure_lengths
from radreward.data.records import read_groups
from radreward.data.split import is_held_out, normalize_text
from radreward.devices import usable_cores
from radreward.errors import InputError, TooLongError, check_choice
from radreward.types import OptionalPart, ReportGroup

logger = logging.getLogger(__name__)


def balancing_weights(error_shares: Tensor) -> Tensor:
    """Return (n,) weights of groups, with which each criterion's share of candidates with an error is closer to a half.

    With p_j the share of candidates with an error of criterion j, a candidate with such an error counts 1/p_j and any
    other 1/(1 - p_j). The weight of a group is the mean over its candidates and over the criteria with 0 < p_j < 1.

    Args:
        error_shares: (n, N) share of each group's candidates with an error of each criterion.

    >>> balancing_weights(torch.tensor([[1.0], [0.0], [0.0], [0.0]])).tolist()
    [4.0, 1.3333333730697632, 1.3333333730697632, 1.3333333730697632]
    """
    share = error_shares.mean(0)
    varies = (share > 0) & (share < 1)
    if not varies.any():
        return torch.ones(len(error_shares))
    part, share = error_shares[:, varies], share[varies]
    return (part / share + (1 - part) / (1 - share)).mean(1)


class _Origin(NamedTuple):
    """The file and the split of a group, and its optional targets."""

    file: str
    split: str
    provided: frozenset[OptionalPart]


class PairedReportDataModule(BaseDataModule):
    """Groups whose candidates form pairs, in batches, for every module that takes pairs of reports.

    The collator decides what a batch is: pairs for `RewardModule`, answers for `SFTModule`, prompts for `GRPOModule`,
    matched entities for RaTEScore's `AffinityModule`.

    Args:
        records: File of groups or flat pairs, see `read_groups`, or several; `LanguageModelModule` also reads a
            column `text`.
        criteria: The criteria of the error counts.
        collator: Turns groups into a batch.
        val_split: A separate file, or the fraction of references held out.
        batch_size: Groups per batch, each one reference with its candidates. n candidates with different totals form
            n(n - 1)/2 pairs: two groups of three give the 6 pairs per batch of ER²Score.
        num_workers: Processes that prepare batches; 0 prepares them in the main process.
        seed: Decides the split and, with `seed_everything` and the epoch, the order.
        on_unpairable: Handling of a group that forms no pair (one candidate, or equal totals): "error" stops and names
            it, "skip" skips it and logs the number, "keep" keeps it, for training that compares candidates of different
            references, as for W and p.
        skip_too_long: Skip groups with a prompt or an answer over the limits of the collator, and log the number.
        tokens_per_batch: Maximum number of tokens per training batch, in the unit of the collator's `length`. It limits
            memory: batches of long groups have fewer groups than `batch_size`, and a longer group is its own batch.
        balance_errors: Sample training groups with replacement, those with rare errors more often, so that a constant
            answer is rarely correct; see `balancing_weights`.

    Attributes:
        provided: Optional parts of a batch for which at least one training candidate has targets.

    Raises:
        ValueError: If a setting is out of its range, or `balance_errors` is set with `tokens_per_batch`.
        InputError: In `setup`, for invalid records.
    """

    def __init__(
        self,
        records: str | list[str],
        criteria: Criteria,
        collator: Collator,
        val_split: float | str = 0.1,
        batch_size: int = 8,
        num_workers: int = 0,
        seed: int = 0,
        on_unpairable: Literal["error", "skip", "keep"] = "error",
        skip_too_long: bool = False,
        tokens_per_batch: int | None = None,
        balance_errors: bool = False,
    ) -> None:
        super().__init__([records] if isinstance(records, str) else records, val_split, batch_size, seed, num_workers)
        check_choice("on_unpairable", on_unpairable, ("error", "skip", "keep"))
        if not self.files:
            raise ValueError("Expected `records` to name a file but got none.")
        if tokens_per_batch is not None and tokens_per_batch < 1:
            raise ValueError(f"Expected `tokens_per_batch` to be >= 1 but got {tokens_per_batch}.")
        if balance_errors and tokens_per_batch is not None:
            raise ValueError("Expected no `tokens_per_batch` with `balance_errors` but got both.")
        self.tokens_per_batch, self.balance_errors = tokens_per_batch, balance_errors
        self.criteria, self.collator, self.on_unpairable = criteria, collator, on_unpairable
        self.skip_too_long = skip_too_long
        self.collate_fn = collator.collate
        self.num_skipped = self.num_too_long = 0
        self.provided: frozenset[OptionalPart] = frozenset()
        self._folder: TemporaryFolder | None = None

    def setup(self, stage: str | None = None) -> None:
        """Read the records once into a memory-mapped file, and measure the groups with `measure_lengths`."""
        if self.datasets:
            return
        self._folder = TemporaryFolder()
        path = self._folder.path / "groups.arrow"
        with ArrowGroupWriter(path) as writer:
            origins = []
            for group, origin in self._read_sources():
                writer.append(group)
                origins.append(origin)
        rows: dict[str, list[int]] = {"train": [], "validation": []}
        lengths: dict[str, list[int]] = {"train": [], "validation": []}
        for row, (origin, length) in enumerate(zip(origins, self._measure(path, len(origins)), strict=True)):
            if isinstance(length, int):
                rows[origin.split].append(row)
                lengths[origin.split].append(length)
                self.provided |= origin.provided
            elif self.skip_too_long and isinstance(length, TooLongError):
                self.num_too_long += 1
            else:
                raise type(length)(f"{origin.file}, {length}")
        datasets = {split: ArrowGroupDataset(path, rows[split], lengths[split]) for split in rows}
        own_file = self.val_split if isinstance(self.val_split, str) else None
        for split, dataset in datasets.items():
            if not len(dataset):
                sources = [own_file] if own_file and split == "validation" else self.files
                raise InputError(f"{', '.join(sources)}: Expected groups for {split} but none are left.")
        if self.num_skipped:
            logger.warning("Skipped %d groups with one candidate or equal totals.", self.num_skipped)
        if self.num_too_long:
            logger.warning("Skipped %d groups with a prompt or an answer over the limit.", self.num_too_long)
        self._warn_overlap(datasets)
        if self.balance_errors:
            self.train_weights = balancing_weights(datasets["train"].error_shares(self.criteria))
        self.datasets = dict(datasets)

    def share(self, other: PairedReportDataModule) -> None:
        """Use the data that another module with the same settings has read from the same files."""
        self._folder, self.datasets, self.train_weights = other._folder, other.datasets, other.train_weights
        self.provided = other.provided

    def _warn_overlap(self, datasets: dict[str, ArrowGroupDataset]) -> None:
        train = {hash(normalize_text(text)) for text in datasets["train"].references()}
        shared = [hash(normalize_text(text)) in train for text in datasets["validation"].references()]
        if any(shared):
            logger.warning(
                "%d of the %d references of %s are in %s too: validation metrics are too optimistic.",
                *(sum(shared), len(shared), self.val_split, ", ".join(self.files)),
            )

    def _measure(self, path: Path, num_groups: int) -> Iterator[Length]:
        """Return the lengths of all groups; the processes of this machine share its cores."""
        groups = ArrowGroupDataset(path, range(num_groups), [0] * num_groups)
        num_sharing = self.trainer.num_devices if self.trainer else 1
        return measure_lengths(groups, self.collator, max(1, usable_cores() // num_sharing), self.shows_progress)

    def _read_sources(self) -> Iterator[tuple[ReportGroup, _Origin]]:
        for file in self.files:
            for group in self._read_pairable(file):
                held_out = isinstance(self.val_split, float) and is_held_out(group.reference, self.val_split, self.seed)
                yield (
                    group,
                    _Origin(file, "validation", frozenset()) if held_out else _Origin(file, "train", _provided(group)),
                )
        if isinstance(self.val_split, str):
            for group in self._read_pairable(self.val_split):
                yield group, _Origin(self.val_split, "validation", frozenset())

    def _read_pairable(self, path: str) -> Iterator[ReportGroup]:
        """Yield groups; handle those without pairs."""
        needs_candidates = self.collator.needs_candidates
        for group in self.report_reading(path, read_groups(path, self.criteria, needs_candidates)):
            if needs_candidates and self.on_unpairable != "keep" and not self._has_pair(group):
                if self.on_unpairable == "skip":
                    self.num_skipped += 1
                    continue
                raise InputError(
                    f"{path}, group {group.id!r}: Expected candidates with different totals but it has "
                    f"{'one candidate' if len(group.candidates) == 1 else 'equal totals'}. Set on_unpairable to skip "
                    "such groups, or to keep them."
                )
            yield group

    def _has_pair(self, group: ReportGroup) -> bool:
        """Return True if two candidates of a group have different totals."""
        errors = torch.stack([self.criteria.to_tensor(entry.errors or {}) for entry in group.candidates])
        totals = self.criteria.total(self.criteria.target_rewards(errors))
        return len(make_pairs(totals, torch.zeros(len(totals)))) > 0


def _provided(group: ReportGroup) -> frozenset[OptionalPart]:
    """Return the optional targets that a candidate of a group has."""
    return frozenset(
        part for part in OptionalPart if any(getattr(candidate, part) is not None for candidate in group.candidates)
    )
