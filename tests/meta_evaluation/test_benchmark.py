"""Results and files of the benchmark, with correct and failing scorers."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.meta_evaluation.benchmark import BenchmarkSettings, run_benchmark
from radreward.meta_evaluation.benchmark_files import write_benchmark
from radreward.meta_evaluation.benchmark_tables import all_tables, footnote, result_notes
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPairs
from radreward.meta_evaluation.statistics.inter_rater import wilcoxon
from radreward.scorers.base import Scorer
from radreward.types import Scores
from tests.meta_evaluation.small_scorers import (
    Constant,
    Counting,
    Fractional,
    Infinite,
    Overlap,
    Raising,
    TooFew,
    WithQuality,
    make_pairs,
    only,
    run,
)


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
    comparison = only(results["scorer_comparisons"], target="errors", scorer_a="overlap", scorer_b="counting")
    assert comparison["difference"] == 0
    names = ["overlap", "counting", "counting:errors"]
    assert results["scorer_correlations"] == {"names": names, "tau_b": [[1.0] * 3] * 3}
    good = only(results["system_means"], scorer="overlap", system="good")
    assert good["mean"] == pytest.approx(np.mean(scores[::2]))
    assert only(results["system_differences"], scorer="overlap")["n_clusters"] == 10
    assert results["system_rank_agreement"] == []  # of two systems, τ-b is 1 or -1
    counts = {row["criterion"]: row for row in results["count_agreement"]}
    totals = {"errors", "errors_significant", "errors_insignificant"}
    assert set(counts) == {"omission", "significant_omission", *totals}
    missing = 7 - 7 * np.array(scores)
    assert counts["errors"]["mae"] == pytest.approx(np.abs(missing - errors).mean())
    assert counts["significant_omission"]["mae"] == pytest.approx(np.abs(missing / 2 - errors / 2).mean())
    assert counts["errors_insignificant"]["mae"] == pytest.approx(np.abs(missing / 2 - errors / 2).mean())
    by_rater = pairs.targets[0].by_rater
    for rater, rated in zip(("r0", "r1", "r2"), by_rater, strict=True):
        row = only(results["rater_count_agreement"], criterion="errors", rater=rater)
        assert row["mae"] == pytest.approx(np.abs(missing - rated).mean())
        assert [row["w_wilcoxon"], row["p_wilcoxon"]] == pytest.approx(wilcoxon(missing, rated))
    titles = [table.title for table in all_tables(results)]
    assert "Error counts, compared with each rater" in titles
    [table] = [table for table in all_tables(results) if table.title.startswith("Each rater")]
    others = np.abs(by_rater[0] - by_rater[1:].mean(0))
    assert f"{others.mean():.3f} ± {others.std(ddof=1):.3f}" in table.frame.iloc[0].tolist()
    assert len(next(table for table in all_tables(results) if table.title == "Every two raters").frame) == 12


def test_benchmark_compares_raters_on_the_significant_errors_of_each_criterion(tmp_path: Path) -> None:
    """As in Tables 1, 5 and 10 of GREEN: two criteria, and significant errors that are no share of all errors."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, (20, 3, 2)).astype(float)  # pair, rater, criterion
    rows = []
    for row, by_rater in zip(make_pairs().rows, counts, strict=True):
        significant = {
            f"r{n}": dict(zip(("omission", "addition"), values, strict=True))
            for n, values in enumerate(by_rater.tolist())
        }
        errors = {rater: {tag: count + 1 for tag, count in values.items()} for rater, values in significant.items()}
        rows.append(replace(row, errors=errors, significant_errors=significant))
    results = run(tmp_path, RatedPairs(rows), overlap=Overlap()).to_dict()
    tables = {table.title: table.frame for table in all_tables(results)}
    for number, tag in enumerate(("omission", "addition")):
        found = only(results["inter_rater"], target=f"significant_{tag}", kind="against_mean", rater_a="r0")
        size = np.abs(counts[:, 0, number] - counts[:, 1:, number].mean(1))
        assert (found["mae"], found["std"]) == (pytest.approx(size.mean()), pytest.approx(size.std(ddof=1)))
        cells = tables["Each rater, compared with the mean of the others"].to_numpy().tolist()
        w = stats.wilcoxon(counts[:, 0, number], counts[:, 1:, number].mean(1)).statistic
        expected = ["r0", f"Significant: {tag}", "20", f"{size.mean():.3f} ± {size.std(ddof=1):.3f}", f"{w:.1f}"]
        texts = [[*map(str, line)] for line in cells]
        assert [[*line[:4], line[5]] for line in texts].count(expected) == 1
    totals = counts.sum(2)
    mae = np.abs(totals[:, 0] - totals[:, 1]).mean()
    lines = [[*map(str, row)] for row in tables["Every two raters"].to_numpy()]
    assert [line[3].split()[0] for line in lines if line[:2] == ["r0 – r1", "Significant errors"]] == [f"{mae:.3f}"]


