from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.criteria import Criteria, MRScoreCriteria, RadCliQCriteria, RatingCriteria
from radreward.data.records import GROUP_SCHEMA, data_fingerprint, read_groups, write_groups
from radreward.errors import InputError
from radreward.io.validated_rows import text_field
from radreward.types import Candidate, FindingWeights, LocatedError, ReportGroup, Side

TAGS = RadCliQCriteria().tags
NONE = dict.fromkeys(TAGS, 0.0)
FORMATS = [".jsonl", ".csv", ".parquet"]

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
counts = st.fixed_dictionaries({tag: st.floats(0, 1000) for tag in TAGS})
weights = st.none() | st.builds(FindingWeights, st.floats(0, 1000), st.floats(0, 1000))
located = st.builds(
    LocatedError,
    st.sampled_from(["candidate", "reference"]),
    st.lists(text, min_size=1, max_size=2).map(tuple),
    counts | st.just({}),
    st.none() | st.floats(0, 1000),
)
located_errors = st.none() | st.lists(located, max_size=2).map(tuple)
candidates = st.builds(Candidate, text, counts, st.none() | text, weights, located_errors)
some_groups = st.lists(
    st.builds(ReportGroup, text, text, st.lists(candidates, min_size=1, max_size=3).map(tuple)),
    max_size=3,
    unique_by=lambda group: group.id,
)


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=40)
@given(groups=some_groups)
def test_write_then_read_returns_equal_groups(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, groups: list[ReportGroup]
) -> None:
    path = tmp_path_factory.mktemp("records") / f"groups{suffix}"
    write_groups(path, groups)
    assert list(read_groups(path, RadCliQCriteria())) == groups


@pytest.mark.parametrize("suffix", FORMATS)
def test_write_then_read_preserves_missing_errors(tmp_path: Path, suffix: str) -> None:
    groups = [ReportGroup("1", "Clear.", (Candidate("Hazy."), Candidate("Clear.", NONE, "a model")))]
    write_groups(tmp_path / f"groups{suffix}", groups)
    assert list(read_groups(tmp_path / f"groups{suffix}")) == groups


GROUPS = [
    ReportGroup("a", "Clear lungs.", (Candidate("Clear.", NONE, "x"), Candidate("Hazy.", {**NONE, "omission": 2.0}))),
    ReportGroup("b", "Large heart.", (Candidate("Wide heart.", NONE), Candidate("No heart.", {**NONE, TAGS[0]: 1.0}))),
]


@pytest.mark.parametrize("nested", [True, False])
def test_read_groups_accepts_a_datasets_folder(tmp_path: Path, nested: bool) -> None:
    rows = [
        {
            "id": group.id,
            "reference": group.reference,
            "candidates": [
                {
                    "text": entry.text,
                    "errors": dict(entry.errors or {}) if nested else json.dumps(entry.errors),
                    "system": entry.system,
                }
                for entry in group.candidates
            ],
        }
        for group in GROUPS
    ]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "folder"))
    assert list(read_groups(tmp_path / "folder", RadCliQCriteria())) == GROUPS


