"""A bench as tables: which scorers agree with people, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from radreward.evaluation.bench import Bench
from radreward.evaluation.layout import plain, terminal_table

HEADS = {"tau_b": "τ-b", "spearman": "ρ", "pearson": "r"}


def agreement_table(bench: Bench) -> Table:
    """Scorers by their agreement with the first target."""
    title, heads, rows = agreement_rows(bench)
    return terminal_table(title, heads, rows)


def agreement_rows(bench: Bench) -> tuple[str, list[str], list[list[str]]]:
    """Title, heads and rows: the best first, those that failed last."""
    heads = ["", "pairs", "τ-b", "95 %", "p", "ρ", "r"]
    targets = bench.pairs.targets
    if not targets:
        return "Nobody rated these pairs", heads, []
    main = targets[0]
    of_main = [row for row in bench.agreement if row["target"] == main.name and row["scope"] == "pooled"]
    of_main.sort(key=lambda row: -2 if row["tau_b"]["value"] is None else row["tau_b"]["value"], reverse=True)
    rows = [_row(row) for row in of_main]
    rows += [[one.name, *["failed"], *["–"] * 5] for one in bench.scored if one.reason]
    return f"Agreement with people: {main.title}", heads, rows


def notes(bench: Bench) -> Iterator[str]:
    """What is odd about data, targets and scorers, a line each."""
    yield from (f"Pairs: {note}." for note in bench.pairs.notes)
    yield from (f"{target.title}: {note}." for target in bench.pairs.targets for note in target.notes)
    for one in bench.scored:
        if one.reason:
            yield f"{one.name} failed: {one.reason}"
        else:
            yield from (f"{one.name}: {count} pairs without a score: {why}." for why, count in one.unscored.items())
    for row in bench.agreement:
        if row["scope"] == "pooled" and row["note"]:
            yield f"{row['scorer']}, {row['target']}: {row['note']}."


def _row(row: dict[str, Any]) -> list[str]:
    tau = row["tau_b"]
    ends = "–" if tau["low"] is None else f"{plain(tau['low'])} to {plain(tau['high'])}"
    p = "–" if tau["p"] is None else f"{tau['p']:.4f}"
    return [
        row["scorer"],
        str(row["n"]),
        plain(tau["value"]),
        ends,
        p,
        plain(row["spearman"]["value"]),
        plain(row["pearson"]["value"]),
    ]
