"""The benchmark with small scorers, correct and failing, on generated reports."""

import csv
import json
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from radreward.cli import main
from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.meta_evaluation.benchmark import BenchmarkResult, BenchmarkSettings, benchmark
from radreward.meta_evaluation.benchmark_files import write_benchmark
from radreward.meta_evaluation.benchmark_tables import all_tables, result_notes
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair, RatedPairs
from radreward.meta_evaluation.rated_pairs_io import write_rated_pairs
from radreward.meta_evaluation.score_cache import CachedScore, ScoreCache, pair_key
from radreward.meta_evaluation.scorer_runner import to_jsonable
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.types import Scores

WORDS = ["lamp", "kettle", "stair", "window", "carpet", "drawer", "button"]


class Overlap(Scorer):
    """Share of the reference's words that occur in the candidate."""

    def __init__(self, higher: bool = True) -> None:
        self.higher_is_better = higher
        self.scored = 0

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        self.scored += len(references)
        shares = [
            len(set(a.split()) & set(b.split())) / len(a.split()) for a, b in zip(references, candidates, strict=True)
        ]
        total = torch.tensor(shares, dtype=torch.float32)
        return Scores(total if self.higher_is_better else 1 - total, None, None, (STATUS_OK,) * len(references))

    def fingerprint(self) -> str:
        return f"{type(self).__name__} {self.higher_is_better}"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


class Counting(Overlap):
    """Counts missing words, half of them as insignificant, and returns the words as evidence."""

    criteria = Criteria(
        "two",
        [
            {"name": "significant omission", "description": "Missing."},
            {"name": "insignificant omission", "description": "Missing."},
        ],
    )

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        pairs = list(zip(references, candidates, strict=True))
        missing = torch.tensor([[len(set(a.split()) - set(b.split())) / 2] * 2 for a, b in pairs]).reshape(-1, 2)
        evidence = tuple({"words": a.split(), "share": math.nan} for a, _ in pairs)
        return Scores(-missing.sum(1), -missing, missing, (STATUS_OK,) * len(pairs), evidence)


class Raising(Overlap):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        if self.scored:
            raise RuntimeError("out of\nmemory")
        return super()._score_valid(references, candidates)