def flat_rows(groups: list[ReportGroup], columns: bool, named: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for group in groups:
        for entry in group.candidates:
            row: dict[str, Any] = {"id": f"row {len(rows)}", "reference": group.reference, "candidate": entry.text}
            errors = dict(entry.errors or {})
            row |= errors if columns else {"errors": json.dumps(errors)}
            rows.append(row | {"system": entry.system or ""} | ({"group": group.id} if named else {}))
    return rows


def write_flat(path: Path, rows: list[dict[str, Any]]) -> Path:
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        table.to_pandas().to_csv(path, index=False)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        datasets.Dataset.from_list(rows).save_to_disk(str(path))
    return path


@pytest.mark.parametrize("suffix", [*FORMATS, ""])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_read_groups_collects_flat_pairs(tmp_path: Path, suffix: str, columns: bool, named: bool) -> None:
    path = write_flat(tmp_path / f"pairs{suffix}", flat_rows(GROUPS, columns, named))
    groups = list(read_groups(path, RadCliQCriteria()))
    names = ["a", "b"] if named else ["row 0", "row 2"]
    assert groups == [group._replace(id=name) for group, name in zip(GROUPS, names, strict=True)]


def test_flat_pairs_without_group_may_be_non_adjacent(tmp_path: Path) -> None:
    rows = flat_rows(GROUPS, True, False)
    path = write_flat(tmp_path / "pairs.csv", [rows[0], rows[2], rows[1], rows[3]])
    assert [group.candidates for group in read_groups(path, RadCliQCriteria())] == [
        group.candidates for group in GROUPS
    ]


def nested_row(**changes: Any) -> dict[str, Any]:
    return {"id": "2", "reference": "Clear.", "candidates": [{"text": "Hazy.", "errors": NONE}], **changes}


def entry(**changes: Any) -> dict[str, Any]:
    return {"candidates": [{"text": "Clear.", "errors": NONE}, {"text": "Hazy.", "errors": NONE, **changes}]}


BAD_NESTED: list[tuple[dict[str, Any], str]] = [
    ({"id": "1"}, "field 'id': Expected a new id but '1' occurred before"),
    ({"id": 1}, "field 'id': Expected a new id but 1 occurred before"),
    ({"id": " "}, "field 'id': Expected a text that is not empty"),
    ({"id": None}, "field 'id': Expected a text but got None"),
    ({"id": True}, "field 'id': Expected a text but got True"),
    ({"reference": ""}, "field 'reference': Expected a text that is not empty"),
    ({"reference": 3}, "field 'reference': Expected a text but got 3"),
    ({"reference": math.nan}, "field 'reference': Expected a text but got nan"),
    ({"reference": "\ud800"}, "field 'reference': Expected UTF-8 text"),
    ({"candidates": []}, "field 'candidates': Expected a list of objects"),
    ({"candidates": None}, "field 'candidates': Expected a list of objects"),
    ({"candidates": ["Hazy."]}, "field 'candidates': Expected a list of objects"),
    ({"candidates": "[{"}, r"field 'candidates': Expected JSON \("),
    ({"candidates": [{"errors": NONE}]}, "candidate 1: field 'text': Expected a column of this name"),
    (entry(text="\n"), "candidate 2: field 'text': Expected a text that is not empty"),
    (entry(text=None), "candidate 2: field 'text': Expected a text but got None"),
    (entry(system=4), "candidate 2: field 'system': Expected a text but got 4"),
    (entry(errors=None), "candidate 2: no value for criterion 'false_prediction' of radcliq"),
    (entry(errors={**NONE, "grammar": 1}), "candidate 2: unknown criterion 'grammar'; radcliq has false_prediction"),
    (entry(errors={**NONE, "omission": None}), "candidate 2: no value for criterion 'omission'"),
    (entry(errors={**NONE, "omission": math.nan}), "candidate 2: field 'omission': Expected a finite number >= 0"),
    (entry(errors={**NONE, "omission": math.inf}), "candidate 2: field 'omission': Expected a finite number >= 0"),
    (entry(errors={**NONE, "omission": -1}), "candidate 2: field 'omission': Expected a finite number >= 0"),
    (entry(errors={**NONE, "omission": "1"}), "candidate 2: field 'omission': Expected a finite number >= 0"),
    (entry(errors={**NONE, "omission": 10**400}), "candidate 2: field 'omission': Expected at most 1,000 but got 1000"),
    (entry(errors={**NONE, "omission": 1e30}), r"candidate 2: field 'omission': Expected at most 1,000 but got 1e\+30"),
    (entry(errors={"mean": NONE}), "candidate 2: field 'errors': Expected a mapping .* `radreward benchmark` reads"),
    (entry(errors=["a"]), "candidate 2: field 'errors': Expected a mapping from criterion to number"),
    (entry(errors=[1, 2]), "candidate 2: field 'errors': Expected a mapping from criterion to number"),
    (entry(errors=3), "candidate 2: field 'errors': Expected a mapping from criterion to number"),
    (entry(errors="{"), r"candidate 2: field 'errors': Expected JSON \("),
]


@pytest.mark.parametrize(("changes", "problem"), BAD_NESTED, ids=[problem for _, problem in BAD_NESTED])
def test_invalid_group_error_names_file_row_and_field(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(nested_row(id="1")) + "\n" + json.dumps(nested_row(**changes)) + "\n")
    with pytest.raises(InputError, match=rf"^\S*groups\.jsonl, row 2: {problem}[^\n]*\.$"):
        list(read_groups(path, RadCliQCriteria()))


@pytest.mark.parametrize("field", ["id", "reference", "candidates"])
def test_missing_column_is_reported(tmp_path: Path, field: str) -> None:
    row = nested_row()
    del row[field]
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(row))
    name = "candidate" if field == "candidates" else field
    with pytest.raises(InputError, match=rf"row 1: field '{name}': Expected a column of this name\.$"):
        list(read_groups(path, RadCliQCriteria()))


