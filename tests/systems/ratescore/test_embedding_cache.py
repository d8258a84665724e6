from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.systems.ratescore.embedding_cache import EmbeddingCache

A, B, C = ((torch.tensor([float(i), 0.5]), i == 1) for i in range(3))


def test_rows_are_there_in_another_connection(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path / "a.sqlite", "x", 2, 10).put({"a": A, "b": B})
    found = EmbeddingCache(tmp_path / "a.sqlite", "x", 2, 10).get(["b", "c", "a"])
    assert {name: (vector.tolist(), cut) for name, (vector, cut) in found.items()} == {
        "a": ([0.0, 0.5], False),
        "b": ([1.0, 0.5], True),
    }


def test_the_least_recently_used_give_way(tmp_path: Path) -> None:
    store = EmbeddingCache(tmp_path / "a.sqlite", "x", 2, 2)
    store.put({"a": A})
    store.put({"b": B})
    store.get(["a"])
    store.put({"c": C})
    assert len(store) == 2
    assert set(store.get(["a", "b", "c"])) == {"a", "c"}


def test_more_names_than_one_statement_takes(tmp_path: Path) -> None:
    store = EmbeddingCache(tmp_path / "a.sqlite", "x", 2, 5000)
    names = [f"name '{i}'" for i in range(1201)]
    store.put(dict.fromkeys(names, A))
    assert set(store.get(names)) == set(names)


def test_another_fingerprint_drops_what_was_there(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path / "a.sqlite", "x", 2, 10).put({"a": A})
    store = EmbeddingCache(tmp_path / "a.sqlite", "y", 2, 10)
    assert len(store) == 0
    assert store.get(["a"]) == {}


def test_a_file_that_is_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and long enough to be read as a header of a database. " * 3)
    with pytest.raises(InputError, match=r"notes\.txt: Expected a file of embeddings, or none yet"):
        EmbeddingCache(path, "x", 2, 10)
    assert path.read_text().startswith("These")
