"""A bench as tables: which scorers agree with people, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from radreward.io.text_tables import plain
from radreward.meta_evaluation.rated_pairs import TOTALS

HEADS = {"tau_b": "τ-b", "spearman": "ρ", "pearson": "r"}
LEGEND = (
    "τ-b, ρ and r: Kendall's, Spearman's and Pearson's correlation with what people say, turned so that more is more "
    "agreement; p: of no correlation, as if pairs were independent; 95 %: bootstrap over cases, which pairs of one "
    "case are not. Holm: of p (randomisation); where no exchange of scores reaches the difference, of the tail of a "
    "normal distribution as wide as the exchanges' (`p_tail`), which is an approximation."
)
Results = Mapping[str, Any]


class TextTable(NamedTuple):
    """A table as text."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def tables(results: Results) -> Iterator[TextTable]:
    """All tables of a bench, those that matter most first.

    Args:
        results: As in `results.json`.
    """
    for target in results["targets"]:
        if target["name"] in TOTALS:
            yield main_table(results, target)
    yield from _by_criterion(results)
    yield from _within(results)
    yield from _preferences(results)
    yield from _counts(results)
    yield from _systems(results)
    yield from _pairs(results)


def shown(results: Results) -> Iterator[TextTable]:
    """The tables that are shown where the bench was run: few, and none of many rows."""
    of_first = [target for target in results["targets"] if target["name"] in TOTALS][:1]
    yield from (main_table(results, target) for target in of_first)
    if not of_first and results["data"]["pairs"]:
        yield TextTable("Scorers", ["", "pairs"], [[one["name"], str(one["scored"])] for one in results["scorers"]])
    yield from _by_criterion(results)
    yield from _preferences(results)


def main_table(results: Results, target: Mapping[str, Any]) -> TextTable:
    """Scorers by their agreement with a target: the best first, people among them, those that failed last."""
    rows = []
    for row in results["agreement"]:
        if (row["target"], row["scope"]) == (target["name"], "pooled"):
            tau = row["tau_b"]
            values = [plain(row[name]["value"]) for name in HEADS]
            told = [_title(results, row["scorer"]), str(row["n"]), values[0], _ends(tau), _p(tau["p"]), *values[1:]]
            rows.append((tau["value"], told))
    people = [
        row["tau_b"]
        for row in results["inter_rater"]
        if row["target"] == target["name"] and row["kind"] == "against_others" and row["tau_b"] is not None
    ]
    if people:
        mean = sum(people) / len(people)
        ends = f"{plain(min(people))} to {plain(max(people))} (range)"
        told = [f"people: {len(people)} raters, each against the others", "", plain(mean), ends, "", "", ""]
        rows.append((mean, told))
    rows.sort(key=lambda row: -2 if row[0] is None else row[0], reverse=True)
    failed = [[one["title"], "failed", *["–"] * 5] for one in results["scorers"] if one["status"] == "failed"]
    heads = ["", "pairs", "τ-b", "95 %", "p", "ρ", "r"]
    return TextTable(f"Agreement with people: {target['title']}", heads, [row for _, row in rows] + failed)


def notes(results: Results) -> Iterator[str]:
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


def _by_criterion(results: Results) -> Iterator[TextTable]:
    targets = [target for target in results["targets"] if target["name"] not in TOTALS]
    if targets:
        cells = {
            (row["scorer"], row["target"]): plain(row["tau_b"]["value"]) + ("*" if row["of"] == "criterion" else "")
            for row in results["agreement"]
            if row["scope"] == "pooled"
        }
        rows = [[one["title"], *(cells[one["name"], target["name"]] for target in targets)] for one in _good(results)]
        title = "τ-b by criterion (* of what the metric says of the criterion, else of its total)"
        yield TextTable(title, ["", *(target["title"] for target in targets)], rows)


