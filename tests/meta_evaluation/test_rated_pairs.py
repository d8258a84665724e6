"""Numbers of rated pairs, compared with loops over the rows, and their memory."""

import math
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from radreward.meta_evaluation.rated_pairs import Errors, RatedPair, RatedPairs

NUMBERS = st.sampled_from([0.0, 0.1, 0.2, 3.0, math.nan])
COUNTS = st.dictionaries(st.sampled_from("xy"), st.dictionaries(st.sampled_from(["a", "b"]), NUMBERS))
PAIRS = st.builds(
    RatedPair,
    id=st.just("id"),
    reference=st.text(max_size=3),
    candidate=st.sampled_from(["", " ", "Clear."]),
    group=st.sampled_from("pq"),
    system=st.sampled_from([None, "s", "t"]),
    ratings=st.dictionaries(st.sampled_from("xyz"), NUMBERS),
    errors=COUNTS,
    significant_errors=COUNTS,
    synthetic=st.booleans(),
)


def naive_means(rows: list[RatedPair], errors_of: Callable[[RatedPair], Errors], tag: str | None) -> list[float]:
    """Return the mean number of errors of each row over the raters with a number."""
    means = []
    for row in rows:
        counts = errors_of(row).values()
        values = [sum(entry.values()) if tag is None else entry.get(tag, math.nan) for entry in counts]
        values = [value for value in values if not math.isnan(value)]
        means.append(sum(values) / len(values) if values else math.nan)
    return means


@given(st.lists(PAIRS, max_size=5))
def test_rated_pairs_numbers_equal_those_of_a_loop_over_the_rows(rows: list[RatedPair]) -> None:
    pairs = RatedPairs(iter(rows))
    assert repr(list(pairs.rows)) == repr(rows)  # NaN differs from itself
    groups = list(dict.fromkeys(row.group for row in rows))
    assert pairs.cluster_ids.tolist() == [groups.index(row.group) for row in rows]
    assert pairs.num_clusters == len(groups)
    names = [pairs.systems[index] if index >= 0 else None for index in pairs.system_ids]
    assert names == [row.system for row in rows]
    assert pairs.num_synthetic == sum(row.synthetic for row in rows)
    values = {target.name: target.values for target in pairs.targets}
    assert ("rating" in values) == any(row.ratings for row in rows)
    for name, errors_of in (
        ("errors", lambda row: row.errors),
        ("errors_significant", lambda row: row.significant_errors),
    ):
        assert (name in values) == any(map(errors_of, rows))
        expected = naive_means(rows, errors_of, None)
        np.testing.assert_allclose(values.get(name, np.full(len(rows), np.nan)), expected)
        for tag in pairs.criteria:
            np.testing.assert_allclose(pairs.mean_errors(tag, name != "errors"), naive_means(rows, errors_of, tag))


def test_rated_pairs_hold_no_text_in_memory() -> None:
    number, length = 300, 20_000

    def rows() -> Iterator[RatedPair]:
        for index in range(number):
            yield RatedPair(id=str(index), reference="r" * length, candidate="c" * length, group=str(index))

    tracemalloc.start()
    try:
        pairs = RatedPairs(rows())
        assert sum(len(row.candidate) for row in pairs.rows) == number * length
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < number * length / 4
