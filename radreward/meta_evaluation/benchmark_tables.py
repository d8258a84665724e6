"""Benchmark results as tables, notes and a footnote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from radreward.io.text_tables import format_number, format_p_value, text_frame
from radreward.meta_evaluation.rated_pairs import TOTAL_TARGETS

COLUMN_TITLES = {"tau_b": "τ-b", "spearman": "ρ", "pearson": "r"}
FOOTNOTE = (
    "τ-b, ρ and r: Kendall's, Spearman's and Pearson's correlation with the raters; positive values mean agreement, "
    "whatever the direction of the metric. p: null hypothesis of no correlation, with independent pairs. 95 %: "
    "bootstrap over cases. AUC: probability that a pair without an error scores higher than one with it, whatever the "
    "share of errors; 0.5 is chance. p (permutation): scores of cases swapped between two metrics, at most 10,000 "
    "times. Holm: p corrected for the number of comparisons in the table."
)
Results = Mapping[str, Any]


class TextTable(NamedTuple):
    """A table of formatted cells."""

    title: str
    frame: pd.DataFrame


def all_tables(results: Results) -> Iterator[TextTable]:
    """Yield all tables, the most important first.

    Args:
        results: As in `results.json`.
    """
    for target in _total_targets(results):
        yield agreement_table(results, target)
    yield from _criterion_tables(results)
    yield from _detection_tables(results)
    yield from _within_system_tables(results)
    yield from _preference_tables(results)
    yield from _count_tables(results)
    yield from _system_tables(results)
    yield from _comparison_tables(results)


def terminal_tables(results: Results) -> Iterator[TextTable]:
    """Yield the short tables that are printed after a benchmark."""
    targets = _total_targets(results)
    yield from (agreement_table(results, target) for target in targets[:1])
    if not targets and results["data"]["pairs"]:
        rows = [(scorer["name"], scorer["num_scored"]) for scorer in results["scorers"]]
        yield TextTable("Scorers", text_frame(["", "pairs"], rows))
    yield from _criterion_tables(results)
    yield from _detection_tables(results)
    yield from _preference_tables(results)


def agreement_table(results: Results, target: Mapping[str, Any]) -> TextTable:
    """Return scorers by descending agreement with a target, inter-rater agreement among them, failed scorers last."""
    rows: list[tuple[float | None, list[Any]]] = []  # τ-b and cells
    for row in results["agreement"]:
        if (row["target"], row["scope"]) == (target["name"], "pooled"):
            tau, rho, r = (row[name] for name in COLUMN_TITLES)
            cells = [
                *(_scorer_title(results, row["scorer"]), row["n"]),
                *(format_number(tau["value"]), _format_interval(tau), format_p_value(tau["p"])),
                *(format_number(rho["value"]), format_number(r["value"])),
            ]
            rows.append((tau["value"], cells))
    raters = [
        row["tau_b"]
        for row in results["inter_rater"]
        if row["target"] == target["name"] and row["kind"] == "against_mean" and row["tau_b"] is not None
    ]
    if raters:
        mean = sum(raters) / len(raters)
        interval = f"{format_number(min(raters))} to {format_number(max(raters))} (range)"
        label = f"raters: {len(raters)}, each against the mean of the others"
        rows.append((mean, [label, "", format_number(mean), interval, "", "", ""]))
    rows.sort(key=lambda row: -2 if row[0] is None else row[0], reverse=True)
    failed = [[scorer["title"], "failed", *["–"] * 5] for scorer in results["scorers"] if scorer["status"] == "failed"]
    columns = ["", "pairs", COLUMN_TITLES["tau_b"], "95 %", "p", COLUMN_TITLES["spearman"], COLUMN_TITLES["pearson"]]
    title = f"Agreement with raters: {target['title']}"
    return TextTable(title, text_frame(columns, [cells for _, cells in rows] + failed))


def result_notes(results: Results) -> Iterator[str]:
    """Yield one-line warnings about the data, targets and scorers."""
    yield from (f"Pairs: {note}." for note in results["data"]["notes"])
    yield from (f"{target['title']}: {note}." for target in results["targets"] for note in target["notes"])
    for scorer in results["scorers"]:
        if scorer["status"] == "failed":
            yield f"{scorer['name']} failed: {scorer['failure']}"
        for reason, count in scorer["unscored_reasons"].items():
            yield f"{scorer['name']}: {count} pairs without a score: {reason}."
    for row in results["preferences"]:
        if row["confidence"] == "all":
            for name, reason in (("unscored", "a candidate has no score"), ("neither", "raters prefer neither")):
                if row[name]:
                    yield f"{row['scorer']}: {row[name]} preferences left out, because {reason}."
    yield from dict.fromkeys(
        f"{row['scorer']}: {row['note']}."
        for row in results["agreement"]
        if row["scope"] == "pooled" and row["note"] and row["note"].startswith("all scores")
    )
    titles = {target["name"]: target["title"] for target in results["targets"]}
    yield from dict.fromkeys(
        f"{titles[row['target']]}: AUC is undefined, because {row['note']}."
        for row in results["error_detection"]
        if row["auc"]["value"] is None and not row["note"].startswith("all scores")
    )


def _criterion_tables(results: Results) -> Iterator[TextTable]:
    targets = [target for target in results["targets"] if target["name"] not in TOTAL_TARGETS]
    if targets:
        cells = {
            (row["scorer"], row["target"]): format_number(row["tau_b"]["value"])
            + ("*" if row["score_source"] == "criterion" else "")
            for row in results["agreement"]
            if row["scope"] == "pooled"
        }
        rows = [
            [scorer["title"], *(cells[scorer["name"], target["name"]] for target in targets)]
            for scorer in _succeeded(results)
        ]
        title = "τ-b by criterion (*: of the metric's score for the criterion; otherwise of its total)"
        yield TextTable(title, text_frame(["", *(target["title"] for target in targets)], rows))


def _detection_tables(results: Results) -> Iterator[TextTable]:
    defined = [row for row in results["error_detection"] if row["auc"]["value"] is not None]
    cells = {
        (row["scorer"], row["target"]): f"{format_number(row['auc']['value'])} ({_format_interval(row['auc'])})"
        + ("*" if row["score_source"] == "criterion" else "")
        for row in defined
    }
    targets = [target for target in results["targets"] if any(row["target"] == target["name"] for row in defined)]
    if targets:
        rows = [
            [scorer["title"], *(cells.get((scorer["name"], target["name"]), "–") for target in targets)]
            for scorer in _succeeded(results)
        ]
        title = "AUC of pairs with and without an error, with its interval (*: of the metric's score for the criterion)"
        yield TextTable(title, text_frame(["", *(target["title"] for target in targets)], rows))


def _within_system_tables(results: Results) -> Iterator[TextTable]:
    scopes = list(dict.fromkeys(row["scope"] for row in results["agreement"] if row["scope"] != "pooled"))
    for target in _total_targets(results) if scopes else ():
        cells = {
            (row["scorer"], row["scope"]): format_number(row["tau_b"]["value"])
            for row in results["agreement"]
            if row["target"] == target["name"]
        }
        rows = [
            [scorer["title"], *(cells[scorer["name"], scope] for scope in scopes)] for scorer in _succeeded(results)
        ]
        columns = ["", "within systems", *(scope.removeprefix("system:") for scope in scopes[1:])]
        yield TextTable(f"τ-b among candidates of one system: {target['title']}", text_frame(columns, rows))


def _preference_tables(results: Results) -> Iterator[TextTable]:
    rows = [
        [
            _scorer_title(results, row["scorer"]),
            "all" if row["confidence"] == "all" else "{} to {}".format(*row["confidence"]),
            row["n"],
            format_number(row["accuracy"]),
            _format_interval(row),
            f"{row['cases_passed']} of {row['cases']}",
        ]
        for row in results["preferences"]
    ]
    if rows:
        columns = ["", "confidence", "n", "accuracy", "95 %", "cases"]
        yield TextTable(
            "Preferences of raters (cases: those in which every preference holds)", text_frame(columns, rows)
        )


def _count_tables(results: Results) -> Iterator[TextTable]:
    rows = [
        [
            _scorer_title(results, row["scorer"]),
            row["criterion"],
            row["n"],
            f"{format_number(row['mae'])} ± {format_number(row['std'])}",
            format_number(row["accuracy"]),
            format_p_value(row["p_wilcoxon"]),
        ]
        for row in results["count_agreement"]
    ]
    if rows:
        yield TextTable("Error counts", text_frame(["", "criterion", "n", "MAE", "accuracy", "p (Wilcoxon)"], rows))


def _system_tables(results: Results) -> Iterator[TextTable]:
    if results["system_means"]:
        rows = [
            [
                *(_scorer_title(results, row["scorer"]), row["system"], row["n"]),
                *(format_number(row["mean"]), _format_interval(row)),
            ]
            for row in results["system_means"]
        ]
        yield TextTable("Systems by mean score", text_frame(["", "system", "n", "mean", "95 %"], rows))
    if results["system_rank_agreement"]:
        rows = [
            [_scorer_title(results, row["scorer"]), row["target"], row["n"], format_number(row["tau_b"])]
            for row in results["system_rank_agreement"]
        ]
        yield TextTable("Order of systems by scorers and by raters", text_frame(["", "target", "systems", "τ-b"], rows))
    if results["system_differences"]:
        rows = [
            [
                *(_scorer_title(results, row["scorer"]), f"{row['system_a']} − {row['system_b']}", row["n_clusters"]),
                *(format_number(row["difference"]), _format_interval(row)),
                *(format_p_value(row["p"]), format_p_value(row["p_holm"])),
            ]
            for row in results["system_differences"]
        ]
        columns = ["", "systems", "cases", "difference", "95 %", "p", "Holm"]
        yield TextTable("Differences between systems on the same cases", text_frame(columns, rows))


def _comparison_tables(results: Results) -> Iterator[TextTable]:
    columns = ["", "pairs", "Δ τ-b", "95 %", "p (permutation)", "Holm"]
    for target in results["targets"]:
        rows = [
            [
                f"{_scorer_title(results, row['scorer_a'])} − {_scorer_title(results, row['scorer_b'])}",
                *(row["n"], format_number(row["difference"]), _format_interval(row)),
                *(format_p_value(row["p_permutation"]), format_p_value(row["p_holm"])),
            ]
            for row in results["scorer_comparisons"]
            if row["target"] == target["name"]
        ]
        if rows:
            yield TextTable(f"Differences between scorers: {target['title']}", text_frame(columns, rows))


def _total_targets(results: Results) -> list[Mapping[str, Any]]:
    return [target for target in results["targets"] if target["name"] in TOTAL_TARGETS]


def _succeeded(results: Results) -> list[Mapping[str, Any]]:
    return [scorer for scorer in results["scorers"] if scorer["status"] == "ok"]


def _scorer_title(results: Results, name: str) -> str:
    return next(str(scorer["title"]) for scorer in results["scorers"] if scorer["name"] == name)


def _format_interval(row: Mapping[str, Any]) -> str:
    return "–" if row["low"] is None else f"{format_number(row['low'])} to {format_number(row['high'])}"
