"""`radreward evaluate`: agreement of a scorer with known errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.inputs import check_input, check_output_file
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.scorers import Scorer


def run(
    *,
    data: Path,
    model: str = "er2score",
    criteria: str | None = None,
    output: Path | None = None,
    precision: Literal["fp32", "int8"] = "fp32",
    on_too_long: Literal["reject", "truncate"] = "reject",
) -> int:
    """Measure how a scorer agrees with known errors.

    Args:
        data: Groups or pairs with known errors.
        model: Name of a scorer (see `radreward list`), folder of a saved model, or folder of a run.
        criteria: Preset or YAML file by which the errors are stated; defaults to the criteria of the model.
        output: JSON file to write the metrics to.
        precision: Precision of the backbone; int8 is faster on a CPU.
        on_too_long: Reject a report over the model's limit, or truncate it; its status says so.
    """
    with suppress_library_warnings(), user_errors():
        from radreward.data.records import read_groups
        from radreward.io.artifacts import file_fingerprint
        from radreward.scorers import load
        from radreward.scorers.base import SCORED_STATUSES

        if output:
            check_output_file(output)
        check_input(data)
        scorer = load(model, precision=precision, on_too_long=on_too_long)
        judged_by = _criteria(criteria, scorer, model)
        groups = list(read_groups(data, judged_by))
        rows = [
            (index, group, candidate, f"group {group.id!r}, candidate {number}")
            for index, group in enumerate(groups)
            for number, candidate in enumerate(group.candidates, 1)
        ]
        scores = scorer.score([row[1].reference for row in rows], [row[2].text for row in rows])
        scored = [index for index, status in enumerate(scores.status) if status in SCORED_STATUSES]
        failed = [
            f"{label}: {status}"
            for (*_, label), status in zip(rows, scores.status, strict=True)
            if status not in SCORED_STATUSES
        ]
        if not scored:
            reason = f"; the first is {failed[0]}" if failed else ""
            raise InputError(f"{data}: Expected at least one candidate that can be scored but got none{reason}.")
        import torch

        from radreward.io.artifacts import write_json
        from radreward.modules import ScoredCandidates, render_metric_table, total_agreement
        from radreward.modules.agreement_metrics import reward_agreement

        errors = torch.stack([judged_by.to_tensor(rows[index][2].errors or {}) for index in scored])
        group = torch.tensor([rows[index][0] for index in scored])
        if scorer.criteria is None or scores.sub_scores is None:
            totals = scores.total[scored] if scorer.higher_is_better else -scores.total[scored]
            result = total_agreement(judged_by, totals, errors, group)
        else:
            counts = None if scores.error_counts is None else scores.error_counts[scored]
            result = reward_agreement(judged_by, ScoredCandidates(scores.sub_scores[scored], errors, group), counts)
    Console().print(render_metric_table(result, f"{data}: {len(scored)} candidates of {len(groups)} references"))
    if output:
        summary = {"model": model, "data": {str(data): file_fingerprint(data)}}
        write_json(output, {**summary, "candidates": len(scored), "skipped": len(failed), "agreement": result})
        print(f"Metrics: {output}")
    if failed:
        print(f"Skipped: {len(failed)} of {len(rows)} candidates; the first is {failed[0]}", file=sys.stderr)
    return 1 if failed else 0


def _criteria(name: str | None, scorer: Scorer, model: str) -> Criteria:
    """Return the criteria of the scorer, or the named ones if it has none."""
    from radreward.criteria import load_criteria

    named = load_criteria(name) if name else None
    if scorer.criteria is not None and named is not None and named != scorer.criteria:
        raise InputError(f"--criteria: Expected {scorer.criteria.name}, the criteria of {model}, but got {named.name}.")
    criteria = scorer.criteria or named
    if criteria is None:
        raise InputError(f"--criteria is required: {model} defines no criteria of its own.")
    return criteria
