"""GREEN's five pairings of references and candidates, in equal parts (section 3.1.1)."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from typing import Literal

from radreward.errors import InputError
from radreward.synthesis.candidates import CandidateDraft, ReportSource, edit_candidate
from radreward.synthesis.perturbations.report_edits import drop_and_shuffle
from radreward.synthesis.report_reader import ReportTexts, read_reports, report_rows
from radreward.synthesis.tiers import TIER_ERRORS
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed, parse_report

logger = logging.getLogger(__name__)
Pairing = Literal["random", "shuffled", "neighbor", "edited", "generated"]
PAIRINGS: tuple[Pairing, ...] = ("random", "shuffled", "neighbor", "edited")
"""Another report; sentences removed and shuffled; the most similar report; errors in findings, severity, location.

The fifth, the output of a report generator, needs such outputs.
"""
MAX_EDITS = TIER_ERRORS[1][1]


def draft_paired(
    pairing: Pairing,
    reference: AnnotatedReport,
    sample_other: ReportSource,
    sample_neighbor: ReportSource,
    generated: AnnotatedReport | None,
    rng: Random,
) -> CandidateDraft:
    """Return a candidate of one pairing.

    Args:
        pairing: The pairing.
        reference: The reference, completely parsed.
        sample_other: Samples reports of any other patient.
        sample_neighbor: Samples similar reports of other patients.
        generated: Output of a report generator for the same study, if there is one.
        rng: Source of randomness.
    """
    if pairing == "random":
        return CandidateDraft(sample_other(rng), pairing)
    if pairing == "neighbor":
        return CandidateDraft(sample_neighbor(rng), pairing)
    if pairing == "shuffled":
        return CandidateDraft(drop_and_shuffle(reference, rng), pairing)
    if pairing == "edited" or generated is None:
        return edit_candidate(reference, rng.randint(1, MAX_EDITS), rng)
    return CandidateDraft(generated, pairing)


def read_pairable_reports(
    path: Path, text_column: str | None, generated_column: str | None
) -> tuple[ReportTexts, list[str] | None]:
    """Read reports, and a generator's outputs, that are completely parsed, so that errors between them can be counted.

    Args:
        path: CSV, JSONL or Parquet file.
        text_column: Column of the reports, see `read_reports`.
        generated_column: Column of the outputs for the same studies, if any.

    Returns:
        The reports, and as many outputs.

    Raises:
        InputError: If the file cannot be used, or fewer than two rows are completely parsed.
    """
    reports = read_reports(path, text_column)
    columns = (report_rows(path, column) for column in (text_column, generated_column or text_column))
    rows = [(report, output) for (_, report, _), (_, output, _) in zip(*columns, strict=True) if report]
    pairable = [pair for pair in rows if all(text and is_fully_parsed(parse_report(text)) for text in pair)]
    if len(pairable) < 2:
        raise InputError(f"{path}: Expected at least two reports that are completely parsed but got {len(pairable)}.")
    if left_out := len(rows) - len(pairable):
        logger.warning("%s: left out %d of %d reports, which are not completely parsed.", path, left_out, len(rows))
    kept = ReportTexts([text for text, _ in pairable], reports.empty_rows)
    return kept, [text for _, text in pairable] if generated_column else None
