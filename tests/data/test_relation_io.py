"""Tests of sentence relation files: round trip and invalid rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radreward.data.relation_datamodule import RelationDataModule
from radreward.data.relation_io import SentenceRelations, read_relations, write_relations
from radreward.errors import InputError

RECORDS = [
    SentenceRelations(("No edema.", 'Mild "edema", left.', "Clear."), ((0, 1, -1.0), (0, 2, 0.5))),
    SentenceRelations(("Alone.",), ()),
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_write_then_read_returns_equal_relations(name: str, tmp_path: Path) -> None:
    write_relations(tmp_path / name, RECORDS)
    assert list(read_relations(tmp_path / name)) == RECORDS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"pairs": []}, "field 'sentences': Expected a list"),
        ({"sentences": ["a"]}, "field 'pairs': Expected a list"),
        ({"sentences": ["a", " "], "pairs": []}, "Expected texts that are not empty"),
        ({"sentences": ["a", 3], "pairs": []}, "Expected texts"),
        ({"sentences": ["a"], "pairs": [{"first": 0, "second": 1, "score": 1}]}, "indices from 0 to 0 but got 1"),
        ({"sentences": ["a", "b"], "pairs": [{"first": 0, "second": 1, "score": 0.7}]}, "a score of -1, 0, 0.5, 1"),
        ({"sentences": ["a", "b"], "pairs": [{"first": 0, "second": 1}]}, "objects with first, second and score"),
        ({"sentences": "[1", "pairs": []}, "Expected JSON"),
        ({"sentences": "[" * 100_000, "pairs": []}, "Expected JSON"),
    ],
)
def test_invalid_row_is_reported(row: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"sentences": ["a", "b"], "pairs": []}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"a.jsonl, row 2: .*{message}"):
        list(read_relations(path))


def test_datamodule_splits_by_first_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_relations(path, (SentenceRelations((f"Text {i}.", "b"), ((0, 1, 0.0),)) for i in range(40)))
    data = RelationDataModule(str(path), 0.3, batch_size=7)
    data.setup()
    parts = [
        {record.sentences[0] for batch in loader for record in batch}
        for loader in (data.train_dataloader(), data.val_dataloader())
    ]
    assert len(parts[0]) + len(parts[1]) == 40
    assert not parts[0] & parts[1]


def test_datamodule_without_pairs_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_relations(path, [RECORDS[1]] * 20)
    with pytest.raises(InputError, match="Expected relations for train but none are left"):
        RelationDataModule(str(path)).setup()
