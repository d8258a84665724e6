"""A bench as tables: which scorers agree with people, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from radreward.io.text_tables import format_number
from radreward.meta_evaluation.rated_pairs import TOTAL_TARGETS

COLUMN_TITLES = {"tau_b": "τ-b", "spearman": "ρ", "pearson": "r"}
FOOTNOTE = (
    "τ-b, ρ and r: Kendall's, Spearman's and Pearson's correlation with what people say, turned so that more is more "
    "agreement; p: of no correlation, as if pairs were independent; 95 %: bootstrap over cases, which pairs of one "
    "case are not. Holm: of p (randomisation); where no exchange of scores reaches the difference, of the tail of a "
    "normal distribution as wide as the exchanges' (`p_tail`), which is an approximation."
)
Results = Mapping[str, Any]


class TextTable(NamedTuple):
    """A table as text."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def all_tables(results: Results) -> Iterator[TextTable]:
    """All tables of a bench, those that matter most first.

    Args:
        results: As in `results.json`.
    """
    for target in results["targets"]:
        if target["name"] in TOTAL_TARGETS:
            yield agreement_table(results, target)
    yield from _criterion_tables(results)
    yield from _within_system_tables(results)
    yield from _preference_tables(results)
    yield from _count_tables(results)
    yield from _system_tables(results)
    yield from _comparison_tables(results)


def terminal_tables(results: Results) -> Iterator[TextTable]:
    """The tables that are shown where the bench was run: few, and none of many rows."""
    of_first = [target for target in results["targets"] if target["name"] in TOTAL_TARGETS][:1]
    yield from (agreement_table(results, target) for target in of_first)
    if not of_first and results["data"]["pairs"]:
        yield TextTable("Scorers", ["", "pairs"], [[one["name"], str(one["scored"])] for one in results["scorers"]])
    yield from _criterion_tables(results)
    yield from _preference_tables(results)


def agreement_table(results: Results, target: Mapping[str, Any]) -> TextTable:
    """Scorers by their agreement with a target: the best first, people among them, those that failed last."""
    rows = []
    for row in results["agreement"]:
        if (row["target"], row["scope"]) == (target["name"], "pooled"):
            tau = row["tau_b"]
            values = [format_number(row[name]["value"]) for name in COLUMN_TITLES]
            told = [
                _scorer_title(results, row["scorer"]),
                str(row["n"]),
                values[0],
                _format_interval(tau),
                _format_p(tau["p"]),
                *values[1:],
            ]
            rows.append((tau["value"], told))
    people = [
        row["tau_b"]
        for row in results["inter_rater"]
        if row["target"] == target["name"] and row["kind"] == "against_others" and row["tau_b"] is not None
    ]
    if people:
        mean = sum(people) / len(people)
        ends = f"{format_number(min(people))} to {format_number(max(people))} (range)"
        told = [f"people: {len(people)} raters, each against the others", "", format_number(mean), ends, "", "", ""]
        rows.append((mean, told))
    rows.sort(key=lambda row: -2 if row[0] is None else row[0], reverse=True)
    failed = [[one["title"], "failed", *["–"] * 5] for one in results["scorers"] if one["status"] == "failed"]
    heads = ["", "pairs", "τ-b", "95 %", "p", "ρ", "r"]
    return TextTable(f"Agreement with people: {target['title']}", heads, [row for _, row in rows] + failed)


def result_notes(results: Results) -> Iterator[str]:
    """What is odd about data, targets and scorers, a line each."""
    yield from (f"Pairs: {note}." for note in results["data"]["notes"])
    yield from (f"{target['title']}: {note}." for target in results["targets"] for note in target["notes"])
    for one in results["scorers"]:
        if one["status"] == "failed":
            yield f"{one['name']} failed: {one['reason']}"
        yield from (f"{one['name']}: {count} pairs without a score: {why}." for why, count in one["unscored"].items())
    for row in results["preferences"]:
        if row["confidence"] == "all":
            for name, why in (("unscored", "a candidate has no score"), ("neither", "people prefer neither")):
                if row[name]:
                    yield f"{row['scorer']}: {row[name]} preferences left out, because {why}."
    constant = dict.fromkeys(
        f"{row['scorer']}: {row['note']}."
        for row in results["agreement"]
        if row["scope"] == "pooled" and row["note"] and row["note"].startswith("all scores")
    )
    yield from constant


def _criterion_tables(results: Results) -> Iterator[TextTable]:
    targets = [target for target in results["targets"] if target["name"] not in TOTAL_TARGETS]
    if targets:
        cells = {
            (row["scorer"], row["target"]): format_number(row["tau_b"]["value"])
            + ("*" if row["of"] == "criterion" else "")
            for row in results["agreement"]
            if row["scope"] == "pooled"
        }
        rows = [
            [one["title"], *(cells[one["name"], target["name"]] for target in targets)] for one in _succeeded(results)
        ]
        title = "τ-b by criterion (* of what the metric says of the criterion, else of its total)"
        yield TextTable(title, ["", *(target["title"] for target in targets)], rows)


