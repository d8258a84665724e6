"""Age and indication of rated pairs and preferences reach the scorers that use them."""

import json
from pathlib import Path

import pytest

from radreward.meta_evaluation.benchmark import BenchmarkSettings, run_benchmark
from radreward.meta_evaluation.preferences import Preference, read_preferences, write_preferences
from radreward.meta_evaluation.rated_pairs import RatedPair, RatedPairs
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs, write_rated_pairs
from radreward.scorers import load
from radreward.text.patient_context import NO_CONTEXT, PatientContext

REFERENCE, CANDIDATE = "Mild pulmonary edema. Aortic calcification.", "Mild pulmonary edema."
CONTEXTS = (NO_CONTEXT, PatientContext(50), PatientContext(70, "Aortic calcification?"), PatientContext(70))


def rated_pairs() -> list[RatedPair]:
    return [
        RatedPair(id=str(n), reference=REFERENCE, candidate=CANDIDATE, group=str(n), ratings={"a": n}, context=context)
        for n, context in enumerate(CONTEXTS)
    ]


def preference() -> Preference:
    return Preference(
        id="p",
        reference=REFERENCE,
        candidate_a=CANDIDATE,
        candidate_b=CANDIDATE,
        preferred="a",
        group="p",
        context_a=CONTEXTS[3],
        context_b=CONTEXTS[2],
    )


def test_contexts_are_written_and_read(tmp_path: Path) -> None:
    for suffix in ("jsonl", "csv", "parquet"):
        write_rated_pairs(tmp_path / f"pairs.{suffix}", rated_pairs())
        assert list(read_rated_pairs(tmp_path / f"pairs.{suffix}").rows) == rated_pairs()
        write_preferences(tmp_path / f"preferences.{suffix}", [preference()])
        assert read_preferences(tmp_path / f"preferences.{suffix}") == [preference()]


def test_unreadable_contexts_are_counted_in_a_note(tmp_path: Path) -> None:
    rows = [{"id": str(n), "reference": "a", "candidate": "b", "rating": n, "age": "old"} for n in range(2)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = read_rated_pairs(tmp_path / "pairs.jsonl")
    assert pairs.notes == ("2 pairs have an unreadable age, which is ignored",)


def test_benchmark_scores_pairs_and_preferences_in_context(tmp_path: Path) -> None:
    for _ in range(2):  # the second run reads the cache
        pairs = RatedPairs(rated_pairs())
        loaders = {"entity-f1": lambda: load("entity-f1")}
        settings = BenchmarkSettings(0, 0, 9)
        result = run_benchmark(pairs, loaders, tmp_path, settings, preferences=[preference()])
        qualities = [row["scores"]["entity-f1:quality"] for row in result.rows()]
        assert qualities == pytest.approx([0.75, 0.75, 0.75, 1.0], abs=0.005)
        [agreement] = [row for row in result.to_dict()["preferences"] if row["scorer"] == "entity-f1:quality"]
        assert agreement["accuracy"] == 1
