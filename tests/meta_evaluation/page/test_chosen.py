"""Which rows a page holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.meta_evaluation.page.selection import PageColumns, select_page_rows
from tests.meta_evaluation.page.conftest import Found

NAMES = PageColumns({"up": True, "down": False}, {"errors": False, "rating": True})
Value = float | None


def row(place: int, up: Value = 0.0, down: Value = 0.0, errors: Value = 0.0, rating: Value = 0.0) -> dict[str, Any]:
    return {
        **{"id": f"p{place}", "group": "g", "system": None, "reference": f"reference {place}", "candidate": "x"},
        "scores": {"up": up, "down": down},
        "targets": {"errors": errors, "rating": rating},
    }


def share_below(values: list[Value], own: Value, higher_is_better: bool) -> Value:
    """The definition of a place, pair by pair."""
    if own is None:
        return None
    known = [value for value in values if value is not None]
    worse = sum(value < own if higher_is_better else value > own for value in known)
    return (worse + sum(value == own for value in known) / 2) / len(known)


values = st.none() | st.integers(0, 4).map(float)


@given(st.lists(st.tuples(values, values, values, values), min_size=1, max_size=12))
def test_places_and_order_are_those_of_the_definition(given_values: list[tuple[Value, Value, Value, Value]]) -> None:
    rows = [row(place, *each) for place, each in enumerate(given_values)]
    found = select_page_rows(rows, NAMES)["disagreements"]
    for one, (scorer, up) in enumerate(NAMES.scorers.items()):
        for other, (target, better) in enumerate(NAMES.targets.items()):
            expected = {}
            for entry in rows:
                own = share_below([each["scores"][scorer] for each in rows], entry["scores"][scorer], up)
                people = share_below([each["targets"][target] for each in rows], entry["targets"][target], better)
                if own is not None and people is not None:
                    expected[entry["id"]] = (own, people)
            assert found["compared"][one][other] == len(expected)
            shown = [(found["pairs"][n]["id"], own, people) for n, own, people in found["worst"][one][other]]
            assert {id_ for id_, *_ in shown} == {
                id_ for id_, (own, people) in expected.items() if abs(own - people) > 1e-9
            }
            for id_, *places in shown:
                assert places == pytest.approx(expected[id_], abs=1e-4)
            gaps = [abs(own - people) for _, own, people in shown]
            assert gaps == pytest.approx(sorted(gaps, reverse=True), abs=2e-4)


def test_of_many_points_some_are_drawn_and_the_number_is_told() -> None:
    rows = [row(place, up=float(place)) for place in range(50)]
    found = select_page_rows(rows, NAMES, max_points=20)["points"]
    assert found["total"] == 50
    assert found["ids"] == [f"p{int(score)}" for score in found["scores"][0]]
    assert len(set(found["ids"])) == 20
    assert found == select_page_rows(iter(rows), NAMES, max_points=20)["points"]


def test_few_points_are_all_there_with_their_systems() -> None:
    rows = [{**row(0), "system": "b"}, row(1, up=None), {**row(2), "system": "a"}]
    found = select_page_rows(rows, NAMES)["points"]
    assert (found["ids"], found["systems"], found["system"]) == (["p0", "p1", "p2"], ["a", "b"], [1, None, 0])
    assert found["scores"] == [[0, None, 0], [0, 0, 0]]


@pytest.mark.parametrize("bound", [0, 2_000, 20_000])
def test_texts_take_no_more_than_allowed_and_the_first_target_comes_first(found: Found, bound: int) -> None:
    results, rows = found
    names = PageColumns(
        {s["name"]: True for s in results["scorers"][:3]}, {t["name"]: True for t in results["targets"][:3]}
    )
    held = select_page_rows(rows, names, max_text_bytes=bound)["disagreements"]
    assert len(json.dumps(held["pairs"], separators=(",", ":"))) <= bound + len(held["pairs"]) + 2  # and the commas
    assert bool(held["pairs"]) == (bound > 0)
    depth = [[len(entries) for entries in of] for of in zip(*held["worst"], strict=True)]
    assert max(depth[1] + depth[2]) == 0 or min(depth[0]) == 20
    assert all(max(each) - min(each) <= 1 for each in depth)  # scorers take turns


def test_what_a_scorer_said_is_there_for_the_pairs_it_is_shown_for(found: Found) -> None:
    results, rows = found
    names = PageColumns({"green": True}, {"errors": False})
    held = select_page_rows(rows, names, max_disagreements=3)["disagreements"]
    by_id = {entry["id"]: entry for entry in rows}
    assert len(held["pairs"]) == 3
    for pair in held["pairs"]:
        source = by_id[pair["id"]]
        assert pair["details"] == {"green": {key: source[key]["green"] for key in ("sub", "counts", "evidence")}}
        assert (pair["reference"], pair["candidate"]) == (source["reference"], source["candidate"])


def test_no_rows_at_all() -> None:
    found = select_page_rows([], NAMES)
    assert found["points"]["total"] == 0
    assert found["disagreements"] == {"pairs": [], "worst": [[[], []], [[], []]], "compared": [[0, 0], [0, 0]]}