class Binary(Overlap):
    """Detector of two binary errors: the candidate is short, or its first word is late in the alphabet."""

    criteria = Criteria(
        "binary",
        [
            {"name": "completeness", "description": "Short.", "kind": "binary"},
            {"name": "grammar", "description": "Late.", "kind": "binary"},
        ],
    )

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = [[0.9 if len(text.split()) < 5 else 0.2, 0.6 * (text > "l")] for text in candidates]
        counts = torch.tensor(scores).reshape(-1, 2)
        return Scores(-counts.sum(1), -counts, counts, ("ok",) * len(candidates))


def test_benchmark_accuracy_of_binary_criteria_is_the_share_of_right_decisions(tmp_path: Path) -> None:
    """As in Table 3 of ER²Score: an error is predicted if its expected number is at least one half."""
    rng = np.random.default_rng(1)
    rows, right = [], np.zeros(2)
    for row in make_pairs().rows:
        errors = dict(zip(("completeness", "grammar"), rng.integers(0, 2, 2).astype(float).tolist(), strict=True))
        rows.append(replace(row, errors={MEAN_RATER: errors}, significant_errors={}))
        right += [
            errors["completeness"] == (len(row.candidate.split()) < 5),
            errors["grammar"] == (row.candidate > "l"),
        ]
    results = run(tmp_path, RatedPairs(rows), binary=Binary()).to_dict()
    accuracy = {row["criterion"]: row["accuracy"] for row in results["count_agreement"]}
    assert [accuracy["completeness"], accuracy["grammar"]] == pytest.approx((right / 20).tolist())


@pytest.mark.parametrize(
    ("num_cases", "note"),
    [
        (4, "4 cases cannot show a difference (the smallest possible p is 0.125)"),
        (
            6,
            "6 cases cannot show a difference (the smallest possible p is 0.0938 with Holm's correction for 3 "
            "comparisons)",
        ),
        (10, None),
    ],
)
def test_benchmark_of_few_cases_states_that_no_difference_can_be_shown(
    tmp_path: Path, num_cases: int, note: str | None
) -> None:
    rows = list(make_pairs().rows)[: 2 * num_cases]
    results = run(tmp_path, RatedPairs(rows), overlap=Overlap(), counting=Counting()).to_dict()
    assert results["targets"][0]["power_note"] == note
    assert [entry for entry in result_notes(results) if "cannot show" in entry][:1] == (
        [f"Errors: {note}."] if note else []
    )


def test_benchmark_counts_scorers_not_outputs_and_does_not_average_rewards(tmp_path: Path) -> None:
    results = run(tmp_path, make_pairs(), counting=WithQuality(), overlap=Overlap()).to_dict()
    assert results["title"] == "Agreement of 2 metrics with raters on 20 pairs"
    assert {row["scorer"] for row in results["system_means"]} == {"counting:quality", "counting:errors", "overlap"}
    assert {row["scorer"] for row in results["system_differences"]} >= {"counting"}