def _within_system_tables(results: Results) -> Iterator[TextTable]:
    scopes = list(dict.fromkeys(row["scope"] for row in results["agreement"] if row["scope"] != "pooled"))
    for target in results["targets"]:
        if scopes and target["name"] in TOTAL_TARGETS:
            cells = {
                (row["scorer"], row["scope"]): format_number(row["tau_b"]["value"])
                for row in results["agreement"]
                if row["target"] == target["name"]
            }
            rows = [[one["title"], *(cells[one["name"], scope] for scope in scopes)] for one in _succeeded(results)]
            heads = ["", "within systems", *(scope.removeprefix("system:") for scope in scopes[1:])]
            yield TextTable(f"τ-b among candidates of one system: {target['title']}", heads, rows)


def _preference_tables(results: Results) -> Iterator[TextTable]:
    rows = []
    for row in results["preferences"]:
        sure = row["confidence"]
        told = "all" if sure == "all" else f"{sure[0]} to {sure[1]}"
        ends = "–" if row["low"] is None else f"{format_number(row['low'])} to {format_number(row['high'])}"
        rows.append([_scorer_title(results, row["scorer"]), told, str(row["n"]), format_number(row["accuracy"]), ends])
    if rows:
        yield TextTable("What people prefer", ["", "confidence", "n", "accuracy", "95 %"], rows)


def _count_tables(results: Results) -> Iterator[TextTable]:
    rows = [
        [
            _scorer_title(results, row["scorer"]),
            row["criterion"],
            str(row["n"]),
            f"{format_number(row['mae'])} ± {format_number(row['sd'])}",
            format_number(row["accuracy"]),
            _format_p(row["p_wilcoxon"]),
        ]
        for row in results["counts"]
    ]
    if rows:
        yield TextTable("Counts of errors", ["", "criterion", "n", "MAE", "accuracy", "p (Wilcoxon)"], rows)


def _system_tables(results: Results) -> Iterator[TextTable]:
    if results["systems"]:
        rows = [
            [
                _scorer_title(results, row["scorer"]),
                row["system"],
                str(row["n"]),
                format_number(row["mean"]),
                _format_interval(row),
            ]
            for row in results["systems"]
        ]
        yield TextTable("Systems by their mean score", ["", "system", "n", "mean", "95 %"], rows)
    if results["system_ranks"]:
        rows = [
            [_scorer_title(results, row["scorer"]), row["target"], str(row["n"]), format_number(row["tau_b"])]
            for row in results["system_ranks"]
        ]
        yield TextTable("Order of systems, by scorers and by people", ["", "target", "systems", "τ-b"], rows)
    if results["system_pairs"]:
        rows = [
            [
                _scorer_title(results, row["scorer"]),
                f"{row['one']} − {row['other']}",
                str(row["cases"]),
                format_number(row["difference"]),
                _format_interval(row),
                _format_p(row["p"]),
                _format_p(row["p_holm"]),
            ]
            for row in results["system_pairs"]
        ]
        heads = ["", "systems", "cases", "difference", "95 %", "p", "Holm"]
        yield TextTable("Systems against each other, on the same cases", heads, rows)


def _comparison_tables(results: Results) -> Iterator[TextTable]:
    for target in results["targets"]:
        rows = [
            [
                f"{_scorer_title(results, row['one'])} − {_scorer_title(results, row['other'])}",
                str(row["n"]),
                format_number(row["difference"]),
                _format_interval(row),
                _format_p(row["p_bootstrap"]),
                _format_p(row["p_randomised"]),
                _format_p(row["p_holm"]),
            ]
            for row in results["paired"]
            if row["target"] == target["name"]
        ]
        if rows:
            heads = ["", "pairs", "Δ τ-b", "95 %", "p (bootstrap)", "p (randomisation)", "Holm"]
            yield TextTable(f"Scorers against each other: {target['title']}", heads, rows)


def _succeeded(results: Results) -> Sequence[Mapping[str, Any]]:
    return [one for one in results["scorers"] if one["status"] == "ok"]


def _scorer_title(results: Results, name: str) -> str:
    return next(str(one["title"]) for one in results["scorers"] if one["name"] == name)


def _format_interval(row: Mapping[str, Any]) -> str:
    return "–" if row["low"] is None else f"{format_number(row['low'])} to {format_number(row['high'])}"


def _format_p(value: float | None) -> str:
    """A probability; one that rounds to 0 is told as what it is below.

    >>> _p(0.25), _p(1e-9), _p(None)
    ('0.250', '< 0.001', '–')
    """
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
