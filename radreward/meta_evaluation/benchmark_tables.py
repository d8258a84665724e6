"""Benchmark results as tables, notes and a footnote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from radreward.io.text_tables import format_number, format_p_value, text_frame, with_fewer_columns
from radreward.meta_evaluation.rated_pairs import TOTAL_TARGETS
from radreward.meta_evaluation.statistics.inter_rater import AGAINST_MEAN, PAIRWISE

_COLUMN_NOTES = {
    "τ-b": "τ-b, ρ and r: Kendall's, Spearman's and Pearson's correlation with the raters. Positive values mean "
    "agreement, also for metrics whose lower values are better.",
    "95 %": "95 %: interval of the bootstrap over cases.",
    "τ-b, rounded": "τ-b, rounded: of the number of errors rounded to a whole number; it ties where raters tie, so it "
    "cannot be compared with the τ-b of a score without ties.",
    "AUC": "AUC: probability that a pair without the error scores higher than a pair with it; it does not depend on "
    "how frequent the error is, and 0.5 is chance.",
    "p (permutation)": "p (permutation): paired test that swaps the scores of two metrics, case by case, at most "
    "10,000 times.",
    "p": "p: paired test that changes the signs of differences, case by case.",
    "Holm": "Holm: p corrected for the number of comparisons in the table.",
    "W": "W and p (Wilcoxon): signed-rank test of the counts.",
}
"""Column, or first word of the title of a table → its explanation."""
_WILCOXON = {"W": "{w_wilcoxon}", "p (Wilcoxon)": "{p_wilcoxon}"}
Results = Mapping[str, Any]
Row = Mapping[str, Any]


class TextTable(NamedTuple):
    """A table of formatted cells."""

    title: str
    frame: pd.DataFrame


def footnote(tables: Iterable[TextTable]) -> str:
    """Return the explanations of the columns of some tables."""
    shown = {name for table in tables for name in (*table.frame.columns, table.title.split(" ", 1)[0])}
    return " ".join(note for name, note in _COLUMN_NOTES.items() if name in shown)


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
    yield from _rater_tables(results)
    yield from _system_tables(results)
    yield from _comparison_tables(results)


def terminal_tables(results: Results) -> Iterator[TextTable]:
    """Yield the short tables that are printed after a benchmark."""
    targets = _total_targets(results)
    yield from (agreement_table(results, target) for target in targets[:1])
    if not targets and results["data"]["pairs"]:
        rows = [(scorer["name"], scorer["num_scored"]) for scorer in results["scorers"]]
        yield TextTable("Scorers", text_frame(["", "pairs"], rows))
    for table in (*_criterion_tables(results), *_detection_tables(results)):
        yield table._replace(frame=with_fewer_columns(table.frame))
    yield from _preference_tables(results)


def agreement_table(results: Results, target: Row) -> TextTable:
    """Return the table of agreement with a target.

    Scorers and the mean rater are sorted by descending agreement. Scorers that failed come last.
    """
    titles = {scorer["name"]: scorer["title"] for scorer in results["scorers"]}
    pooled = [row for row in results["agreement"] if (row["target"], row["scope"]) == (target["name"], "pooled")]
    has_rounded = any("tau_b_rounded" in row for row in pooled)
    rows: list[tuple[float | None, list[Any]]] = []  # τ-b and cells
    for row in pooled:
        tau, rho, r = row["tau_b"], row["spearman"], row["pearson"]
        cells = [titles[row["scorer"]], row["n"], format_number(tau["value"]), _interval(tau)]
        cells += [format_number(rho["value"]), format_number(r["value"])]
        if has_rounded:
            cells.append(format_number(row["tau_b_rounded"]) if "tau_b_rounded" in row else "")
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
        rows.append((mean, [label, "", format_number(mean), interval, "", "", *[""] * has_rounded]))
    rows.sort(key=lambda row: -2 if row[0] is None else row[0], reverse=True)
    columns = ["", "pairs", "τ-b", "95 %", "ρ", "r", *["τ-b, rounded"] * has_rounded]
    blanks = ["–"] * (len(columns) - 2)
    failed = [[scorer["title"], "failed", *blanks] for scorer in results["scorers"] if scorer["status"] == "failed"]
    frame = text_frame(columns, [cells for _, cells in rows] + failed)
    return TextTable(f"Agreement with raters: {target['title']}", frame)


def result_notes(results: Results) -> Iterator[str]:
    """Yield one-line warnings about the data, targets and scorers."""
    yield from (f"Pairs: {note}." for note in results["data"]["notes"])
    yield from (f"{target['title']}: {note}." for target in results["targets"] for note in target["notes"])
    for target in results["targets"]:
        if target["power_note"]:
            yield f"{target['title']}: {target['power_note']}."
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
    targets = {row["name"]: row["title"] for row in results["targets"] if row["name"] not in TOTAL_TARGETS}
    cells = {
        (row["scorer"], row["target"]): format_number(row["tau_b"]["value"]) + _star(row)
        for row in results["agreement"]
        if row["scope"] == "pooled"
    }
    title = "τ-b by criterion (*: of the metric's score for the criterion; otherwise of its total)"
    yield from _scorer_table(results, title, targets, cells)


def _detection_tables(results: Results) -> Iterator[TextTable]:
    cells = {
        (row["scorer"], row["target"]): f"{format_number(row['auc']['value'])} ({_interval(row['auc'])}){_star(row)}"
        for row in results["error_detection"]
        if row["auc"]["value"] is not None
    }
    defined = {target for _, target in cells}
    targets = {row["name"]: row["title"] for row in results["targets"] if row["name"] in defined}
    title = "AUC of pairs with and without an error, with its interval (*: of the metric's score for the criterion)"
    yield from _scorer_table(results, title, targets, cells)


def _within_system_tables(results: Results) -> Iterator[TextTable]:
    scopes = dict.fromkeys(row["scope"] for row in results["agreement"] if row["scope"] != "pooled")
    headers = {scope: "within systems" if scope == "within" else scope.removeprefix("system:") for scope in scopes}
    for target in _total_targets(results):
        cells = {
            (row["scorer"], row["scope"]): format_number(row["tau_b"]["value"])
            for row in results["agreement"]
            if row["target"] == target["name"]
        }
        yield from _scorer_table(results, f"τ-b among candidates of one system: {target['title']}", headers, cells)


def _preference_tables(results: Results) -> Iterator[TextTable]:
    columns = {"": "{scorer}", "confidence": "{confidence}", "n": "{n}", "accuracy": "{accuracy}", "95 %": "{interval}"}
    columns["cases"] = "{cases_passed} of {cases}"
    title = "Preferences of raters (cases: those in which every preference holds)"
    yield from _row_table(results, title, columns, results["preferences"])


def _count_tables(results: Results) -> Iterator[TextTable]:
    columns = {"": "{scorer}", "criterion": "{criterion}", "n": "{n}", "MAE": "{mae} ± {std}", "accuracy": "{accuracy}"}
    columns |= _WILCOXON
    yield from _row_table(results, "Error counts, compared with the mean rater", columns, results["count_agreement"])
    columns = {"": "{scorer}", "rater": "{rater}", "errors": "{criterion}", "n": "{n}", "MAE": "{mae} ± {std}"}
    columns |= _WILCOXON
    yield from _row_table(results, "Error counts, compared with each rater", columns, results["rater_count_agreement"])


def _rater_tables(results: Results) -> Iterator[TextTable]:
    rows = results["inter_rater"]
    columns = {"": "{rater_a}", "value": "{title}", "n": "{n}", "MAE": "{mae} ± {std}", "τ-b": "{tau_b}"}
    columns |= _WILCOXON
    means = [row for row in rows if row["kind"] == AGAINST_MEAN]
    yield from _row_table(results, "Each rater, compared with the mean of the others", columns, means)
    columns = {"": "{rater_a} – {rater_b}", "value": "{title}", "n": "{n}", "MAE": "{mae} ± {std}"}
    columns |= {"τ-b": "{tau_b}", "κ": "{kappa}"}
    yield from _row_table(results, "Every two raters", columns, [row for row in rows if row["kind"] == PAIRWISE])


def _system_tables(results: Results) -> Iterator[TextTable]:
    columns = {"": "{scorer}", "system": "{system}", "n": "{n}", "mean": "{mean}", "95 %": "{interval}"}
    yield from _row_table(results, "Systems by mean score", columns, results["system_means"])
    columns = {"": "{scorer}", "target": "{target}", "systems": "{n}", "τ-b": "{tau_b}"}
    title = "Order of systems by scorers and by raters"
    yield from _row_table(results, title, columns, results["system_rank_agreement"])
    columns = {"": "{scorer}", "systems": "{system_a} − {system_b}", "cases": "{n_clusters}"}
    columns |= {"difference": "{difference}", "95 %": "{interval}", "p": "{p}", "Holm": "{p_holm}"}
    title = "Differences between systems on the same cases"
    yield from _row_table(results, title, columns, results["system_differences"])


def _comparison_tables(results: Results) -> Iterator[TextTable]:
    columns = {"": "{scorer_a} − {scorer_b}", "pairs": "{n}", "Δ τ-b": "{difference}", "95 %": "{interval}"}
    columns |= {"p (permutation)": "{p_permutation}", "Holm": "{p_holm}"}
    for target in results["targets"]:
        rows = [row for row in results["scorer_comparisons"] if row["target"] == target["name"]]
        yield from _row_table(results, f"Differences between scorers: {target['title']}", columns, rows)


def _scorer_table(
    results: Results, title: str, columns: Mapping[str, str], cells: Mapping[tuple[str, str], str]
) -> Iterator[TextTable]:
    """Yield a table with one row per scorer, or nothing if there is no column.

    Args:
        results: As in `results.json`.
        title: Title of the table.
        columns: Key of each column → its header.
        cells: (name of the scorer, key of the column) → cell.
    """
    if columns:
        rows = [
            [scorer["title"], *(cells.get((scorer["name"], key), "–") for key in columns)]
            for scorer in results["scorers"]
            if scorer["status"] == "ok"
        ]
        yield TextTable(title, text_frame(["", *columns.values()], rows))


def _row_table(results: Results, title: str, columns: Mapping[str, str], rows: Iterable[Row]) -> Iterator[TextTable]:
    """Yield a table with one line per row, nothing if there is none; `columns` map each header to a format string."""
    if lines := [[cell.format(**texts) for cell in columns.values()] for texts in _formatted_rows(results, rows)]:
        yield TextTable(title, text_frame(list(columns), lines))


def _formatted_rows(results: Results, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield each row as text: titles of scorers, formatted numbers and p-values, and the additional key `interval`."""
    titles = {scorer["name"]: scorer["title"] for scorer in results["scorers"]}
    for row in rows:
        texts = dict(row)
        for name, value in row.items():
            if name.startswith("scorer"):
                texts[name] = titles.get(value, value)  # a direct comparison is no scorer
            elif name == "confidence" and value != "all":
                texts[name] = "{} to {}".format(*value)
            elif value is None or isinstance(value, float):
                digits = 1 if name == "w_wilcoxon" else 3  # W is a sum of ranks
                texts[name] = format_p_value(value) if name.startswith("p") else format_number(value, digits)
        yield texts | {"interval": _interval(row)}


def _total_targets(results: Results) -> list[Row]:
    return [target for target in results["targets"] if target["name"] in TOTAL_TARGETS]


def _interval(row: Row) -> str:
    return "–" if row.get("low") is None else f"{format_number(row['low'])} to {format_number(row['high'])}"


def _star(row: Row) -> str:
    return "*" if row["score_source"] == "criterion" else ""
