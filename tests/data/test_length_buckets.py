from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from radreward.data.length_buckets import SORT_WINDOW, LengthBucketSampler
from radreward.errors import InputError

sizes = st.tuples(st.integers(1, 120), st.integers(1, 7), st.integers(1, 4))


def batches_per_process(
    count: int, size: int, world: int, shuffle: bool, epoch: int = 0, max_length: int | None = None
) -> list[list[list[int]]]:
    """Return the batches of each process; the length of group n is 7 n modulo 13."""
    batches = []
    for rank in range(world):
        sampler = LengthBucketSampler([7 * n % 13 for n in range(count)], size, 1, shuffle, rank, world, max_length)
        sampler.set_epoch(epoch)
        batches.append(list(sampler))
        assert len(batches[-1]) == len(sampler)
    return batches


@given(sizes, st.integers(0, 3), st.none() | st.integers(1, 40))
def test_shuffled_batches_contain_every_group(sizes: tuple[int, int, int], epoch: int, max_length: int | None) -> None:
    count, size, world = sizes
    assume(count >= world)
    parts = batches_per_process(count, size, world, True, epoch, max_length)
    assert len({len(part) for part in parts}) == 1
    batches = [batch for part in parts for batch in part]
    assert {index for batch in batches for index in batch} == set(range(count))
    assert all(1 <= len(batch) <= size for batch in batches)
    if max_length:
        assert all(len(batch) == 1 or sum(7 * n % 13 for n in batch) <= max_length for batch in batches)
    # Only complete batches are repeated, fewer than the number of processes.
    counter = Counter(tuple(batch) for batch in batches)
    assert Counter(index for batch in counter for index in batch) == Counter(range(count))
    assert len(batches) - len(counter) < max(world, 2)


@given(sizes)
def test_unshuffled_batches_contain_every_group_once(sizes: tuple[int, int, int]) -> None:
    count, size, world = sizes
    assume(count >= world)
    parts = batches_per_process(count, size, world, False, max_length=10)  # which has no effect here
    assert len({len(part) for part in parts}) == 1
    batches = [batch for part in parts for batch in part]
    assert sorted(index for batch in batches for index in batch) == list(range(count))
    assert max(map(len, batches)) <= max(size, 2)
    assert min(map(len, batches)) >= 1
    if world == 1:
        assert [index for batch in batches for index in batch] == list(range(count))


def test_two_processes_split_the_batches_of_one() -> None:
    (expected,) = batches_per_process(100, 4, 1, True)
    first, second = batches_per_process(100, 4, 2, True)
    interleaved = [batch for pair in zip(first, second, strict=True) for batch in pair]
    assert interleaved == [*expected, expected[0]]  # 25 batches are not divisible by 2


def test_number_of_batches_does_not_depend_on_the_epoch() -> None:
    counts = {len(batches_per_process(100, 8, 2, True, epoch, 30)[0]) for epoch in range(5)}
    assert len(counts) == 1


def test_order_depends_on_epoch_and_seed_only() -> None:
    assert batches_per_process(50, 4, 2, True) == batches_per_process(50, 4, 2, True)
    assert batches_per_process(50, 4, 2, True) != batches_per_process(50, 4, 2, True, epoch=1)
    assert list(LengthBucketSampler(range(50), 4, seed=0)) != list(LengthBucketSampler(range(50), 4, seed=1))


def test_batches_have_similar_lengths() -> None:
    lengths = [7919 * n % 1009 for n in range(8 * SORT_WINDOW)]
    padding = sum(
        max(lengths[index] for index in batch) - lengths[index]
        for batch in LengthBucketSampler(lengths, 8)
        for index in batch
    )
    assert padding < 0.02 * sum(lengths)


def test_weights_are_probabilities_of_the_groups_of_an_epoch() -> None:
    weights = torch.tensor([1.0, 0.0, 3.0, 0.0])
    sampler = LengthBucketSampler([1, 2, 3, 4], 2, weights=weights)
    drawn: Counter[int] = Counter()
    for epoch in range(500):
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert list(map(len, batches)) == [2, 2]
        assert batches == list(sampler)
        drawn.update(index for batch in batches for index in batch)
    assert set(drawn) == {0, 2}
    assert drawn[2] / drawn.total() == pytest.approx(0.75, abs=0.03)
    assert list(LengthBucketSampler([1, 2, 3], 2, shuffle=False, weights=torch.ones(3))) == [[0, 1], [2]]
    with pytest.raises(ValueError, match="Expected no `max_length` with `weights`"):
        LengthBucketSampler([1], 1, max_length=5, weights=torch.ones(1))


def test_invalid_sizes_raise() -> None:
    with pytest.raises(ValueError, match="`batch_size` to be >= 1 but got 0"):
        LengthBucketSampler([1], 0)
    with pytest.raises(ValueError, match="`max_length` to be >= 1 but got 0"):
        LengthBucketSampler([1], 1, max_length=0)
    with pytest.raises(InputError, match="Expected at least 2 groups for 2 processes but got 1"):
        LengthBucketSampler([1], 1, world_size=2)
