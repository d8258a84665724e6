"""Caching of scores, and conversion of evidence."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from radreward.errors import InputError
from radreward.meta_evaluation.rated_pairs import RatedPairs
from radreward.meta_evaluation.score_cache import CachedScore, ScoreCache, pair_key, to_jsonable
from radreward.scorers.status import STATUS_OK
from tests.meta_evaluation.small_scorers import Counting, Overlap, WithQuality, make_pairs, run


def test_benchmark_cached_pairs_are_not_scored_again(tmp_path: Path) -> None:
    first = Overlap()
    run(tmp_path, make_pairs(5), a=first)
    assert first.scored == 10
    second = Overlap()
    more = RatedPairs([*make_pairs(5).rows, *make_pairs(3, seed=1).rows])
    result = run(tmp_path, more, a=second, b=Counting())
    assert second.scored == 6
    counts = {run.name: (run.num_computed, run.num_cached) for run in result.scorer_runs}
    assert counts == {"a": (6, 10), "b": (16, 0), "b:errors": (0, 16)}
    other = Overlap(higher=False)  # another scorer of the same name
    assert run(tmp_path, make_pairs(5), a=other).scorer_runs[0].num_computed == 10
    again = Overlap()
    run(tmp_path, make_pairs(5), a=again)  # the scores of the first are still cached
    assert again.scored == 0


def test_benchmark_scores_cached_without_their_quality_are_computed_again(tmp_path: Path) -> None:
    class Before(Counting):
        def fingerprint(self) -> str:
            return WithQuality().fingerprint()

    run(tmp_path, make_pairs(3), a=Before())
    total, quality, _ = run(tmp_path, make_pairs(3), a=WithQuality()).scorer_runs
    assert (total.num_computed, quality.num_computed, quality.num_cached) == (6, 0, 6)
    assert not np.isnan(quality.totals).any()


def test_benchmark_duplicate_texts_are_scored_once(tmp_path: Path) -> None:
    scorer = Overlap()
    pairs = RatedPairs([replace(row, id=f"{row.id}{copy}") for row in make_pairs(3).rows for copy in range(4)])
    result = run(tmp_path, pairs, a=scorer)
    assert scorer.scored == 6
    assert not np.isnan(result.scorer_runs[0].totals).any()


def test_benchmark_pair_without_score_is_retried(tmp_path: Path) -> None:
    pairs = RatedPairs([replace(row, candidate=" ") if row.id == "0/bad" else row for row in make_pairs(3).rows])
    for _ in range(2):
        [scorer_run] = run(tmp_path, pairs, a=Overlap()).scorer_runs
        assert scorer_run.unscored_reasons == {"empty candidate": 1}
    assert (scorer_run.num_computed, scorer_run.num_cached) == (1, 5)


def test_score_cache_returns_stored_scores_per_scorer(tmp_path: Path) -> None:
    path, keys = tmp_path / "scores.sqlite", [pair_key("r", str(number)) for number in range(3)]
    scores = {key: CachedScore(total=0.1 * index, status=STATUS_OK) for index, key in enumerate(keys[:2])}
    ScoreCache(path, "f").put(scores)
    cache = ScoreCache(path, "f")
    assert cache.get(keys) == scores
    cache.put({keys[0]: CachedScore(total=2.0, status=STATUS_OK, evidence={"a": [1]})})
    again = ScoreCache(path, "f").get(keys)[keys[0]]
    assert (again.total, again.evidence) == (2.0, {"a": [1]})
    assert ScoreCache(path, "other").get(keys) == {}


def test_score_cache_other_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "scores.sqlite").write_text("[]\n{}\n" * 100)
    with pytest.raises(InputError, match=r"scores\.sqlite: Expected no file, or one that radreward wrote"):
        ScoreCache(tmp_path / "scores.sqlite", "f")


def test_to_jsonable_converts_records_sets_and_infinity() -> None:
    value = {1: (CachedScore(total=math.inf, status=STATUS_OK), {"a"}), "x": [None, True, 2, "t"]}
    converted = to_jsonable(value)
    assert converted["1"][0]["total"] is None
    assert converted["1"][1] == "{'a'}"
    assert converted["x"] == [None, True, 2, "t"]
