"""Lengths of groups in batches: computed by several processes and cached if there are many groups."""

from __future__ import annotations

import json
import pickle
import pickletools
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from torch.utils.data import DataLoader

from radreward.data.collators.base import Collator
from radreward.data.group_files import ArrowGroupDataset
from radreward.errors import InputError, TooLongError
from radreward.io.artifacts import fingerprint
from radreward.io.cache import SQLiteCache
from radreward.io.progress import ProgressReporter
from radreward.io.terminal import print_status
from radreward.io.user_cache import code_fingerprint, user_cache_folder
from radreward.types import ReportGroup

Length = int | InputError
"""Length of a group, or the error of a collator that refuses it."""
MIN_GROUPS = 1000
"""Fewer groups are measured in the main process, without a bar or a cache, in a few seconds."""
CACHE_FILE = "lengths.sqlite"
_MAX_DATA_SETS = 100
_GROUPS_PER_TASK = 50
_LIBRARIES = frozenset({"builtins", "collections", "copyreg", "radreward", "tokenizers", "transformers"})
"""Packages on which cached lengths may depend."""


def measure_lengths(
    groups: ArrowGroupDataset, collator: Collator, num_processes: int, progress: bool = True
) -> Iterator[Length]:
    """Yield `Collator.length` of each group in order, or the error that it raises.

    From `MIN_GROUPS` groups on, several processes compute the lengths, a bar shows the progress, and the lengths are
    cached in the user's cache folder. They are found again by a hash of the groups, the settings of the collator and
    the code of this package. Lengths of a collator with classes of your own, whose code may change, are not cached.

    Args:
        groups: The groups; their own lengths are not used.
        collator: Measures a group.
        num_processes: Maximum number of processes.
        progress: Show progress on standard error.
    """
    if len(groups) < MIN_GROUPS:
        yield from _measure(groups[list(range(len(groups)))], collator)
        return
    key = _cache_key(groups.path, collator)
    cache = None if key is None else _open_cache()
    if key is None or cache is None:
        yield from _measure_in_processes(groups, collator, num_processes, progress)
        return
    try:
        if (stored := cache.get([key]).get(key)) is None:
            lengths: list[Length] = []
            for length in _measure_in_processes(groups, collator, num_processes, progress):
                lengths.append(length)
                yield length
            if all(isinstance(length, int | TooLongError) for length in lengths):
                cache.put({key: json.dumps(lengths, default=str).encode()})
        else:
            yield from (TooLongError(value) if isinstance(value, str) else int(value) for value in json.loads(stored))
    finally:
        cache.close()


def _measure(groups: Sequence[ReportGroup], collator: Collator) -> list[Length]:
    lengths: list[Length] = []
    for group in groups:
        try:
            lengths.append(collator.length(group))
        except InputError as error:  # returned, because `DataLoader` adds the traceback of its process to an error
            lengths.append(error)
    return lengths


def _measure_in_processes(
    groups: ArrowGroupDataset, collator: Collator, num_processes: int, progress: bool
) -> Iterator[Length]:
    starts = range(0, len(groups), _GROUPS_PER_TASK)
    loader: DataLoader[list[Length]] = DataLoader(
        groups,
        batch_size=None,
        sampler=[list(range(start, min(start + _GROUPS_PER_TASK, len(groups)))) for start in starts],
        num_workers=num_processes if num_processes > 1 else 0,
        collate_fn=partial(_measure, collator=collator),
    )
    with ProgressReporter(progress) as reporter:
        task = reporter.add_task("Tokenizing", total=len(groups), unit="groups")
        for lengths in loader:
            yield from lengths
            reporter.advance(task, len(lengths))


def _cache_key(path: Path, collator: Collator) -> str | None:
    """Return a hash of all that lengths depend on, or None if they depend on code outside `_LIBRARIES`."""
    try:
        state = pickle.dumps(collator)
    except (pickle.PicklingError, AttributeError, TypeError):  # a class within a function
        return None
    texts = {argument for _, argument, _ in pickletools.genops(state) if isinstance(argument, str)}
    if any(text.partition(".")[0] not in _LIBRARIES for text in texts & sys.modules.keys()):
        return None
    return fingerprint(path, state, code_fingerprint(), *map(version, ("tokenizers", "transformers")))


def _open_cache() -> SQLiteCache | None:
    try:
        return SQLiteCache(user_cache_folder() / CACHE_FILE, max_entries=_MAX_DATA_SETS)
    except InputError as error:
        print_status(f"{error} Lengths of groups are computed, and not cached.")
        return None
