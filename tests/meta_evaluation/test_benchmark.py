"""The bench on scorers of few lines, good and bad; every report is made up."""

import csv
import json
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
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
from radreward.meta_evaluation.rated_pairs_io import MEAN_RATER, RatedPair, RatedPairs, write_rated_pairs
from radreward.meta_evaluation.score_cache import CachedScore, ScoreCache, pair_key
from radreward.meta_evaluation.scorer_runner import score_pairs, to_jsonable
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.types import Scores

WORDS = ["lamp", "kettle", "stair", "window", "carpet", "drawer", "button"]


class Overlap(Scorer):
    """Share of the reference's words that the candidate has."""

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
    """Counts what is missing, half of it as insignificant, and shows the words."""

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
        found = super().score(references, candidates)
        found.total[0], found.total[1] = math.inf, math.nan
        return found


class Constant(Overlap):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.ones(len(references)), None, None, (STATUS_OK,) * len(references))


def rated(cases: int = 10, seed: int = 0) -> RatedPairs:
    """Candidates of two systems that leave out words of their reference, and three raters who count them."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(cases):
        reference = " ".join(rng.permutation(WORDS))
        for system, most in (("good", 3), ("bad", 6)):
            kept = rng.permutation(WORDS)[int(rng.integers(0, most)) :]
            missing = 7 - len(kept)
            counts = {f"r{rater}": {"omission": max(0.0, missing + float(rng.integers(-1, 2)))} for rater in range(3)}
            half = {rater: {"omission": value["omission"] / 2} for rater, value in counts.items()}
            ratings = {MEAN_RATER: 5.0 - missing}
            rows.append(
                RatedPair(f"{case}/{system}", reference, " ".join(kept), f"c{case}", system, ratings, counts, half)
            )
    return RatedPairs(rows)


def run(folder: Path, pairs: RatedPairs | None = None, draws: int = 50, **scorers: Scorer) -> BenchmarkResult:
    makers = {name: (lambda scorer=scorer: scorer) for name, scorer in scorers.items()}
    return benchmark(pairs or rated(), makers, folder, BenchmarkSettings(draws))


def entry(rows: Any, **wanted: Any) -> dict[str, Any]:
    found: list[dict[str, Any]] = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    assert len(found) == 1
    return found[0]


def test_the_whole_of_the_results(tmp_path: Path) -> None:
    pairs = rated()
    results = run(tmp_path, pairs, overlap=Overlap(), counting=Counting()).to_dict()
    json.dumps(results, allow_nan=False)
    assert results["data"] == {
        "files": {},
        "pairs": 20,
        "cases": 10,
        "systems": ["bad", "good"],
        "raters": ["r0", "r1", "r2", MEAN_RATER],
        "notes": [],
    }
    assert [target["name"] for target in results["targets"]] == [
        *("errors", "errors_significant", "rating", "criterion:omission")
    ]
    scores = [len(set(row.candidate.split())) / 7 for row in pairs.rows]
    errors = pairs.targets[0].values
    pooled = entry(results["agreement"], scorer="overlap", target="errors", scope="pooled")
    assert pooled["tau_b"]["value"] == pytest.approx(stats.kendalltau(scores, -errors).statistic, abs=1e-12)
    assert pooled["tau_b"]["low"] < pooled["tau_b"]["value"] < pooled["tau_b"]["high"]
    assert {row["scope"] for row in results["agreement"]} == {"pooled", "within", "system:good", "system:bad"}
    inside = entry(results["agreement"], scorer="overlap", target="rating", scope="system:good")
    assert (inside["n"], inside["tau_b"]["value"]) == (10, pytest.approx(1))
    assert len([row for row in results["inter_rater"] if row["target"] == "errors"]) == 6
    paired = entry(results["paired"], target="errors")
    assert (paired["one"], paired["other"], paired["difference"]) == ("overlap", "counting", 0)
    assert results["between_scorers"] == {"names": ["overlap", "counting"], "tau_b": [[1.0, 1.0], [1.0, 1.0]]}
    good = entry(results["systems"], scorer="overlap", system="good")
    assert good["mean"] == pytest.approx(np.mean(scores[::2]))
    assert entry(results["system_pairs"], scorer="overlap")["cases"] == 10
    assert entry(results["system_ranks"], scorer="overlap", target="errors")["tau_b"] == 1
    counted = {row["criterion"]: row for row in results["counts"]}
    assert set(counted) == {"omission", "errors", "significant_omission", "errors_significant"}
    missing = 7 - 7 * np.array(scores)
    assert counted["errors"]["mae"] == pytest.approx(np.abs(missing - errors).mean())
    assert counted["significant_omission"]["mae"] == pytest.approx(np.abs(missing / 2 - errors / 2).mean())


def test_directions_are_turned_once(tmp_path: Path) -> None:
    results = run(tmp_path, up=Overlap(), down=Overlap(higher=False)).to_dict()
    for target in results["targets"]:
        for scope in ("pooled", "within"):
            up, down = (
                entry(results["agreement"], scorer=name, target=target["name"], scope=scope) for name in ("up", "down")
            )
            assert up["tau_b"]["value"] == pytest.approx(down["tau_b"]["value"])
            assert up["tau_b"]["value"] > 0
    up, down = (entry(results["systems"], scorer=name, system="bad")["mean"] for name in ("up", "down"))
    assert up == pytest.approx(1 - down)  # means are in the scorer's own direction


def test_criteria_are_compared_by_what_a_scorer_says_of_them(tmp_path: Path) -> None:
    pairs = rated()
    results = run(tmp_path, pairs, overlap=Overlap(), counting=Counting()).to_dict()
    told = {
        name: entry(results["agreement"], scorer=name, target="criterion:omission", scope="pooled")["of"]
        for name in ("overlap", "counting")
    }
    assert told == {"overlap": "total", "counting": "criterion"}


def test_bad_scorers_stop_no_other_and_are_told(tmp_path: Path) -> None:
    def missing() -> Scorer:
        raise InputError("no such weights")

    scorers: dict[str, Any] = {"raising": Raising(), "short": TooFew(), "infinite": Infinite(), "same": Constant()}
    makers = {name: (lambda scorer=scorer: scorer) for name, scorer in scorers.items()}
    pairs = rated(100)
    bench = benchmark(pairs, {"missing": missing, **makers, "good": Overlap}, tmp_path, BenchmarkSettings(20))
    results = bench.to_dict()
    told = {one["name"]: one for one in results["scorers"]}
    assert told["missing"]["reason"] == "InputError: no such weights"
    assert (told["raising"]["status"], told["raising"]["reason"]) == ("failed", "RuntimeError: out of memory")
    assert (told["raising"]["scored"], told["raising"]["unscored"]) == (
        128,
        {"not scored, because the scorer failed": 72},
    )
    assert told["short"]["reason"] == "Expected 128 totals, one for each pair, but got 127."
    assert told["infinite"]["unscored"] == {
        "expected a finite score but got inf": 2,
        "expected a finite score but got nan": 2,
    }
    assert told["good"]["status"] == told["same"]["status"] == "ok"
    constant = entry(results["agreement"], scorer="same", target="errors", scope="pooled")
    assert (constant["tau_b"]["value"], constant["note"]) == (None, "all scores are 1")
    assert {row["scorer"] for row in results["agreement"]} == {"infinite", "same", "good"}
    text = "\n".join(result_notes(results))
    for part in ("raising failed: RuntimeError", "infinite: 2 pairs without a score", "same: all scores are 1"):
        assert part in text
    main_table = next(all_tables(results))
    assert main_table.rows[0][0] == "good"
    assert [row[:2] for row in main_table.rows[-3:]] == [[name, "failed"] for name in ("missing", "raising", "short")]
    write_benchmark(bench, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows[0]["scores"]["infinite"] is None
    assert rows[0]["status"]["infinite"] == "expected a finite score but got inf"
    assert rows[199]["status"]["raising"] == "the scorer failed"


def test_what_is_scored_is_not_scored_again(tmp_path: Path) -> None:
    first = Overlap()
    run(tmp_path, rated(5), a=first)
    assert first.scored == 10
    second = Overlap()
    bench = run(tmp_path, RatedPairs([*rated(5).rows, *rated(3, seed=1).rows]), a=second, b=Counting())
    assert second.scored == 6
    told = {one.name: (one.num_computed, one.num_cached) for one in bench.scorer_runs}
    assert told == {"a": (6, 10), "b": (16, 0)}
    other = Overlap(higher=False)  # another scorer of the same name
    assert run(tmp_path, rated(5), a=other).scorer_runs[0].num_computed == 10
    again = Overlap()
    run(tmp_path, rated(5), a=again)  # and the first one's scores are still there
    assert again.scored == 0


def test_equal_texts_are_scored_once(tmp_path: Path) -> None:
    scorer = Overlap()
    pairs = RatedPairs([row._replace(id=f"{row.id}{copy}") for row in rated(3).rows for copy in range(4)])
    bench = run(tmp_path, pairs, a=scorer)
    assert scorer.scored == 6
    assert not np.isnan(bench.scorer_runs[0].totals).any()


def test_a_pair_without_a_score_is_tried_again(tmp_path: Path) -> None:
    pairs = RatedPairs([row._replace(candidate=" ") if row.id == "0/bad" else row for row in rated(3).rows])
    for _ in range(2):
        bench = run(tmp_path, pairs, a=Overlap())
        assert bench.scorer_runs[0].unscored_reasons == {"empty candidate": 1}
    assert (bench.scorer_runs[0].num_computed, bench.scorer_runs[0].num_cached) == (1, 5)


def test_rows_hold_all_that_was_said_in_their_order(tmp_path: Path) -> None:
    pairs = rated(3)
    [first, *_] = rows = list(run(tmp_path, pairs, a=Overlap(), b=Counting()).rows())
    assert [row["id"] for row in rows] == [row.id for row in pairs.rows]
    kept = len(pairs.rows[0].candidate.split())
    assert first["scores"] == {"a": pytest.approx(kept / 7), "b": pytest.approx(kept - 7)}
    assert first["counts"]["b"] == dict.fromkeys(Counting.criteria.tags, (7 - kept) / 2)
    assert set(first["sub"]["b"]) == set(Counting.criteria.tags)
    assert first["evidence"] == {"b": {"words": pairs.rows[0].reference.split(), "share": None}}
    assert first["status"] == {}
    assert first["targets"]["rating"] == kept - 2


def test_preferences_beside_pairs_and_alone(tmp_path: Path) -> None:
    entries = [Preference(str(n), "lamp stair", "lamp stair", "lamp", "one", str(n), 9) for n in range(4)]
    entries.append(Preference("x", "lamp stair", "stair", "lamp stair", "one", "x", 2))
    makers = {"a": Overlap}
    for pairs in (rated(3), RatedPairs([])):
        bench = benchmark(pairs, makers, tmp_path, BenchmarkSettings(50), preferences=entries)
        results = bench.to_dict()
        assert entry(results["preferences"], scorer="a", confidence="all")["accuracy"] == 0.8
        assert entry(results["preferences"], scorer="a", confidence=[1, 4])["accuracy"] == 0
        assert any(table.title == "What people prefer" for table in all_tables(results))
        write_benchmark(bench, tmp_path)


def test_a_scorer_that_fails_on_preferences_is_told(tmp_path: Path) -> None:
    entries = [
        Preference("x", "lamp", "stair", " ", "one", "x"),
        Preference("y", "lamp", "stair", "lamp", "other", "y"),
    ]
    bench = benchmark(rated(3), {"a": Overlap}, tmp_path, BenchmarkSettings(20), preferences=entries)
    assert "a: 1 preferences left out, because a candidate has no score." in list(result_notes(bench.to_dict()))
    failed = benchmark(rated(3), {"a": Raising}, tmp_path, BenchmarkSettings(20), preferences=entries).to_dict()
    assert failed["scorers"][0]["reason"] == "RuntimeError: out of memory"
    assert failed["preferences"] == []


def test_the_files(tmp_path: Path) -> None:
    bench = run(tmp_path, over_lap=Overlap(), b=Counting())
    for path in write_benchmark(bench, tmp_path):
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


def test_equal_seeds_give_equal_results(tmp_path: Path) -> None:
    def told(folder: Path) -> dict[str, Any]:
        results = run(folder, a=Overlap(), b=Counting()).to_dict()
        for one in results["scorers"]:
            del one["seconds"]
        return results

    assert told(tmp_path / "x") == told(tmp_path / "y")


def test_a_line_that_was_cut_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    keys = [pair_key("r", str(number)) for number in range(3)]
    ScoreCache(path).put([(key, CachedScore(0.1 * place, STATUS_OK)) for place, key in enumerate(keys)])
    path.write_bytes(path.read_bytes()[:-7])
    scores = ScoreCache(path)
    assert [key in scores for key in keys] == [True, True, False]
    scores.put([(keys[2], CachedScore(2.0, STATUS_OK))])
    again = ScoreCache(path)
    assert [again.get(key) for key in keys] == [
        CachedScore(0.0, STATUS_OK),
        CachedScore(0.1, STATUS_OK),
        CachedScore(2.0, STATUS_OK),
    ]


def test_scores_that_are_something_else_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.0.jsonl").write_text("[]\n{}\n")
    with pytest.raises(InputError, match="Expected scores of an earlier run"):
        ScoreCache(tmp_path / "a.0.jsonl")


def test_evidence_becomes_json() -> None:
    value = {1: (CachedScore(math.inf, STATUS_OK), {"a"}), "x": [None, True, 2, "t"]}
    assert to_jsonable(value)["1"][0]["total"] is None
    assert to_jsonable(value)["1"][1] == "{'a'}"
    assert to_jsonable(value)["x"] == [None, True, 2, "t"]


def test_a_name_is_a_file(tmp_path: Path) -> None:
    found = score_pairs("../my file.py:metric", Overlap, [("a", "a")], tmp_path / "scores")
    assert found.cache
    assert found.cache.path.parent == tmp_path / "scores"


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


def test_a_run_that_was_killed_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rated_pairs(tmp_path / "rated.jsonl", rated(200).rows)
    command = ["benchmark", f"--data={tmp_path / 'rated.jsonl'}", "--bootstrap=20"]
    told = {}
    for name, kill in (("whole", False), ("killed", True)):
        calls, metric = tmp_path / f"{name}.calls", tmp_path / "metric.py"
        calls.write_text("")
        # What the file says is part of the fingerprint: the file that kills is that which goes on.
        metric.write_text(METRIC.format(calls=str(calls), kill=kill))
        arguments = [*command, f"--output={tmp_path / name}", "--scorers", f"{metric}:metric"]
        if kill:
            done = subprocess.run([sys.executable, "-m", "radreward", *arguments], capture_output=True, timeout=100)
            assert done.returncode == -signal.SIGKILL
            assert len(calls.read_text()) == 300
        assert main(arguments) == 0
        capsys.readouterr()
        told[name] = json.loads((tmp_path / name / "results.json").read_text())
        told[name]["calls"] = len(calls.read_text())
    [scorer] = told["killed"]["scorers"]
    distinct = told["whole"]["calls"]
    assert distinct > 256
    assert (scorer["computed"] + scorer["cached"], scorer["cached"]) == (400, 256)  # two chunks were done
    assert told["killed"]["agreement"] == told["whole"]["agreement"]
    rows = [(tmp_path / name / "rows.jsonl").read_text() for name in ("whole", "killed")]
    assert rows[0] == rows[1]


def test_the_command_shows_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metric.py").write_text("def metric(reference, candidate):\n    return len(candidate)\n")
    write_rated_pairs(tmp_path / "rated.csv", rated().rows)
    arguments = [f"--data={tmp_path / 'rated.csv'}", f"--output={tmp_path / 'out'}", "--bootstrap=20"]
    assert main(["benchmark", *arguments, "--scorers", f"{tmp_path / 'metric.py'}:metric"]) == 0
    shown = capsys.readouterr()
    assert "Agreement with people: Errors" in shown.out
    assert "people: 3 raters" in shown.out
    assert "400" not in shown.err
    assert "20 of 20 pairs" in shown.err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {*("page.html", "table.md", "table.tex", "agreement.csv", "results.json", "rows.jsonl", "scores")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scorers", "nobody", "--data=x.jsonl"], "nobody"),
        (["--scorers", "ratescore", "ratescore", "--data=x.jsonl"], "'ratescore' is there twice"),
        (["--scorers", "ratescore"], "Expected --data or --preferences, or both"),
        (["--scorers", "ratescore", "--data=x.jsonl"], "x.jsonl: cannot be read"),
        (["--scorers", "ratescore", "--data=x.jsonl", "--bootstrap=-1"], "--bootstrap: Expected a number >= 0"),
    ],
)
def test_what_cannot_be_run_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["benchmark", f"--output={tmp_path / 'out'}", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