def flat_row(**changes: Any) -> dict[str, Any]:
    return {"id": "2", "reference": "Clear.", "candidate": "Hazy.", **NONE, **changes}


BAD_FLAT: list[tuple[dict[str, Any], str]] = [
    ({"candidate": " "}, "field 'candidate': Expected a text that is not empty"),
    ({"candidate": math.nan}, "field 'candidate': Expected a text but got nan"),
    ({"reference": ""}, "field 'reference': Expected a text that is not empty"),
    ({"omission": "two"}, "field 'omission': Expected a number but got 'two'"),
    ({"omission": ""}, "field 'omission': Expected a number but got ''"),
    ({"omission": math.nan}, "field 'omission': Expected a finite number >= 0 but got nan"),
    ({"omission": "nan"}, "field 'omission': Expected a finite number >= 0 but got nan"),
    ({"omission": [1]}, r"field 'omission': Expected a finite number >= 0 but got \[1\]"),
    ({"omission": None}, "no value for criterion 'omission' of radcliq"),
    ({"errors": ["ab"]}, "field 'errors': Expected a mapping from criterion to number"),
    ({"errors": {"omission": 1}}, "no value for criterion 'false_prediction'"),
    ({"group": None}, "field 'group': Expected a text but got None"),
    ({"id": "1"}, "field 'id': Expected a new id"),
]


@pytest.mark.parametrize(("changes", "problem"), BAD_FLAT, ids=[problem for _, problem in BAD_FLAT])
def test_invalid_pair_error_names_file_row_and_field(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(flat_row(id="1")) + "\n" + json.dumps(flat_row(**changes)) + "\n")
    with pytest.raises(InputError, match=rf"^\S*pairs\.jsonl, row 2: {problem}[^\n]*\.$"):
        list(read_groups(path, RadCliQCriteria()))


@pytest.mark.parametrize("wrong", ["omision", "Omission", "omissions", "ommission"])
def test_misspelt_column_is_reported_instead_of_missing(tmp_path: Path, wrong: str) -> None:
    row = {wrong if name == "omission" else name: value for name, value in flat_row(note="mine").items()}
    path = write_flat(tmp_path / "pairs.csv", [row])
    with pytest.raises(InputError, match=rf"row 1: field '{wrong}': unknown column; expected 'omission'\.$"):
        list(read_groups(path, RadCliQCriteria()))
    del row[wrong]
    with pytest.raises(
        InputError, match=r"row 1: no value for criterion 'omission' of radcliq; write 0 for no error\.$"
    ):
        list(read_groups(write_flat(path, [row]), RadCliQCriteria()))


def test_rated_pair_without_errors_names_the_command_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "rated.jsonl"
    path.write_text(
        json.dumps({"id": "1", "reference": "A.", "candidate": "B.", "rating": {"Anne": 4}, "errors": None})
    )
    with pytest.raises(
        InputError, match=r"no value for .* of radcliq; write 0 for no error\. `radreward benchmark` reads ratings\.$"
    ):
        list(read_groups(path, RadCliQCriteria()))


