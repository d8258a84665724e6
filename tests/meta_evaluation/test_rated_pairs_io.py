import math
import tracemalloc
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair, RatedPairs
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs, write_rated_pairs
from tests.meta_evaluation.written_rows import write_rows

ROW: dict[str, Any] = {"id": "a", "reference": "Clear lungs.", "candidate": "Left effusion."}


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize(
    ("fields_", "ratings", "errors"),
    [
        ({"rating": 4}, {MEAN_RATER: 4}, {}),
        ({"rating": [4, 2.5]}, {"1": 4, "2": 2.5}, {}),
        ({"rating": {"x": 4, "y": 2}}, {"x": 4, "y": 2}, {}),
        ({"errors": {"omission": 2}}, {}, {MEAN_RATER: {"omission": 2}}),
        ({"errors": {"x": {"omission": 2}, "y": {"omission": 1}}}, {}, {"x": {"omission": 2}, "y": {"omission": 1}}),
    ],
)
def test_read_rated_pairs_every_form_of_ratings_and_errors(
    tmp_path: Path, name: str, fields_: dict[str, Any], ratings: dict[str, float], errors: dict[str, Any]
) -> None:
    [row] = read_rated_pairs(write_rows(tmp_path / name, [ROW | fields_])).rows
    assert (row.ratings, row.errors, row.group) == (ratings, errors, "a")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_read_rated_pairs_returns_what_was_written(tmp_path: Path, name: str) -> None:
    counts = {"r1": {"omission": 2.0, "addition": 0.0}, "r2": {"omission": 1.0, "addition": 1.0}}
    rows = [
        RatedPair(
            id="a",
            reference="Clear.",
            candidate="Clear, both.",
            group="g",
            system="model",
            ratings={"r1": 3.0},
            errors=counts,
            significant_errors=counts,
            synthetic=True,
            notes={"r1": 'A note, "quoted".'},
        ),
        RatedPair(id="b", reference="Clear.", candidate="", group="g", ratings={"r1": 2.0, "r2": 1.0}, errors=counts),
    ]
    write_rated_pairs(tmp_path / name, rows)
    assert list(read_rated_pairs(tmp_path / name).rows) == rows


def test_rated_pairs_of_earlier_files_with_arrow_maps_are_read(tmp_path: Path) -> None:
    numbers = pa.map_(pa.string(), pa.float64())
    types: dict[str, pa.DataType] = {**dict.fromkeys(ROW, pa.string()), "rating": numbers}
    schema = pa.schema({**types, "errors": pa.map_(pa.string(), numbers)})
    row = ROW | {"rating": {"x": 4.0}, "errors": {"x": {"omission": 1.0}}}
    pq.write_table(pa.Table.from_pylist([row], schema=schema), tmp_path / "a.parquet")
    [pair] = read_rated_pairs(tmp_path / "a.parquet").rows
    assert (pair.ratings, pair.errors) == ({"x": 4.0}, {"x": {"omission": 1.0}})


def test_rated_pairs_in_parquet_are_read_by_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    pair = RatedPair(**ROW, group="a", ratings={"x": 4.0}, errors={"x": {"omission": 1.0}})
    write_rated_pairs(tmp_path / "a.parquet", [pair])
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train")
    loaded.to_json(str(tmp_path / "a.jsonl"))
    assert list(read_rated_pairs(tmp_path / "a.jsonl").rows) == [pair]


def test_read_rated_pairs_missing_ratings_are_nan_and_noted(tmp_path: Path) -> None:
    rows = [ROW | {"rating": [None, 2]}, ROW | {"id": "b", "rating": [math.nan, 3]}, ROW | {"id": "c"}]
    pairs = read_rated_pairs(write_rows(tmp_path / "a.jsonl", rows))
    [target] = pairs.targets
    assert target.values[:2].tolist() == [2, 3]
    assert math.isnan(target.values[2])
    assert target.notes == (
        "1 of 3 pairs have no value and are left out",
        "not every rater rated every pair; the mean is over the raters with a value",
    )