def _within(results: Results) -> Iterator[TextTable]:
    scopes = list(dict.fromkeys(row["scope"] for row in results["agreement"] if row["scope"] != "pooled"))
    for target in results["targets"]:
        if scopes and target["name"] in TOTALS:
            cells = {
                (row["scorer"], row["scope"]): plain(row["tau_b"]["value"])
                for row in results["agreement"]
                if row["target"] == target["name"]
            }
            rows = [[one["title"], *(cells[one["name"], scope] for scope in scopes)] for one in _good(results)]
            heads = ["", "within systems", *(scope.removeprefix("system:") for scope in scopes[1:])]
            yield TextTable(f"τ-b among candidates of one system: {target['title']}", heads, rows)


def _preferences(results: Results) -> Iterator[TextTable]:
    rows = []
    for row in results["preferences"]:
        sure = row["confidence"]
        told = "all" if sure == "all" else f"{sure[0]} to {sure[1]}"
        ends = "–" if row["low"] is None else f"{plain(row['low'])} to {plain(row['high'])}"
        rows.append([_title(results, row["scorer"]), told, str(row["n"]), plain(row["accuracy"]), ends])
    if rows:
        yield TextTable("What people prefer", ["", "confidence", "n", "accuracy", "95 %"], rows)


def _counts(results: Results) -> Iterator[TextTable]:
    rows = [
        [
            _title(results, row["scorer"]),
            row["criterion"],
            str(row["n"]),
            f"{plain(row['mae'])} ± {plain(row['sd'])}",
            plain(row["accuracy"]),
            _p(row["p_wilcoxon"]),
        ]
        for row in results["counts"]
    ]
    if rows:
        yield TextTable("Counts of errors", ["", "criterion", "n", "MAE", "accuracy", "p (Wilcoxon)"], rows)


def _systems(results: Results) -> Iterator[TextTable]:
    if results["systems"]:
        rows = [
            [_title(results, row["scorer"]), row["system"], str(row["n"]), plain(row["mean"]), _ends(row)]
            for row in results["systems"]
        ]
        yield TextTable("Systems by their mean score", ["", "system", "n", "mean", "95 %"], rows)
    if results["system_ranks"]:
        rows = [
            [_title(results, row["scorer"]), row["target"], str(row["n"]), plain(row["tau_b"])]
            for row in results["system_ranks"]
        ]
        yield TextTable("Order of systems, by scorers and by people", ["", "target", "systems", "τ-b"], rows)
    if results["system_pairs"]:
        rows = [
            [
                _title(results, row["scorer"]),
                f"{row['one']} − {row['other']}",
                str(row["cases"]),
                plain(row["difference"]),
                _ends(row),
                _p(row["p"]),
                _p(row["p_holm"]),
            ]
            for row in results["system_pairs"]
        ]
        heads = ["", "systems", "cases", "difference", "95 %", "p", "Holm"]
        yield TextTable("Systems against each other, on the same cases", heads, rows)


def _pairs(results: Results) -> Iterator[TextTable]:
    for target in results["targets"]:
        rows = [
            [
                f"{_title(results, row['one'])} − {_title(results, row['other'])}",
                str(row["n"]),
                plain(row["difference"]),
                _ends(row),
                _p(row["p_bootstrap"]),
                _p(row["p_randomised"]),
                _p(row["p_holm"]),
            ]
            for row in results["paired"]
            if row["target"] == target["name"]
        ]
        if rows:
            heads = ["", "pairs", "Δ τ-b", "95 %", "p (bootstrap)", "p (randomisation)", "Holm"]
            yield TextTable(f"Scorers against each other: {target['title']}", heads, rows)


def _good(results: Results) -> Sequence[Mapping[str, Any]]:
    return [one for one in results["scorers"] if one["status"] == "ok"]


def _title(results: Results, name: str) -> str:
    return next(str(one["title"]) for one in results["scorers"] if one["name"] == name)


def _ends(row: Mapping[str, Any]) -> str:
    return "–" if row["low"] is None else f"{plain(row['low'])} to {plain(row['high'])}"


def _p(value: float | None) -> str:
    """A probability; one that rounds to 0 is told as what it is below.

    >>> _p(0.25), _p(1e-9), _p(None)
    ('0.250', '< 0.001', '–')
    """
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