def test_ratings_per_rater_are_named_by_their_own_column(tmp_path: Path) -> None:
    path = tmp_path / "rated.jsonl"
    path.write_text(json.dumps({"id": "1", "reference": "A.", "candidate": "B.", "rating": {"Anne": 4, "Bela": 5}}))
    message = r"rated\.jsonl, row 1: field 'rating': Expected a number but got the numbers of each rater\. `radreward"
    with pytest.raises(InputError, match=message):
        list(read_groups(path, RatingCriteria()))


def test_unrelated_column_is_not_reported_as_misspelling(tmp_path: Path) -> None:
    path = write_flat(tmp_path / "pairs.csv", [flat_row(omission_note="mine")])
    assert len(list(read_groups(path, RadCliQCriteria()))) == 1


def test_binary_criterion_accepts_0_and_1_only(tmp_path: Path) -> None:
    errors = dict.fromkeys(MRScoreCriteria().tags, 2)
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(nested_row(candidates=[{"text": "Hazy.", "errors": errors}])))
    with pytest.raises(InputError, match="row 1: candidate 1: Expected 0 or 1 for criterion 'impression_consistency'"):
        list(read_groups(path, MRScoreCriteria()))


def test_rows_of_a_group_must_be_adjacent_with_one_reference(tmp_path: Path) -> None:
    rows = [flat_row(id=str(number), group=name) for number, name in enumerate("aba")]
    path = write_flat(tmp_path / "pairs.csv", rows)
    with pytest.raises(InputError, match="row 3: field 'group': Expected adjacent rows of 'a'"):
        list(read_groups(path, RadCliQCriteria()))
    rows[1] |= {"group": "a", "reference": "Other."}
    with pytest.raises(InputError, match="row 2: field 'reference': Expected the same text in all rows of group 'a'"):
        list(read_groups(write_flat(path, rows), RadCliQCriteria()))


def _broken_jsonl(path: Path) -> None:
    path.write_bytes(b"{\n")


def _broken_utf8(path: Path) -> None:
    path.write_bytes(b'{"id": "\xff"}\n')


def _broken_csv(path: Path) -> None:
    path.write_bytes(b"id,reference,candidate\n1,Clear.,\xff\n")


def _truncated(path: Path) -> None:
    write_groups(path, GROUPS)
    path.write_bytes(path.read_bytes()[:-9])


def _absent(path: Path) -> None:
    assert not path.exists()


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "make", "problem"),
    [
        ("a.jsonl", _broken_jsonl, r"a\.jsonl, row 1: Expected a JSON object"),
        ("a.jsonl", _broken_utf8, r"a\.jsonl, row 1: Expected UTF-8 text but it looks like Windows-1252"),
        ("a.csv", _broken_csv, r"a\.csv, row 1: field 'candidate': Expected UTF-8 text"),
        ("a.parquet", _truncated, r"a\.parquet: cannot be read as parquet"),
        ("a.parquet", _absent, r"a\.parquet: does not exist\. Check its name"),
        ("a.txt", _absent, r"a\.txt: Expected a name that ends with"),
        ("folder", _folder, r"folder: cannot be read as a dataset"),
    ],
)
def test_broken_file_is_reported(tmp_path: Path, name: str, make: Callable[[Path], None], problem: str) -> None:
    make(tmp_path / name)
    with pytest.raises(InputError, match=problem) as error:
        list(read_groups(tmp_path / name, RadCliQCriteria()))
    assert "\n" not in str(error.value)


