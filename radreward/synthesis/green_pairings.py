"""GREEN's pairings of references and candidates, in equal parts (section 3.1.1)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Literal

from radreward.errors import InputError
from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    judge_candidates,
)
from radreward.synthesis.candidates import CandidateDraft, edit_candidate
from radreward.synthesis.perturbations.report_edits import drop_and_shuffle
from radreward.synthesis.report_reader import ReportTexts, read_reports, report_rows
from radreward.synthesis.tiers import TIER_ERRORS
from radreward.text.report_parser import is_fully_parsed, parse_report

logger = logging.getLogger(__name__)
_Pairing = Literal["random", "shuffled", "neighbor", "edited", "generated"]
PAIRINGS: tuple[_Pairing, ...] = ("random", "shuffled", "neighbor", "edited")
"""Another report; sentences removed and shuffled; a similar report; errors in findings, severity and location.

The fifth pairing, "generated", needs outputs of a report generator.
"""
_MAX_EDITS = TIER_ERRORS[1][1]


class GreenPairingWriter(CandidateWriter):
    """Writer of candidates of the pairings in turn, over all groups; given reports must be completely parsed.

    Args:
        generated_column: Column of the file of reports with outputs of a report generator for the same studies; it adds
            a fifth pairing.
    """

    def __init__(self, generated_column: str | None = None) -> None:
        self.generated_column = generated_column

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`.

        Raises:
            InputError: If a given report is not completely parsed, or has no output in the given column.
        """
        first = request.number * request.num_candidates
        for reference in request.repeated_references():
            if not is_fully_parsed(reference.report):
                raise InputError("reports: Expected completely parsed reports for pairings but one is not.")
            if self.generated_column and reference.generated is None:
                raise InputError("generated_column: Expected a file of reports with this column but got none.")
            pairings: tuple[_Pairing, ...] = PAIRINGS if reference.generated is None else (*PAIRINGS, "generated")
            candidates = []
            for position in range(first, first + request.num_candidates):
                pairing = pairings[position % len(pairings)]
                draft = _draft_paired(pairing, reference, rng)
                candidates += judge_candidates(pairing, reference, [draft], request.criteria)
            yield reference, candidates

    def read_reports(self, path: Path, text_column: str | None) -> ReportTexts:
        """Read the reports, and outputs of a generator, that are completely parsed, so that all errors can be counted.

        Raises:
            InputError: If the file cannot be used, or fewer than two rows are completely parsed.
        """
        reports = read_reports(path, text_column)
        columns = (report_rows(path, column) for column in (text_column, self.generated_column or text_column))
        rows = [(report, output) for (_, report, _), (_, output, _) in zip(*columns, strict=True) if report]
        pairable = [pair for pair in rows if all(text and is_fully_parsed(parse_report(text)) for text in pair)]
        if len(pairable) < 2:
            raise InputError(
                f"{path}: Expected at least two reports that are completely parsed but got {len(pairable)}."
            )
        if left_out := len(rows) - len(pairable):
            logger.warning("%s: left out %d of %d reports, which are not completely parsed.", path, left_out, len(rows))
        outputs = [output for _, output in pairable] if self.generated_column else None
        return ReportTexts([text for text, _ in pairable], reports.empty_rows, outputs)


def _draft_paired(pairing: _Pairing, reference: Reference, rng: Random) -> CandidateDraft:
    """Return a candidate of one pairing; an edited one if there is no output of a generator."""
    if pairing == "random":
        return CandidateDraft(reference.sample_other(rng), pairing)
    if pairing == "neighbor":
        return CandidateDraft(reference.sample_neighbor(rng), pairing)
    if pairing == "shuffled":
        return CandidateDraft(drop_and_shuffle(reference.report, rng), pairing)
    if pairing == "edited" or reference.generated is None:
        return edit_candidate(reference.report, rng.randint(1, _MAX_EDITS), rng)
    return CandidateDraft(reference.generated, pairing)
