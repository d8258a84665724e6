"""Selection of the rows of a page."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.meta_evaluation.page import selection
from radreward.meta_evaluation.page.selection import PageColumns, select_page_rows
from tests.meta_evaluation.page.browser import Benchmark

COLUMNS = PageColumns({"up": True, "down": False}, {"errors": False, "rating": True})
Value = float | None


def row(index: int, up: Value = 0.0, down: Value = 0.0, errors: Value = 0.0, rating: Value = 0.0) -> dict[str, Any]:
    return {
        **{"id": f"p{index}", "group": "g", "system": None, "reference": f"reference {index}", "candidate": "x"},
        "scores": {"up": up, "down": down},
        "targets": {"errors": errors, "rating": rating},
    }


def percentile_rank(column: list[Value], value: Value, higher_is_better: bool) -> Value:
    """Return the rank by its definition, pair by pair."""
    if value is None:
        return None
    defined = [entry for entry in column if entry is not None]
    worse = sum(entry < value if higher_is_better else entry > value for entry in defined)
    return (worse + sum(entry == value for entry in defined) / 2) / len(defined)


values = st.none() | st.integers(0, 4).map(float)


@given(st.lists(st.tuples(values, values, values, values), min_size=1, max_size=12))
def test_select_page_rows_ranks_and_order_match_their_definition(
    given_values: list[tuple[Value, Value, Value, Value]],
) -> None:
    rows = [row(index, *entry) for index, entry in enumerate(given_values)]
    selected = select_page_rows(rows, COLUMNS)["disagreements"]
    for i, (scorer, scorer_is_better) in enumerate(COLUMNS.scorers.items()):
        for j, (target, target_is_better) in enumerate(COLUMNS.targets.items()):
            expected = {}
            for entry in rows:
                ranks = (
                    percentile_rank([r["scores"][scorer] for r in rows], entry["scores"][scorer], scorer_is_better),
                    percentile_rank([r["targets"][target] for r in rows], entry["targets"][target], target_is_better),
                )
                if ranks[0] is not None and ranks[1] is not None:
                    expected[entry["id"]] = ranks[0], ranks[1]
            assert selected["num_compared"][i][j] == len(expected)
            top = [(selected["pairs"][index]["id"], *pair_ranks) for index, *pair_ranks in selected["top"][i][j]]
            assert {pair_id for pair_id, *_ in top} == {
                pair_id for pair_id, (own, rated) in expected.items() if abs(own - rated) > 1e-9
            }
            for pair_id, *pair_ranks in top:
                assert pair_ranks == pytest.approx(expected[pair_id], abs=1e-4)
            gaps = [abs(own - rated) for _, own, rated in top]
            assert gaps == pytest.approx(sorted(gaps, reverse=True), abs=2e-4)


def test_select_page_rows_many_points_are_sampled_reproducibly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_POINTS", 20)
    rows = [row(index, up=float(index)) for index in range(50)]
    points = select_page_rows(rows, COLUMNS)["points"]
    assert points["total"] == 50
    assert points["ids"] == [f"p{int(score)}" for score in points["scores"][0]]
    assert len(set(points["ids"])) == 20
    assert points == select_page_rows(iter(rows), COLUMNS)["points"]


def test_select_page_rows_few_points_are_complete_with_their_systems() -> None:
    rows = [{**row(0), "system": "b"}, row(1, up=None), {**row(2), "system": "a"}]
    points = select_page_rows(rows, COLUMNS)["points"]
    assert (points["ids"], points["systems"]) == (["p0", "p1", "p2"], ["a", "b"])
    assert points["system_index"] == [1, None, 0]
    assert points["scores"] == [[0, None, 0], [0, 0, 0]]


@pytest.mark.parametrize("max_bytes", [0, 4_000, 20_000])
def test_select_page_rows_size_is_limited_and_the_first_target_comes_first(
    benchmark: Benchmark, max_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_TEXT_BYTES", max_bytes)
    results, rows = benchmark
    columns = PageColumns(
        {s["name"]: True for s in results["scorers"][:3]}, {t["name"]: True for t in results["targets"][:3]}
    )
    selected = select_page_rows(rows, columns)["disagreements"]
    size = len(json.dumps(selected["pairs"], separators=(",", ":")))
    assert size <= max_bytes + len(selected["pairs"]) + 2  # and the commas
    assert bool(selected["pairs"]) == (max_bytes > 0)
    depth = [[len(entries) for entries in by_scorer] for by_scorer in zip(*selected["top"], strict=True)]
    assert max(depth[1] + depth[2]) == 0 or min(depth[0]) == 20
    assert all(max(counts) - min(counts) <= 1 for counts in depth)  # scorers alternate


def test_select_page_rows_pairs_have_the_evidence_of_their_scorer(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_DISAGREEMENTS", 3)
    _, rows = benchmark
    columns = PageColumns({"green": True}, {"errors": False})
    selected = select_page_rows(rows, columns)["disagreements"]
    by_id = {entry["id"]: entry for entry in rows}
    assert len(selected["pairs"]) == 3
    for pair in selected["pairs"]:
        source = by_id[pair["id"]]
        fields = ("sub_scores", "error_counts", "evidence")
        assert pair["details"] == {"green": {key: source[key]["green"] for key in fields}}
        assert (pair["reference"], pair["candidate"]) == (source["reference"], source["candidate"])


def test_select_page_rows_no_rows_is_empty() -> None:
    selected = select_page_rows([], COLUMNS)
    assert selected["points"]["total"] == 0
    assert selected["disagreements"] == {
        "pairs": [],
        "top": [[[], []], [[], []]],
        "num_compared": [[0, 0], [0, 0]],
    }