def test_rated_pairs_targets_are_means_over_raters(tmp_path: Path) -> None:
    errors = {"x": {"omission": 1, "addition": 2}, "y": {"omission": 0, "addition": 1}}
    significant = {"x": {"omission": 1, "addition": 0}, "y": {"omission": 0, "addition": 0}}
    pairs = read_rated_pairs(
        write_rows(tmp_path / "a.jsonl", [ROW | {"errors": errors, "errors_significant": significant}])
    )
    targets = {target.name: (target.values.tolist(), target.higher_is_better) for target in pairs.targets}
    assert targets == {
        "errors": ([2.0], False),
        "errors_significant": ([0.5], False),
        "criterion:omission": ([0.5], False),
        "criterion:addition": ([1.5], False),
    }
    assert pairs.mean_errors("omission", significant_only=True).tolist() == [0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": None}, "field 'reference': Expected a text but got None"),
        ({"candidate": 3}, "field 'candidate': Expected a text but got 3"),
        ({"id": " "}, "field 'id': Expected a text that is not empty"),
        (
            {"rating": "good"},
            "field 'rating': Expected a number or JSON but got 'good'; write a number, such as 4, or one per rater in "
            "a JSON object",
        ),
        (
            {"rating": {"Anne": 4, "Bela": "5"}},
            "field 'rating': Expected a number of rater 'Bela' but got the text '5'; write a number without quotes",
        ),
        (
            {"rating": '{"Anne": "excellent"}'},
            "field 'rating': Expected a number of rater 'Anne' but got the text 'excellent'; write a number without "
            "quotes",
        ),
        (
            {"rating": 3, "rating_Anne": 4},
            "field 'rating': Expected `rating` or one column per rater but got both, with 'rating_Anne'",
        ),
        ({"rating_Anne": "good"}, "field 'rating_Anne': Expected a finite number but got 'good'"),
        ({"rating_": 4}, "field 'rating_': Expected the name of a rater after it, such as `rating_Anne`"),
        ({"rating": True}, None),
        ({"rating": [1e400]}, "field 'rating': Expected a finite number but got inf"),
        ({"rating": {"x": []}}, r"field 'rating': Expected a finite number but got \[\]"),
        ({"errors": 3}, "field 'errors': Expected a mapping from criterion to count, or from rater to such a mapping"),
        ({"errors": {"omission": -1}}, "field 'errors.omission': Expected a number from 0 to 1,000 but got -1"),
        ({"errors": {"omission": 1e30}}, r"field 'errors.omission': Expected a number from 0 to 1,000 but got 1e\+30"),
        ({"errors": {"x": {"omission": 1}, "y": 2}}, "field 'errors': Expected a mapping for each rater but got 2"),
        ({"system": 3}, "field 'system': Expected a text but got 3"),
        ({"synthetic": "perhaps"}, "field 'synthetic': Expected a number or JSON but got 'perhaps'"),
        (
            {"errors": {"omission": 1}, "errors_significant": {"omission": 2}},
            "field 'errors_significant': Expected at most the number of all errors of 'omission' but got 2",
        ),
    ],
)
def test_read_rated_pairs_invalid_row_is_named(tmp_path: Path, change: dict[str, Any], message: str | None) -> None:
    path = write_rows(tmp_path / "a.jsonl", [ROW | {"id": "z"}, ROW | change])
    if message is None:
        assert read_rated_pairs(path).rows[1].ratings == {MEAN_RATER: 1.0}
    else:
        with pytest.raises(InputError, match=rf"a\.jsonl, row 2: {message}\.$"):
            read_rated_pairs(path)


