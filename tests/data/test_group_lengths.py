"""Lengths of groups: the same from several processes and from the cache, which only a change makes useless."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from radreward.criteria import RadCliQCriteria
from radreward.data import group_lengths
from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.group_files import ArrowGroupDataset, ArrowGroupWriter
from radreward.data.group_lengths import CACHE_FILE, Length, measure_lengths
from radreward.errors import InputError, TooLongError
from radreward.types import Candidate, ReportGroup

COUNT = 120


class OwnCollator(Collator):
    def collate(self, groups: Sequence[ReportGroup]) -> Any:
        return groups


@pytest.fixture(autouse=True)
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(group_lengths, "MIN_GROUPS", COUNT)
    return tmp_path / "cache" / "radreward" / CACHE_FILE


def write(path: Path, count: int = COUNT) -> ArrowGroupDataset:
    with ArrowGroupWriter(path) as writer:
        for index in range(count):
            reference = " ".join(f"Mass of {size} mm." for size in range(10, 11 + index % 20))
            writer.append(ReportGroup(str(index), reference, (Candidate("Effusion."),)))
    return ArrowGroupDataset(path, range(count), [0] * count)


def plain(lengths: Sequence[Length]) -> list[tuple[type, str]]:
    return [(type(length), str(length)) for length in lengths]


@pytest.fixture
def groups(tmp_path: Path) -> ArrowGroupDataset:
    return write(tmp_path / "groups.arrow")


def test_lengths_of_several_processes_and_of_the_cache_equal_those_of_the_collator(
    groups: ArrowGroupDataset, cache_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    collator = RewardCollator(RadCliQCriteria(), max_length=40)
    expected: list[Length] = []
    for group in groups[list(range(COUNT))]:
        try:
            expected.append(collator.length(group))
        except TooLongError as error:
            expected.append(error)
    assert {type(length) for length in expected} == {int, TooLongError}
    assert plain(list(measure_lengths(groups, collator, 2))) == plain(expected)
    assert f"Tokenizing: {COUNT} of {COUNT} groups" in capsys.readouterr().err
    assert cache_file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(group_lengths, "_measure", None)  # calling it is an error
    assert plain(list(measure_lengths(groups, RewardCollator(RadCliQCriteria(), max_length=40), 2))) == plain(expected)


def test_lengths_of_other_groups_settings_or_code_are_computed(
    groups: ArrowGroupDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(data: ArrowGroupDataset, max_length: int) -> bool:
        calls = []
        original = group_lengths._measure

        def spy(part: Sequence[ReportGroup], collator: Collator) -> list[Length]:
            calls.append(len(part))
            return original(part, collator)

        with monkeypatch.context() as patch:
            patch.setattr(group_lengths, "_measure", spy)
            list(measure_lengths(data, RewardCollator(RadCliQCriteria(), max_length=max_length), 1))
        return bool(calls)

    assert [measured(groups, 500) for _ in range(2)] == [True, False]
    assert [measured(groups, 400) for _ in range(2)] == [True, False]
    assert measured(write(tmp_path / "more.arrow", COUNT + 1), 500)
    monkeypatch.setattr(group_lengths, "code_fingerprint", lambda: "other code")
    assert measured(groups, 500)


def test_few_groups_and_collators_of_users_use_no_cache(
    groups: ArrowGroupDataset, tmp_path: Path, cache_file: Path
) -> None:
    few = write(tmp_path / "few.arrow", COUNT - 1)
    assert len(list(measure_lengths(few, RewardCollator(RadCliQCriteria()), 2))) == COUNT - 1
    own = list(measure_lengths(groups, OwnCollator(), 2))
    assert own[:2] == [len("Mass of 10 mm.Effusion."), len("Mass of 10 mm. Mass of 11 mm.Effusion.")]

    class Local(OwnCollator):
        pass

    assert list(measure_lengths(groups, Local(), 1)) == own
    assert not cache_file.exists()


def test_other_errors_are_not_cached(groups: ArrowGroupDataset, cache_file: Path) -> None:
    def refuse(group: ReportGroup) -> int:
        raise InputError(f"group {group.id!r}: refused")

    collator = RewardCollator(RadCliQCriteria())
    key = group_lengths._cache_key(groups.path, collator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RewardCollator, "length", lambda self, group: refuse(group))
        assert str(next(measure_lengths(groups, collator, 1))) == "group '0': refused"
        assert len(list(measure_lengths(groups, collator, 1))) == COUNT
    assert key is not None
    assert all(isinstance(length, int) for length in measure_lengths(groups, collator, 1))


def test_unusable_cache_is_reported_and_lengths_are_computed(
    groups: ArrowGroupDataset, cache_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache_file.parent.mkdir(parents=True)
    cache_file.write_text("years of work")
    collator = RewardCollator(RadCliQCriteria())
    assert len(list(measure_lengths(groups, collator, 1))) == COUNT
    assert "Lengths of groups are computed, and not cached." in capsys.readouterr().err
    assert cache_file.read_text() == "years of work"