def test_datasets_folder_with_splits_or_invalid_text_raises(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_list([flat_row()])
    datasets.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(str(tmp_path / "both"))
    with pytest.raises(InputError, match="both: Expected one dataset but got several splits"):
        list(read_groups(tmp_path / "both", RadCliQCriteria()))
    broken = pa.array([b"\xff"], pa.binary()).view(pa.string())
    table = pa.table({"id": ["1"], "reference": ["Clear."], "candidate": broken, **{tag: [0.0] for tag in TAGS}})
    datasets.Dataset(table).save_to_disk(str(tmp_path / "broken"))
    with pytest.raises(InputError, match="broken, row 1: field 'candidate': Expected UTF-8 text"):
        list(read_groups(tmp_path / "broken", RadCliQCriteria()))


def test_write_groups_error_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(json.dumps(nested_row()) + "\n{\n")
    with pytest.raises(InputError):
        write_groups(tmp_path / "out.parquet", read_groups(tmp_path / "bad.jsonl"))
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "errors", *TAGS]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("criteria", [RadCliQCriteria(), None])
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(
    ["id", "reference", "candidates", "candidate", "errors", "system", "group", *TAGS[:2]], json_values
)))  # fmt: skip
def test_any_json_is_read_or_raises_one_line(
    tmp_path_factory: pytest.TempPathFactory, criteria: Criteria | None, row: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    path.write_text(json.dumps(row))
    try:
        groups = list(read_groups(path, criteria))
    except InputError as error:
        groups, message = [], str(error)
        assert message.startswith(f"{path}, row 1: ")
        assert "\n" not in message
    write_groups(path.with_suffix(".parquet"), groups)
    assert list(read_groups(path.with_suffix(".parquet"), criteria)) == groups


def test_text_field_allow_integer_reads_integers() -> None:
    assert text_field({"id": 7}, "id", allow_integer=True) == "7"
    with pytest.raises(ValueError, match="Expected a text but got 7"):
        text_field({"id": 7}, "id")


def test_read_groups_accepts_errors_as_an_arrow_map(tmp_path: Path) -> None:
    counts = pa.map_(pa.string(), pa.float64())
    columns: dict[str, pa.DataType] = {"side": pa.string(), "statements": pa.list_(pa.string()), "errors": counts}
    entry = pa.struct({"text": pa.string(), "errors": counts, "located_errors": pa.list_(pa.struct(columns))})
    located = {"side": "candidate", "statements": ["Clear."], "errors": {TAGS[0]: 1.0}}
    row = {
        "id": "1",
        "reference": "Scar.",
        "candidates": [{"text": "Clear.", "errors": NONE | {TAGS[1]: 2.0}, "located_errors": [located]}],
    }
    schema = pa.schema({"id": pa.string(), "reference": pa.string(), "candidates": pa.list_(entry)})
    pq.write_table(pa.Table.from_pylist([row], schema=schema), tmp_path / "groups.parquet")
    (group,) = read_groups(tmp_path / "groups.parquet", RadCliQCriteria())
    assert group.candidates[0].errors == NONE | {TAGS[1]: 2.0}
    assert group.candidates[0].located_errors == (LocatedError(Side.CANDIDATE, ("Clear.",), {TAGS[0]: 1.0}),)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ([{"tag": TAGS[0], "count": 1}, {"tag": TAGS[0], "count": 2}], f"a new tag in each .* but got '{TAGS[0]}'"),
        ([{"tag": None, "count": 1}], "a new tag in each object of the list but got None"),
        ([{"tag": TAGS[0]}], "a mapping from criterion to number, or a list of objects with tag and count, but got"),
        ([{"tag": TAGS[0], "count": -1}], "a finite number >= 0 but got -1"),
    ],
)
def test_read_groups_invalid_list_of_errors_raises(tmp_path: Path, errors: list[Any], message: str) -> None:
    path = tmp_path / "groups.jsonl"
    row = {"id": "1", "reference": "Scar.", "candidates": [{"text": "Scar.", "errors": errors}]}
    path.write_text(json.dumps(row))
    with pytest.raises(InputError, match=f"row 1: candidate 1: field .*: Expected {message}"):
        list(read_groups(path))