def test_read_rated_pairs_many_invalid_rows_lists_the_first_five(tmp_path: Path) -> None:
    rows = [ROW | {"id": str(number), "rating": "x" if number % 2 else 1} for number in range(20)]
    with pytest.raises(InputError) as raised:
        read_rated_pairs(write_rows(tmp_path / "a.jsonl", rows))
    assert str(raised.value).count("row ") == 5
    assert "row 2: " in str(raised.value)
    assert str(raised.value).endswith("; and 5 more.")


def test_read_rated_pairs_different_criteria_are_rejected(tmp_path: Path) -> None:
    rows = [ROW | {"errors": {"a": 1, "b": 0}}, ROW | {"id": "b", "errors": {"a": 1}}]
    with pytest.raises(
        InputError, match="row 2: field 'errors': Expected a count of 'b', as in the rows before; write 0"
    ):
        read_rated_pairs(write_rows(tmp_path / "a.jsonl", rows))
    rows[1]["errors"] = {"a": 1, "b": 0, "c": 0}
    with pytest.raises(InputError, match="row 2: field 'errors': Expected no count of 'c'"):
        read_rated_pairs(write_rows(tmp_path / "a.jsonl", rows))


def test_read_rated_pairs_missing_rows_or_columns_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match="Expected at least one row"):
        read_rated_pairs(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="row 1: field 'candidate': Expected a column of this name"):
        read_rated_pairs(write_rows(tmp_path / "b.jsonl", [{"id": "a", "reference": "x"}]))


def notes(tmp_path: Path, *changes: dict[str, Any]) -> str:
    rows = [ROW | {"id": str(number)} | change for number, change in enumerate(changes)]
    pairs = read_rated_pairs(write_rows(tmp_path / "a.jsonl", rows))
    return "; ".join([*pairs.notes, *(note for target in pairs.targets for note in target.notes)])


def test_read_rated_pairs_duplicate_id_is_noted_and_both_rows_are_used(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [ROW | {"rating": 1}, ROW | {"rating": 2}])
    pairs = read_rated_pairs(path)
    assert [row.id for row in pairs.rows] == ["a", "a#2"]
    assert pairs.notes[0] == "id 'a' is in row 1 and in row 2; both are used"
    many = read_rated_pairs(write_rows(tmp_path / "b.jsonl", [ROW] * 9))
    assert "3 more ids are duplicates" in many.notes


def test_read_rated_pairs_one_rater_is_noted(tmp_path: Path) -> None:
    assert "only one rater" in notes(tmp_path, {"rating": {"x": 1}}, {"rating": {"x": 2}})
    assert "only one rater" not in notes(tmp_path, {"rating": [1, 2]}, {"rating": [2, 3]})


def test_read_rated_pairs_constant_ratings_are_noted(tmp_path: Path) -> None:
    assert "all values are 3: correlations are undefined" in notes(tmp_path, {"rating": 3}, {"rating": 3})


def test_read_rated_pairs_constant_rater_among_others_is_named(tmp_path: Path) -> None:
    note = "rater 'B' gave every pair the same value (3), so no correlation with this rater is defined"
    rows = [{"rating": {"A": value, "B": 3}} for value in (1, 2)]
    assert notes(tmp_path, *rows) == note
    assert note in notes(tmp_path, *rows, {"rating": {"A": 4}})
    assert "gave every pair" not in notes(tmp_path, *rows, {"rating": {"A": 4, "B": 4}})
    counts = [{"errors": {"A": {"omission": n, "addition": 0}, "B": {"omission": 0, "addition": 0}}} for n in (1, 2)]
    assert notes(tmp_path, *counts).count("gave every pair") == 1  # of all errors, not of each criterion


def test_read_rated_pairs_mixed_scales_are_noted(tmp_path: Path) -> None:
    raters = [{"rating": [value, 20 * value]} for value in (1, 2, 3, 5)]
    assert "mixed scale: the raters use different ranges ('1' 1 to 5, '2' 20 to 100)" in notes(tmp_path, *raters)
    rows = [{"rating": value} for value in (0.2, 0.5, 0.9, 40, 60, 80, 90)]
    assert "mixed scale: the ratings of 'mean' are 0.2 to 90 with a gap between" in notes(tmp_path, *rows)
    assert "mixed" not in notes(tmp_path, *({"rating": [value, value + 1]} for value in range(6)))


