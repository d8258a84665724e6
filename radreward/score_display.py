"""Scores as a data frame, as a line of text and as HTML for notebooks.

`scores` is a `radreward.types.Scores`, which has these functions as methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pprint import pformat
from typing import TYPE_CHECKING, Any

from radreward.extras import require_packages
from radreward.score_outputs import OUTPUTS

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_HTML_ROWS = 20


def scores_frame(scores: Any, index: Any = None) -> DataFrame:
    """Return a data frame of scores, see `Scores.to_pandas`."""
    require_packages("A data frame of scores", "pandas")
    import pandas as pd

    return pd.DataFrame(_columns(scores), index=index)


def _columns(scores: Any) -> dict[str, Sequence[Any]]:
    outputs = {name: getattr(scores, name) for name in OUTPUTS}
    columns: dict[str, Sequence[Any]] = {
        name: values.tolist() for name, values in outputs.items() if values is not None
    }
    for values, names, prefix in (
        (scores.sub_scores, scores.sub_names, ""),
        (scores.error_counts, scores.count_names, "count_"),
    ):
        if values is not None:
            names = names or map(str, range(values.shape[1]))
            columns |= {prefix + name: column.tolist() for name, column in zip(names, values.T, strict=True)}
    columns["status"] = scores.status
    if scores.evidence is not None:
        columns["evidence"] = scores.evidence
    return columns


def scores_summary(scores: Any) -> str:
    """Return a line with the number of pairs, the mean total, and the first pair without a score."""
    is_scored = scores.total.isfinite()
    parts = [f"{len(scores.total)} pairs"]
    if is_scored.any():
        parts.append(f"mean total {scores.total[is_scored].mean():.4g}")
    if missing := (~is_scored).nonzero().flatten().tolist():
        parts.append(f"{len(missing)} without a score, the first at index {missing[0]}: {scores.status[missing[0]]}")
    return f"Scores({', '.join(parts)})"


def scores_html(scores: Any) -> str:
    """Return a table for notebooks. For a single pair, the table has its evidence too."""
    columns = {name: values for name, values in _columns(scores).items() if name != "evidence"}
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
    body = [_html_row(number, row) for number, row in enumerate(rows[:_MAX_HTML_ROWS])]
    if hidden := len(rows) - len(body):
        body.append(f"<tr><td>…</td><td colspan={len(columns)}>and {hidden} more</td></tr>")
    table = f"<table><tr>{head}</tr>{''.join(body)}</table>"
    evidence = scores.evidence[0] if scores.evidence and len(scores.evidence) == 1 else None
    return f"<p>{escape(repr(scores))}</p>{table}" + ("" if evidence is None else _evidence_html(evidence))


def _html_row(number: int, values: Sequence[Any]) -> str:
    cells = (f"{value:.6g}" if isinstance(value, float) else escape(str(value)) for value in values)
    return f"<tr><th>{number}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _evidence_html(evidence: Any) -> str:
    """Return evidence as HTML. Missing entries are marked as deleted, extra entries as inserted; unread ones follow."""
    if isinstance(evidence, Mapping) and {"missing", "extra"} <= set(evidence):
        marked = [f"<del>{escape(str(entry))}</del>" for entry in evidence["missing"]]
        marked += [f"<ins>{escape(str(entry))}</ins>" for entry in evidence["extra"]]
        unread = [escape(text) for texts in evidence.get("unread", {}).values() for text in texts]
        note = f"<p>Not read: {' '.join(unread)}</p>" if unread else ""
        return f"<p>{' '.join(marked) or 'no difference'}</p>{note}"
    return f"<pre>{escape(pformat(evidence, width=100))}</pre>"
