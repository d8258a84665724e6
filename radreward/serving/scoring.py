"""Scores of a request's pairs as JSON values: the numbers that `radreward score` writes, and the findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from radreward.meta_evaluation.score_cache import to_jsonable
from radreward.scorers.base import Scorer, validate_pair
from radreward.scoring.pairs import Pairs, score_pairs
from radreward.scoring.score_columns import STATUS_COLUMN, ScorerGroup
from radreward.serving.findings import read_findings
from radreward.text.normalization import normalize_report
from radreward.types import Scores, Side


class ScorerFailedError(Exception):
    """Raised if a scorer fails on a request. The message names the scorer and quotes no report."""


def score_request(scorers: Mapping[str, Scorer], pairs: Pairs, with_evidence: bool) -> list[dict[str, dict[str, Any]]]:
    """Return the scores of each pair by the name of the scorer.

    The scores of a scorer have `total` (higher is better), `quality`, `sub_scores`, `error_counts` and `status`; with
    evidence, also `evidence` and `findings`, see `MarkedFinding`.

    Raises:
        ScorerFailedError: If a scorer fails.
    """
    texts = list(zip(pairs.references, pairs.candidates, strict=True))
    usable = [reference for reference, candidate in texts if validate_pair(reference, candidate) is None]
    rows: list[dict[str, dict[str, Any]]] = [{} for _ in texts]
    for name, scorer in scorers.items():
        try:
            scores = score_pairs(scorer.fit_references(usable), pairs)
            columns = [row.values for row in ScorerGroup.of(scorer).rows([scores])]
        except Exception as error:  # a scorer may be a file of the user's
            raise ScorerFailedError(
                f"{name}: Expected scores but the metric failed ({type(error).__name__})."
            ) from error
        for index, row in enumerate(rows):
            row[name] = _to_json(columns[index], scorer)
            if with_evidence:
                sides = dict(zip((Side.REFERENCE, Side.CANDIDATE), texts[index], strict=True))
                row[name] |= _explain(scores, index, sides)
    return rows


def _to_json(columns: Mapping[str, Any], scorer: Scorer) -> dict[str, Any]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return {
        "total": columns["total"],
        "quality": columns.get("quality"),
        "sub_scores": {name: columns[name] for name in scorer.sub_names},
        "error_counts": {tag: columns[f"count_{tag}"] for tag in tags},
        "status": columns[STATUS_COLUMN],
    }


def _explain(scores: Scores, index: int, texts: Mapping[Side, str]) -> dict[str, Any]:
    evidence = scores.evidence[index] if scores.evidence else None
    normalized = {side: normalize_report(text) for side, text in texts.items()}
    return {"evidence": to_jsonable(evidence), "findings": read_findings(evidence, normalized)}