def test_read_rated_pairs_missing_candidates_are_noted(tmp_path: Path) -> None:
    rows = [{"group": case, "system": system} for case in "abcd" for system in ("x", "y")][:-1]
    assert "1 of 4 cases have no candidate of y" in notes(tmp_path, *rows)
    assert "1 pairs have a missing or empty candidate" in notes(tmp_path, {"candidate": None}, {})


def test_read_rated_pairs_without_ratings_is_noted(tmp_path: Path) -> None:
    assert "no pair is rated" in notes(tmp_path, {})


def test_read_rated_pairs_synthetic_pairs_are_noted(tmp_path: Path) -> None:
    assert "2 pairs are SYNTHETIC" in notes(tmp_path, {"synthetic": True}, {"synthetic": True}, {})


counts = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), min_size=1)
values = st.none() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | counts
fields = st.sampled_from(["id", "reference", "candidate", "group", "system", "rating", "errors", "errors_significant"])


@given(st.lists(st.dictionaries(fields, values | st.dictionaries(st.text(), counts)), max_size=4))
def test_read_rated_pairs_any_file_is_read_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, Any]]
) -> None:
    rows = [ROW | {"id": str(number)} | change for number, change in enumerate(changes)]
    try:
        pairs = read_rated_pairs(write_rows(tmp_path_factory.mktemp("rated") / "a.jsonl", rows))
    except InputError:
        return
    assert len(pairs) == len(rows)
    assert len({row.id for row in pairs.rows}) == len(rows)


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
ratings = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(names, min_size=1, max_size=3, unique=True).flatmap(lambda raters: st.tuples(
    st.just(raters), st.lists(st.tuples(*[ratings] * len(raters)), min_size=1, max_size=4)
)), st.sampled_from(["jsonl", "csv", "parquet"]))  # fmt: skip
def test_one_column_per_rater_is_read_as_a_mapping_in_one_column(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], list[tuple[float | None, ...]]], suffix: str
) -> None:
    raters, cells = table
    path = tmp_path_factory.mktemp("rated") / f"a.{suffix}"
    rows = [
        ROW | {"id": str(number)} | {f"rating_{name}": value for name, value in zip(raters, line, strict=True)}
        for number, line in enumerate(cells)
    ]
    if suffix == "parquet":
        types = {**dict.fromkeys(ROW, pa.string()), **{f"rating_{name}": pa.float64() for name in raters}}
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(types)), path)
    else:
        write_rows(path, rows)
    expected = [{name: value for name, value in zip(raters, line, strict=True) if value is not None} for line in cells]
    assert [row.ratings for row in read_rated_pairs(path).rows] == expected


def test_rated_pairs_empty_has_no_targets() -> None:
    assert RatedPairs([]).targets == ()


def test_read_rated_pairs_repeated_values_are_stored_once(tmp_path: Path) -> None:
    def allocated(number: int) -> int:
        entries = [
            RatedPair(
                id=f"{n}",
                reference="r" * 2_000,
                candidate="c",
                group=f"g{n}",
                errors={rater: {"omission": n % 3, "addition": 1.0} for rater in "abcdef"},
            )
            for n in range(number)
        ]
        write_rated_pairs(tmp_path / "rated.jsonl", entries)
        tracemalloc.start()
        try:
            pairs = read_rated_pairs(tmp_path / "rated.jsonl")
            assert list(pairs.rows) == entries
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    allocated(10)  # imports and caches of the first call
    assert (allocated(500) - allocated(100)) / 400 < 1_500  # a reference takes 2,000, the counts of six raters 3,000
