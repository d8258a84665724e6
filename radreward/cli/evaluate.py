"""`radreward evaluate`: agreement of a scorer with known errors."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from radreward.cli.inputs import check_input
from radreward.cli.metric_rows import metric_legend, ordered_rows
from radreward.cli.scorer_options import ScorerOptions
from radreward.errors import InputError
from radreward.io.console import make_console
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.data.collators.base import LabelledCandidate
    from radreward.modules import MetricTable
    from radreward.scorers import Scorer


def run(
    *,
    options: ScorerOptions,
    data: Path | None = None,
    review_sheet: Path | None = None,
    scorer: str = "er2score",
    criteria: str | None = None,
    output: Path | None = None,
) -> int:
    """Measure the agreement of a scorer with known errors, or of a reviewer with errors that a language model wrote.

    Args:
        options: Settings of the scorer.
        data: Groups or pairs with known errors.
        review_sheet: Instead of --data: a sheet of `synthesize --llm-task` with a reviewer's counts in its columns
            `checked: ...`.
        scorer: Name (see `radreward list`), folder of a saved model or of a run, or my_file.py:my_metric.
        criteria: Preset (see `radreward list`) or YAML file of the criteria; defaults to those of the scorer.
        output: File to write the metrics to: JSON, or CSV for a review sheet.
    """
    with claimed_file(output):
        if review_sheet and not data:
            return _evaluate_review(review_sheet, output)
        if not data or review_sheet:
            raise InputError(f"Expected --data or --review-sheet but got {'both' if data else 'neither'}.")
        return _evaluate_scorer(data, scorer, options, criteria, output)


def _evaluate_scorer(data: Path, name: str, options: ScorerOptions, criteria: str | None, output: Path | None) -> int:
    from radreward.data.records import data_fingerprint, read_groups
    from radreward.io.artifacts import write_json
    from radreward.scorers import load, resolve

    check_input(data)
    scorer = load(name, **asdict(options))
    judged_by = _criteria(criteria, scorer, name)
    groups = list(read_groups(data, judged_by))
    from radreward.data.collators.base import candidates_of  # imports torch

    candidates = list(candidates_of(groups))
    agreement, notes, failed = _measure(scorer, judged_by, candidates, data)
    fingerprint = data_fingerprint(data)
    notes += _training_notes(resolve(name, options.allow_download)[1], data, fingerprint)
    agreement = ordered_rows(agreement)
    from radreward.modules.agreement_metrics import render_metric_table

    num_scored = len(candidates) - len(failed)
    make_console().print(render_metric_table(agreement, f"{data}: {num_scored} candidates of {len(groups)} references"))
    print_line(metric_legend(agreement))
    for note in notes:
        print_line(note)
    if output:
        summary = {"scorer": name, "data": {str(data): fingerprint}}
        counts = {"candidates": num_scored, "skipped": len(failed)}
        write_json(output, {**summary, **counts, "agreement": agreement, "notes": notes})
        print_line(f"Metrics: {output}")
    if failed:
        print_status(f"Skipped: {len(failed)} of {len(candidates)} candidates; the first is {failed[0]}")
    return 1 if failed else 0


def _training_notes(model: Path | None, data: Path, fingerprint: str) -> list[str]:
    """Return a note if the run that trained the model used the data; the run's data.json is beside its model."""
    from radreward.io.artifacts import read_json_object

    record = model and model.parent / "data.json"
    if not record or not record.is_file() or fingerprint not in read_json_object(record).values():
        return []
    return [f"{data}: the model was trained or validated on this file. Expect lower agreement on new data."]


def _evaluate_review(sheet: Path, output: Path | None) -> int:
    """Print, and write if asked, the agreement of a reviewer with the counts on a review sheet."""
    from radreward.io.terminal_tables import TerminalTable
    from radreward.io.text_tables import format_number, text_frame
    from radreward.synthesis.llm.review_sheet import read_review_sheet, write_agreements

    agreement = read_review_sheet(sheet)
    rows = [(entry.tag, entry.num_checked, entry.num_equal, format_number(entry.accuracy, 2)) for entry in agreement]
    frame = text_frame(["", "checked", "equal", "accuracy"], rows)
    make_console().print(TerminalTable("Agreement of the reviewer", frame))
    if output:
        write_agreements(output, agreement)
        print_line(f"Table: {output}")
    return 0


def _measure(
    scorer: Scorer, criteria: Criteria, candidates: list[LabelledCandidate], data: Path
) -> tuple[MetricTable, list[str], list[str]]:
    """Return the agreement of the scores with the errors, notes on it, and the candidates without a score."""
    import torch

    from radreward.criteria import finding_quality
    from radreward.modules.agreement_metrics import (
        errors_agreement,
        errors_by_row,
        quality_agreement,
        reward_agreement,
        total_agreement,
        undefined_auc_notes,
    )
    from radreward.modules.predictions import ScoredCandidates
    from radreward.scorers.status import SCORED_STATUSES
    from radreward.scoring.pairs import Pairs, score_in_chunks

    references, texts = [row.reference for row in candidates], [row.candidate.text for row in candidates]
    scores = score_in_chunks(scorer, Pairs(references, texts))
    scored = [index for index, status in enumerate(scores.status) if status in SCORED_STATUSES]
    failed = [
        f"{row.label}: {status}"
        for row, status in zip(candidates, scores.status, strict=True)
        if status not in SCORED_STATUSES
    ]
    if not scored:
        reason = f"; the first is {failed[0]}" if failed else ""
        raise InputError(f"{data}: Expected at least one candidate that can be scored but got none{reason}.")
    errors = torch.stack([criteria.to_tensor(candidates[index].candidate.errors or {}) for index in scored])
    group = torch.tensor([candidates[index].group_index for index in scored])
    if scorer.criteria is None or scores.sub_scores is None:
        agreement = total_agreement(criteria, scorer.higher_is_better_output(scores)[scored], errors, group)
    else:
        counts = None if scores.error_counts is None else scores.error_counts[scored]
        agreement = reward_agreement(criteria, ScoredCandidates(scores.sub_scores[scored], errors, group), counts)
    wrong = errors_by_row(criteria, errors)
    if scores.errors is not None:
        number = criteria.number_of_errors(errors)
        agreement = {"errors": errors_agreement(scores.errors[scored], number, group), **agreement}
        wrong["errors"] = number > 0
    known = [candidates[index].candidate.finding_weights for index in scored]
    if scores.quality is not None and any(known):
        target = torch.tensor([finding_quality(*weights) if weights else math.nan for weights in known])
        agreement = {"quality": quality_agreement(scores.quality[scored], target, group), **agreement}
        wrong["quality"] = target < 1
    return agreement, undefined_auc_notes(agreement, wrong), failed


def _criteria(name: str | None, scorer: Scorer, scorer_name: str) -> Criteria:
    """Return the criteria of the scorer, or the named ones if it has none."""
    from radreward.criteria import load_criteria

    named = load_criteria(name) if name else None
    if scorer.criteria is not None and named is not None and named != scorer.criteria:
        raise InputError(
            f"--criteria: Expected {scorer.criteria.name}, the criteria of {scorer_name}, but got {named.name}."
        )
    criteria = scorer.criteria or named
    if criteria is None:
        raise InputError(
            f"--criteria: Expected the criteria of the errors, which {scorer_name} does not define, but got none. "
            "Give those of the data, such as --criteria radcliq-significance."
        )
    return criteria
