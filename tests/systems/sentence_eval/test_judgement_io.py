"""Files of sentence scores: round trip through every format, and messages about invalid rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.data.relation_io import RELATION_SCORES
from radreward.errors import InputError
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.judgement_io import JudgedPair, read_judged_pairs, write_judged_pairs

SENTENCES = st.lists(st.text("abc ,;\"'\n", min_size=1).filter(str.strip), max_size=4).map(tuple)


@st.composite
def judged_pairs(draw: st.DrawFn) -> JudgedPair:
    reference, candidate = draw(SENTENCES), draw(SENTENCES)

    def scores(own: tuple[str, ...], other: tuple[str, ...]) -> tuple[SentenceScore | None, ...]:
        matches = st.lists(st.integers(0, len(other) - 1), unique=True).map(tuple) if other else st.just(())
        probabilities = st.sampled_from([None, (0.0, 0.5, 0.5, 0.0), (1.0, 0.0, 0.0, 0.0)])
        score = st.builds(SentenceScore, st.sampled_from(RELATION_SCORES), matches, probabilities)
        return tuple(draw(st.none() | score) for _ in own)

    judgement = SentenceJudgement(
        scores(reference, candidate), scores(candidate, reference), draw(st.none() | st.floats(0, 5)), "why", {}, "ok"
    )
    rater = draw(st.none() | st.sampled_from(["x", "rater 2"]))
    return JudgedPair(str(draw(st.integers(0, 99))), rater, reference, candidate, judgement)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_written_pairs_are_read_back(suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("judged") / f"pairs.{suffix}"

    @settings(max_examples=20)
    @given(st.lists(judged_pairs(), min_size=1, max_size=3))
    def check(pairs: list[JudgedPair]) -> None:
        write_judged_pairs(path, pairs)
        assert read_judged_pairs(path) == pairs

    check()


def test_judged_pairs_in_parquet_are_read_by_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    scores = (SentenceScore(1.0, (0,)),)
    judgement = SentenceJudgement(scores, scores, 5.0, "", {"prose": 2}, "ok")
    pair = JudgedPair("1", None, ("Clear.",), ("Clear.",), judgement)
    write_judged_pairs(tmp_path / "a.parquet", [pair])
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train")
    assert loaded[0]["format_errors"] == [{"name": "prose", "value": 2}]
    loaded.to_json(str(tmp_path / "a.jsonl"))
    assert read_judged_pairs(tmp_path / "a.jsonl") == [pair._replace(judgement=judgement._replace(format_errors={}))]


def sentence(**changes: Any) -> dict[str, Any]:
    return {"id": "a", "sentence": "No edema.", "score": 1, "match": ["A"]} | changes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "field 'id': Expected a text"),
        ({"reference": 3}, "field 'reference': Expected a list of sentences but got 3"),
        ({"reference": [sentence(score=2)]}, "field 'reference': field 'score': Expected a number from -1 to 1"),
        ({"reference": [sentence(match=["B"])]}, "field 'reference': sentence 'a' matches 'B', which the other report"),
        ({"reference": [sentence(match="A")]}, "field 'match': Expected a list of ids but got 'A'"),
        ({"reference": [sentence(sentence=" ")]}, "field 'sentence': Expected a text that is not empty"),
        ({"reference": [sentence(probabilities=[1])]}, "field 'probabilities': Expected 4 numbers but got"),
        ({"overall": 7}, "field 'overall': Expected a number from 0 to 5 but got 7"),
    ],
)
def test_invalid_row_is_named_with_its_field(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    row = {"id": "1", "overall": 3, "reference": [sentence()], "candidate": [sentence(id="A", match=["a"])]}
    path = tmp_path / "judged.jsonl"
    path.write_text(json.dumps(row | change) + "\n")
    with pytest.raises(InputError, match=rf"judged\.jsonl, row 1: .*{message}"):
        read_judged_pairs(path)


def test_a_mean_without_its_shares_counts_as_the_closest_score(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    row = {"id": 1, "reference": [sentence(score=0.83)], "candidate": [sentence(id="A", match=["a"])]}
    path.write_text(json.dumps(row) + "\n")
    [pair] = read_judged_pairs(path)
    assert pair.judgement.reference_scores == (SentenceScore(1.0, (0,), None),)