def test_footnote_explains_the_columns_that_are_shown(tmp_path: Path) -> None:
    tables = list(all_tables(run(tmp_path, make_pairs(), overlap=Overlap(), counting=Counting()).to_dict()))
    assert "Wilcoxon" in footnote(tables)
    assert "AUC: " in footnote(tables)
    shown = footnote(tables[:1])
    assert [name in shown for name in ("95 %: ", "AUC", "Wilcoxon", "Holm", "p: ")] == [True, *[False] * 4]


def test_benchmark_error_detection_is_in_tables_and_notes(tmp_path: Path) -> None:
    pairs = make_pairs()
    results = run(tmp_path, pairs, overlap=Overlap(), counting=Counting()).to_dict()
    scores = [len(set(row.candidate.split())) / 7 for row in pairs.rows]
    rows = {(row["scorer"], row["target"]): row for row in results["error_detection"]}
    assert {target for _, target in rows} == {"errors", "errors_significant", "criterion:omission"}
    for (scorer, target), row in rows.items():
        [values] = [entry.values for entry in pairs.targets if entry.name == target]
        has_error = values >= 0.5
        assert (row["n"], row["n_with_error"]) == (20, has_error.sum())
        assert row["auc"]["value"] == pytest.approx(roc_auc_score(~has_error, scores))
        is_own = (scorer, target) == ("counting", "criterion:omission")
        assert row["score_source"] == ("criterion" if is_own else "total")
    table = next(table for table in all_tables(results) if table.title.startswith("AUC"))
    assert table.frame.shape == (3, 4)
    for row in results["error_detection"]:
        row |= {"auc": {"value": None, "low": None, "high": None}, "note": "no candidate has an error"}
    assert "Omission: AUC is undefined, because no candidate has an error." in list(result_notes(results))
    assert not any(table.title.startswith("AUC") for table in all_tables(results))


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
    result = run_benchmark(make_pairs(100), {"missing": missing, **factories, "good": Overlap}, tmp_path, settings)
    assert not result.succeeded
    results = result.to_dict()
    rows = {row["name"]: row for row in results["scorers"]}
    assert rows["missing"]["failure"] == "InputError: no such weights"
    assert (rows["raising"]["status"], rows["raising"]["failure"]) == ("failed", "RuntimeError: out of memory")
    assert rows["raising"]["num_scored"] == 128
    assert rows["raising"]["unscored_reasons"] == {"not scored, because the scorer failed": 72}
    assert rows["short"]["failure"] == "Expected 128 totals, one for each pair, but got 127."
    assert rows["infinite"]["unscored_reasons"] == {
        "Expected a finite score but got inf": 2,
        "Expected a finite score but got nan": 2,
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
    assert lines[0]["status"]["infinite"] == "Expected a finite score but got inf"
    assert lines[199]["status"]["raising"] == "the scorer failed"


def test_benchmark_quality_is_a_row_of_its_own_from_the_same_run(tmp_path: Path) -> None:
    pairs, scorer = make_pairs(), WithQuality()
    preferences = [preference("p", "lamp kettle", "lamp", "a", None)]
    factories: dict[str, Callable[[], Scorer]] = {"counting": lambda: scorer, "share": Overlap}
    result = run_benchmark(pairs, factories, tmp_path, BenchmarkSettings(50, 0, 99), (), preferences)
    results = result.to_dict()
    assert [(entry["name"], entry["title"], entry["range"]) for entry in results["scorers"]] == [
        ("counting", "counting", [None, None]),
        ("counting:quality", "counting (quality)", [0.0, 1.0]),
        ("counting:errors", "counting (errors)", [0.0, None]),
        ("share", "share", [None, None]),
    ]
    assert scorer.scored == len({(row.reference, row.candidate) for row in pairs.rows}) + 2
    quality, share = (
        [row["tau_b"]["value"] for row in results["agreement"] if row["scorer"] == name]
        for name in ("counting:quality", "share")
    )
    assert quality == pytest.approx(share)
    outputs = {"counting", "counting:quality", "counting:errors"}
    assert {row["scorer"] for row in results["preferences"]} == {*outputs, "share"}
    assert {row["scorer"] for row in results["scorers"] if row["name"] in outputs} == {"counting"}
    row = next(result.rows())
    assert row["scores"]["counting:quality"] == row["scores"]["share"]
    assert row["scores"]["counting"] < 0
    assert set(row["evidence"]) == set(row["error_counts"]) == {"counting"}


def test_benchmark_states_the_agreement_of_errors_without_ties_and_rounded(tmp_path: Path) -> None:
    pairs = make_pairs()
    result = run(tmp_path, pairs, a=Fractional())
    target = next(target for target in pairs.targets if target.name == "errors")
    errors = np.array([row["scores"]["a:errors"] for row in result.rows()])
    row = only(result.to_dict()["agreement"], scorer="a:errors", target="errors", scope="pooled")
    assert row["tau_b"]["value"] == pytest.approx(kendalltau(errors, target.values).statistic)
    assert row["tau_b_rounded"] == pytest.approx(kendalltau(errors.round(), target.values).statistic)
    assert row["tau_b"]["value"] != row["tau_b_rounded"]
    assert all("tau_b_rounded" not in other for other in result.to_dict()["agreement"] if other["scorer"] == "a")
    frame = next(all_tables(result.to_dict())).frame
    assert frame["τ-b, rounded"].tolist().count("") == len(frame) - 1


def test_rows_hold_all_scores_in_the_order_of_the_pairs(tmp_path: Path) -> None:
    pairs = make_pairs(3)
    [first, *_] = rows = list(run(tmp_path, pairs, a=Overlap(), b=Counting()).rows())
    assert [row["id"] for row in rows] == [row.id for row in pairs.rows]
    words = len(pairs.rows[0].candidate.split())
    assert first["scores"] == {
        "a": pytest.approx(words / 7),
        "b": pytest.approx(words - 7),
        "b:errors": pytest.approx(7 - words),
    }
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
        result = run_benchmark(pairs, {"a": Overlap}, tmp_path, BenchmarkSettings(50), preferences=preferences)
        results = result.to_dict()
        assert only(results["preferences"], scorer="a", confidence="all")["accuracy"] == 0.8
        assert only(results["preferences"], scorer="a", confidence=[1, 4])["accuracy"] == 0
        assert any(table.title.startswith("Preferences of raters") for table in all_tables(results))
        write_benchmark(result, tmp_path)


def test_benchmark_preferences_without_pairs_have_a_row_for_the_quality(tmp_path: Path) -> None:
    preferences = [preference("x", "lamp stair", "lamp", "a", None)]
    result = run_benchmark(RatedPairs([]), {"a": WithQuality}, tmp_path, BenchmarkSettings(20), preferences=preferences)
    assert [row["scorer"] for row in result.to_dict()["preferences"]] == ["a", "a:quality", "a:errors"]
    write_benchmark(result, tmp_path)


def test_benchmark_scorer_failing_on_preferences_is_reported(tmp_path: Path) -> None:
    preferences = [preference("x", "stair", " ", "a", None), preference("y", "stair", "lamp", "b", None)]
    settings = BenchmarkSettings(20, 0, 99)
    result = run_benchmark(make_pairs(3), {"a": Overlap}, tmp_path, settings, preferences=preferences)
    notes = list(result_notes(result.to_dict()))
    assert "a: 1 preferences left out, because a candidate has no score." in notes
    failed = run_benchmark(make_pairs(3), {"a": Raising}, tmp_path, settings, preferences=preferences).to_dict()
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
