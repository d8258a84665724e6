"""Scores of a request's pairs as JSON values: the numbers that `radreward score` writes, and the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from radreward.meta_evaluation.scorer_runner import to_jsonable
from radreward.scorers.base import Scorer, validate_pair
from radreward.scoring.score_columns import STATUS_COLUMN, ScorerGroup
from radreward.serving.findings import SIDES, Side, read_findings
from radreward.text.normalization import normalize_report
from radreward.text.patient_context import PatientContext
from radreward.types import Scores


class ScorerFailedError(Exception):
    """Raised if a scorer fails on a request; the message names the scorer and quotes no report."""


def score_request(
    scorers: Mapping[str, Scorer],
    references: Sequence[str],
    candidates: Sequence[str],
    contexts: Sequence[PatientContext],
    with_evidence: bool,
) -> list[dict[str, dict[str, Any]]]:
    """Return the scores of each pair by the name of the scorer.

    The scores of a scorer have `total` (higher is better), `quality`, `sub_scores`, `error_counts` and `status`; with
    evidence, also `evidence` and `findings`, see `MarkedFinding`.

    Args:
        scorers: Scorers by name.
        references: Reference reports.
        candidates: As many candidates.
        contexts: What is known of each patient.
        with_evidence: Add evidence and findings.

    Raises:
        ScorerFailedError: If a scorer fails.
    """
    rows: list[dict[str, dict[str, Any]]] = [{} for _ in references]
    pairs = zip(references, candidates, strict=True)
    usable = [reference for reference, candidate in pairs if validate_pair(reference, candidate) is None]
    for name, scorer in scorers.items():
        try:
            group = ScorerGroup.of(scorer).fit_references(usable)
            [scores] = group.score(references, candidates, contexts)
            columns = [row.values for row in group.rows([scores])]
        except Exception as error:  # a scorer may be a file of the user's
            raise ScorerFailedError(
                f"{name}: Expected scores but the metric failed ({type(error).__name__})."
            ) from error
        for index, row in enumerate(rows):
            row[name] = _to_json(columns[index], scorer)
            if with_evidence:
                texts: dict[Side, str] = dict(zip(SIDES, (references[index], candidates[index]), strict=True))
                row[name] |= _explain(scores, index, texts)
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
    findings = [finding._asdict() for finding in read_findings(evidence, normalized)]
    return {"evidence": to_jsonable(evidence), "findings": findings}