class TooFew(Overlap):
    def score(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return super().score(references[1:], candidates[1:])


class Infinite(Overlap):
    def score(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super().score(references, candidates)
        scores.total[0], scores.total[1] = math.inf, math.nan
        return scores


class Constant(Overlap):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.ones(len(references)), None, None, (STATUS_OK,) * len(references))


def make_pairs(cases: int = 10, seed: int = 0) -> RatedPairs:
    """Return candidates of two systems that omit words of their reference, counted by three raters."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(cases):
        reference = " ".join(rng.permutation(WORDS))
        for system, max_omitted in (("good", 3), ("bad", 6)):
            words = rng.permutation(WORDS)[int(rng.integers(0, max_omitted)) :]
            missing = 7 - len(words)
            errors = {f"r{rater}": {"omission": max(0.0, missing + float(rng.integers(-1, 2)))} for rater in range(3)}
            rows.append(
                RatedPair(
                    id=f"{case}/{system}",
                    reference=reference,
                    candidate=" ".join(words),
                    group=f"c{case}",
                    system=system,
                    ratings={MEAN_RATER: 5.0 - missing},
                    errors=errors,
                    significant_errors={rater: {"omission": e["omission"] / 2} for rater, e in errors.items()},
                )
            )
    return RatedPairs(rows)


def run(folder: Path, pairs: RatedPairs | None = None, n_resamples: int = 50, **scorers: Scorer) -> BenchmarkResult:
    factories = {name: (lambda scorer=scorer: scorer) for name, scorer in scorers.items()}
    return benchmark(pairs or make_pairs(), factories, folder, BenchmarkSettings(n_resamples, 0, 99))


def only(rows: Any, **fields: Any) -> dict[str, Any]:
    """Return the only row with these values."""
    matches: list[dict[str, Any]] = [row for row in rows if all(row[key] == value for key, value in fields.items())]
    assert len(matches) == 1
    return matches[0]


def test_benchmark_two_scorers_all_sections_match_direct_computation(tmp_path: Path) -> None:
    pairs = make_pairs()
    results = run(tmp_path, pairs, overlap=Overlap(), counting=Counting()).to_dict()
    json.dumps(results, allow_nan=False)
    assert results["data"] == {
        "files": {},
        "pairs": 20,
        "clusters": 10,
        "systems": ["bad", "good"],
        "raters": ["r0", "r1", "r2", MEAN_RATER],
        "notes": [],
    }
    assert [target["name"] for target in results["targets"]] == [
        *("errors", "errors_significant", "rating", "criterion:omission")
    ]
    scores = [len(set(row.candidate.split())) / 7 for row in pairs.rows]
    errors = pairs.targets[0].values
    pooled = only(results["agreement"], scorer="overlap", target="errors", scope="pooled")
    assert pooled["tau_b"]["value"] == pytest.approx(stats.kendalltau(scores, -errors).statistic, abs=1e-12)
    assert pooled["tau_b"]["low"] < pooled["tau_b"]["value"] < pooled["tau_b"]["high"]
    assert {row["scope"] for row in results["agreement"]} == {"pooled", "within", "system:good", "system:bad"}
    in_system = only(results["agreement"], scorer="overlap", target="rating", scope="system:good")
    assert (in_system["n"], in_system["tau_b"]["value"]) == (10, pytest.approx(1))
    assert len([row for row in results["inter_rater"] if row["target"] == "errors"]) == 6
    comparison = only(results["scorer_comparisons"], target="errors")
    assert (comparison["scorer_a"], comparison["scorer_b"]) == ("overlap", "counting")
    assert comparison["difference"] == 0
    assert results["scorer_correlations"] == {"names": ["overlap", "counting"], "tau_b": [[1.0, 1.0], [1.0, 1.0]]}
    good = only(results["system_means"], scorer="overlap", system="good")
    assert good["mean"] == pytest.approx(np.mean(scores[::2]))
    assert only(results["system_differences"], scorer="overlap")["n_clusters"] == 10
    assert only(results["system_rank_agreement"], scorer="overlap", target="errors")["tau_b"] == 1
    counts = {row["criterion"]: row for row in results["count_agreement"]}
    assert set(counts) == {"omission", "errors", "significant_omission", "errors_significant"}
    missing = 7 - 7 * np.array(scores)
    assert counts["errors"]["mae"] == pytest.approx(np.abs(missing - errors).mean())
    assert counts["significant_omission"]["mae"] == pytest.approx(np.abs(missing / 2 - errors / 2).mean())


def test_benchmark_lower_is_better_agreement_has_the_same_sign(tmp_path: Path) -> None:
    results = run(tmp_path, up=Overlap(), down=Overlap(higher=False)).to_dict()
    for target in results["targets"]:
        for scope in ("pooled", "within"):
            up, down = (
                only(results["agreement"], scorer=name, target=target["name"], scope=scope) for name in ("up", "down")
            )
            assert up["tau_b"]["value"] == pytest.approx(down["tau_b"]["value"])
            assert up["tau_b"]["value"] > 0
    up, down = (only(results["system_means"], scorer=name, system="bad")["mean"] for name in ("up", "down"))
    assert up == pytest.approx(1 - down)  # means are in the scorer's own direction


def test_benchmark_criterion_target_uses_the_criterion_score_if_present(tmp_path: Path) -> None:
    results = run(tmp_path, make_pairs(), overlap=Overlap(), counting=Counting()).to_dict()
    sources = {
        name: only(results["agreement"], scorer=name, target="criterion:omission", scope="pooled")["score_source"]
        for name in ("overlap", "counting")
    }
    assert sources == {"overlap": "total", "counting": "criterion"}


def test_benchmark_failing_scorers_are_reported_and_do_not_stop_others(tmp_path: Path) -> None:
    def missing() -> Scorer:
        raise InputError("no such weights")

    scorers: dict[str, Any] = {"raising": Raising(), "short": TooFew(), "infinite": Infinite(), "same": Constant()}
    factories = {name: (lambda scorer=scorer: scorer) for name, scorer in scorers.items()}
    settings = BenchmarkSettings(20, 0, 99)
    result = benchmark(make_pairs(100), {"missing": missing, **factories, "good": Overlap}, tmp_path, settings)
    assert not result.succeeded
    results = result.to_dict()
    rows = {row["name"]: row for row in results["scorers"]}
    assert rows["missing"]["failure"] == "InputError: no such weights"
    assert (rows["raising"]["status"], rows["raising"]["failure"]) == ("failed", "RuntimeError: out of memory")
    assert rows["raising"]["num_scored"] == 128
    assert rows["raising"]["unscored_reasons"] == {"not scored, because the scorer failed": 72}
    assert rows["short"]["failure"] == "Expected 128 totals, one for each pair, but got 127."
    assert rows["infinite"]["unscored_reasons"] == {
        "expected a finite score but got inf": 2,
        "expected a finite score but got nan": 2,
    }
    assert rows["good"]["status"] == rows["same"]["status"] == "ok"
    constant = only(results["agreement"], scorer="same", target="errors", scope="pooled")
    assert (constant["tau_b"]["value"], constant["note"]) == (None, "all scores are 1")
    assert {row["scorer"] for row in results["agreement"]} == {"infinite", "same", "good"}
    notes = "\n".join(result_notes(results))
    for part in ("raising failed: RuntimeError", "infinite: 2 pairs without a score", "same: all scores are 1"):
        assert part in notes
    frame = next(all_tables(results)).frame
    assert frame.iloc[0, 0] == "good"
    assert frame.iloc[-3:, :2].to_numpy().tolist() == [[name, "failed"] for name in ("missing", "raising", "short")]
    write_benchmark(result, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert lines[0]["scores"]["infinite"] is None
    assert lines[0]["status"]["infinite"] == "expected a finite score but got inf"
    assert lines[199]["status"]["raising"] == "the scorer failed"


def test_benchmark_cached_pairs_are_not_scored_again(tmp_path: Path) -> None:
    first = Overlap()
    run(tmp_path, make_pairs(5), a=first)
    assert first.scored == 10
    second = Overlap()
    more = RatedPairs([*make_pairs(5).rows, *make_pairs(3, seed=1).rows])
    result = run(tmp_path, more, a=second, b=Counting())
    assert second.scored == 6
    counts = {run.name: (run.num_computed, run.num_cached) for run in result.scorer_runs}
    assert counts == {"a": (6, 10), "b": (16, 0)}
    other = Overlap(higher=False)  # another scorer of the same name
    assert run(tmp_path, make_pairs(5), a=other).scorer_runs[0].num_computed == 10
    again = Overlap()
    run(tmp_path, make_pairs(5), a=again)  # the scores of the first are still cached
    assert again.scored == 0


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


def test_rows_hold_all_scores_in_the_order_of_the_pairs(tmp_path: Path) -> None:
    pairs = make_pairs(3)
    [first, *_] = rows = list(run(tmp_path, pairs, a=Overlap(), b=Counting()).rows())
    assert [row["id"] for row in rows] == [row.id for row in pairs.rows]
    words = len(pairs.rows[0].candidate.split())
    assert first["scores"] == {"a": pytest.approx(words / 7), "b": pytest.approx(words - 7)}
    assert first["error_counts"]["b"] == dict.fromkeys(Counting.criteria.tags, (7 - words) / 2)
    assert set(first["sub_scores"]["b"]) == set(Counting.criteria.tags)
    assert first["evidence"] == {"b": {"words": pairs.rows[0].reference.split(), "share": None}}
    assert first["status"] == {}
    assert first["targets"]["rating"] == words - 2


def preference(name: str, candidate_a: str, candidate_b: str, preferred: Any, confidence: float | None) -> Preference:
    return Preference(
        id=name,
        reference="lamp stair",
        candidate_a=candidate_a,
        candidate_b=candidate_b,
        preferred=preferred,
        group=name,
        confidence=confidence,
    )


def test_benchmark_preferences_with_and_without_pairs(tmp_path: Path) -> None:
    preferences = [preference(str(n), "lamp stair", "lamp", "a", 9) for n in range(4)]
    preferences.append(preference("x", "stair", "lamp stair", "a", 2))
    for pairs in (make_pairs(3), RatedPairs([])):
        result = benchmark(pairs, {"a": Overlap}, tmp_path, BenchmarkSettings(50), preferences=preferences)
        results = result.to_dict()
        assert only(results["preferences"], scorer="a", confidence="all")["accuracy"] == 0.8
        assert only(results["preferences"], scorer="a", confidence=[1, 4])["accuracy"] == 0
        assert any(table.title == "Preferences of raters" for table in all_tables(results))
        write_benchmark(result, tmp_path)


def test_benchmark_scorer_failing_on_preferences_is_reported(tmp_path: Path) -> None:
    preferences = [preference("x", "stair", " ", "a", None), preference("y", "stair", "lamp", "b", None)]
    settings = BenchmarkSettings(20, 0, 99)
    result = benchmark(make_pairs(3), {"a": Overlap}, tmp_path, settings, preferences=preferences)
    notes = list(result_notes(result.to_dict()))
    assert "a: 1 preferences left out, because a candidate has no score." in notes
    failed = benchmark(make_pairs(3), {"a": Raising}, tmp_path, settings, preferences=preferences).to_dict()
    assert failed["scorers"][0]["failure"] == "RuntimeError: out of memory"
    assert failed["preferences"] == []


def test_write_benchmark_files_are_complete_and_escaped(tmp_path: Path) -> None:
    result = run(tmp_path, over_lap=Overlap(), b=Counting())
    for path in write_benchmark(result, tmp_path):
        assert path.stat().st_size > 100
    with (tmp_path / "agreement.csv").open() as file:
        rows = list(csv.DictReader(file))
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(rows) == len(results["agreement"])
    assert float(rows[0]["tau_b"]) == results["agreement"][0]["tau_b"]["value"]
    assert "over\\_lap" in (tmp_path / "table.md").read_text()
    latex = (tmp_path / "table.tex").read_text()
    assert "over\\_lap" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") > 3


def test_benchmark_equal_seeds_give_equal_results(tmp_path: Path) -> None:
    def results_in(folder: Path) -> dict[str, Any]:
        results = run(folder, a=Overlap(), b=Counting()).to_dict()
        for scorer in results["scorers"]:
            del scorer["seconds"]
        return results

    assert results_in(tmp_path / "x") == results_in(tmp_path / "y")


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
    with pytest.raises(InputError, match=r"scores\.sqlite: cannot be used as a cache"):
        ScoreCache(tmp_path / "scores.sqlite", "f")


def test_to_jsonable_converts_records_sets_and_infinity() -> None:
    value = {1: (CachedScore(total=math.inf, status=STATUS_OK), {"a"}), "x": [None, True, 2, "t"]}
    converted = to_jsonable(value)
    assert converted["1"][0]["total"] is None
    assert converted["1"][1] == "{'a'}"
    assert converted["x"] == [None, True, 2, "t"]


METRIC = """
import os, signal
from pathlib import Path

def metric(reference, candidate):
    calls = Path({calls!r})
    calls.write_text(calls.read_text() + ".")
    if {kill} and len(calls.read_text()) == 300:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(set(reference.split()) & set(candidate.split())) / 7
"""


def test_benchmark_killed_run_resumes_with_equal_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rated_pairs(tmp_path / "rated.jsonl", make_pairs(200).rows)
    command = ["benchmark", f"--data={tmp_path / 'rated.jsonl'}", "--bootstrap=20"]
    results = {}
    for name, kill in (("complete", False), ("killed", True)):
        calls, metric = tmp_path / f"{name}.calls", tmp_path / "metric.py"
        calls.write_text("")
        # The source is part of the fingerprint, so the metric that kills the run must also resume it.
        metric.write_text(METRIC.format(calls=str(calls), kill=kill))
        arguments = [*command, f"--output={tmp_path / name}", "--scorers", f"{metric}:metric"]
        if kill:
            process = subprocess.run([sys.executable, "-m", "radreward", *arguments], capture_output=True, timeout=100)
            assert process.returncode == -signal.SIGKILL
            assert len(calls.read_text()) == 300
        assert main(arguments) == 0
        capsys.readouterr()
        results[name] = json.loads((tmp_path / name / "results.json").read_text())
        results[name]["calls"] = len(calls.read_text())
    [scorer] = results["killed"]["scorers"]
    assert results["complete"]["calls"] > 256
    assert (scorer["num_computed"] + scorer["num_cached"], scorer["num_cached"]) == (400, 256)  # two chunks were done
    assert results["killed"]["agreement"] == results["complete"]["agreement"]
    rows = [(tmp_path / name / "rows.jsonl").read_text() for name in ("complete", "killed")]
    assert rows[0] == rows[1]


def test_benchmark_command_prints_tables_and_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metric.py").write_text("def metric(reference, candidate):\n    return len(candidate)\n")
    write_rated_pairs(tmp_path / "rated.csv", make_pairs().rows)
    arguments = [f"--data={tmp_path / 'rated.csv'}", f"--output={tmp_path / 'out'}", "--bootstrap=20"]
    assert main(["benchmark", *arguments, "--scorers", f"{tmp_path / 'metric.py'}:metric"]) == 0
    printed = capsys.readouterr()
    assert "Agreement with raters: Errors" in printed.out
    assert "raters: 3, each against" in printed.out
    assert "400" not in printed.err
    assert "20 of 20 pairs" in printed.err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        *("page.html", "table.md", "table.tex", "agreement.csv", "results.json", "rows.jsonl", "scores.sqlite")
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scorers", "nobody", "--data=x.jsonl"], "nobody"),
        (["--scorers", "ratescore", "ratescore", "--data=x.jsonl"], "'ratescore' is listed twice"),
        (["--scorers", "ratescore"], "Expected --data or --preferences, or both"),
        (["--scorers", "ratescore", "--data=x.jsonl"], "x.jsonl: cannot be read"),
        (["--scorers", "ratescore", "--data=x.jsonl", "--bootstrap=-1"], "--bootstrap: Expected a number >= 0"),
    ],
)
def test_benchmark_command_invalid_arguments_are_reported_before_scoring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["benchmark", f"--output={tmp_path / 'out'}", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