def test_written_parquet_is_read_by_datasets_and_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    located = (LocatedError(Side.CANDIDATE, ("Hazy.",), {TAGS[0]: 1.0}, 0.5),)
    candidates = (Candidate("Hazy.", NONE | {TAGS[0]: 1.0}, "a model", None, located), Candidate("Clear."))
    groups = [ReportGroup("1", "Clear.", candidates)]
    (tmp_path / "data").mkdir()
    write_groups(tmp_path / "data" / "groups.parquet", groups)
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "data" / "groups.parquet"), split="train")
    loaded.save_to_disk(str(tmp_path / "folder"))
    loaded.to_json(str(tmp_path / "groups.jsonl"))
    for source in (tmp_path / "folder", tmp_path / "groups.jsonl", f"hf:{tmp_path / 'data'}"):
        assert list(read_groups(source)) == groups, source
    before = data_fingerprint(f"hf:{tmp_path / 'data'}")
    assert data_fingerprint(f"hf:{tmp_path / 'data'}") == before
    write_groups(tmp_path / "data" / "groups.parquet", [groups[0]._replace(reference="Scar.")])
    assert data_fingerprint(f"hf:{tmp_path / 'data'}") != before


def test_group_schema_is_the_written_schema(tmp_path: Path) -> None:
    write_groups(tmp_path / "groups.parquet", GROUPS)
    assert pq.read_schema(tmp_path / "groups.parquet").equals(GROUP_SCHEMA)


@pytest.mark.parametrize("suffix", [*FORMATS, ""])
def test_read_groups_accepts_flat_rows_with_and_without_weights(tmp_path: Path, suffix: str) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "reference": "Scar.", "candidate": "Clear.", **NONE, "matched": 0.0, "wrong": 0.25},
        {"id": "2", "reference": "Scar.", "candidate": "Scar.", **NONE, "matched": None, "wrong": None},
    ]
    path = write_flat(tmp_path / f"rows{suffix}", rows)
    (group,) = read_groups(path, RadCliQCriteria())
    assert [entry.finding_weights for entry in group.candidates] == [FindingWeights(0.0, 0.25), None]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"matched": 0.5}, "candidate 1: field 'wrong': Expected a number because the row has 'matched'"),
        ({"matched": 0.5, "wrong": -1.0}, "candidate 1: field 'wrong': Expected a finite number >= 0 but got -1.0"),
        ({"matched": "much", "wrong": 0.0}, "candidate 1: field 'matched': Expected a number but got 'much'"),
    ],
)
def test_read_groups_invalid_weights_raise(tmp_path: Path, weights: dict[str, Any], message: str) -> None:
    path = tmp_path / "groups.jsonl"
    row = {"id": "1", "reference": "Scar.", "candidates": [{"text": "Scar.", "errors": NONE, **weights}]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        list(read_groups(path))
    assert str(error.value) == f"{path}, row 1: {message}."


@pytest.mark.parametrize(
    ("located_errors", "message"),
    [
        ("all", "Expected JSON"),
        ('{"side": "candidate"}', "Expected a list of objects with side, statements and errors"),
        (
            '[{"side": "left", "statements": ["Clear."]}]',
            "Expected the side to be candidate or reference but got 'left'",
        ),
        (
            '[{"side": "candidate", "statements": "Clear."}]',
            "Expected statements to be a list of texts but got 'Clear.'",
        ),
        ('[{"side": "candidate", "statements": []}]', r"Expected statements to be a list of texts but got \[\]"),
        ('[{"side": "candidate", "statements": ["Clear."], "wrong": -1}]', "'wrong': Expected a finite number >= 0"),
        (
            '[{"side": "candidate", "statements": ["Clear."], "errors": {"omission": "many"}}]',
            "'omission': Expected a finite number >= 0 but got 'many'",
        ),
    ],
)
def test_bad_located_errors_are_named(tmp_path: Path, located_errors: str, message: str) -> None:
    row = {"id": "a", "reference": "Clear.", "candidate": "Clear.", "errors": NONE, "located_errors": located_errors}
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(InputError, match=rf"pairs\.jsonl, row 1: field .*{message}"):
        list(read_groups(path))
