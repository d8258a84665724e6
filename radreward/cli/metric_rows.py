"""Order of the rows and legend of the columns in tables of agreement that `fit` and `evaluate` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from radreward.modules import MetricTable

_LAST_ROWS = ("quality", "errors", "total")
_NOTES = {
    "tau_b": "τ-b, ρ: rank correlation with the known errors over all candidates.",
    "max_tau_b": "max: the highest τ-b of a score without ties; one that ties where known counts tie can exceed it.",
    "auc": "AUC: probability that a candidate without an error scores higher than one with an error.",
    "pair_accuracy": "pairs: share of correctly ordered pairs of candidates of one reference.",
    "count_tau_b": "counts: τ-b of rounded counts, which tie where known counts tie; compare it with 1, not with max.",
    "count_mae": "MAE: mean absolute error of the counts.",
    "accuracy": "accuracy: share of exact rounded counts.",
    "parsed": "parsed: share of readable counts.",
}
"""Metric → its explanation."""


def ordered_rows(table: MetricTable) -> MetricTable:
    """Return the rows of criteria first, then quality, errors and total.

    >>> list(ordered_rows({"total": {}, "errors": {}, "omission": {}}))
    ['omission', 'errors', 'total']
    """
    last = [name for name in _LAST_ROWS if name in table]
    return {name: table[name] for name in (*(name for name in table if name not in last), *last)}


def metric_legend(table: MetricTable) -> str:
    """Return the explanations of the columns of a table.

    >>> metric_legend({"total": {"count_mae": 0.1, "f1": 0.5}})
    'MAE: mean absolute error of the counts.'
    """
    return " ".join(note for name, note in _NOTES.items() if name in table["total"])
