"""Score the pairs of a file in chunks; a run can be resumed, and invalid rows do not stop it.

`scan_input` reads the input once for its columns and duplicate ids. `InputScan.chunks` reads it again in chunks of
checked rows, a backend scores the missing chunks, and `ScoreTable` stores each chunk and joins them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from radreward.errors import InputError
from radreward.io.outputs import claimed_file
from radreward.io.progress import ProgressReporter
from radreward.io.tables import CSVFormulas
from radreward.scorers.base import Scorer
from radreward.scoring.backends import LocalBackend, ScoringBackend
from radreward.scoring.chunk_store import check_output, stored_input
from radreward.scoring.input_columns import DEFAULT_COLUMNS, InputColumns
from radreward.scoring.input_scan import InputScan, scan_input, warn_unusable_contexts
from radreward.scoring.score_columns import ScorerGroup
from radreward.scoring.score_table import CHUNK_SIZE, ScoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringSummary:
    """Counts and files of a scoring run."""

    rows: int
    rejected: int
    seconds: float
    output: Path
    rejects: Path | None
    """File of the rejected rows; None if no row was rejected."""
    resumed: int
    """Rows that an earlier run scored."""


def score_file(
    scorer: Scorer | ScorerGroup,
    source: str | Path,
    output: str | Path,
    chunk_size: int | None = None,
    progress: bool = True,
    backend: ScoringBackend | None = None,
    columns: InputColumns = DEFAULT_COLUMNS,
    csv_formulas: CSVFormulas = "quote",
) -> ScoringSummary:
    """Score the candidate against the reference in every row of a file.

    Writes, in the order of the input, the id, the other columns unchanged, `total` (higher is better), `quality` and
    `errors` if the scorer computes them, one column and one `count_<criterion>` per criterion, `evidence` (an object in
    JSONL, JSON text in CSV and Parquet) if the scorer explains, and `status`. A row that cannot be scored has no scores
    and a status with the reason; `<output>.rejects.jsonl` lists it.
    Columns `age` and `indication` are used if `Scorer.uses_context`; a warning counts missing and unreadable values.

    Args:
        scorer: The scorer, or several, see `load_scorers`.
        source: The input, in a format of `read_rows`; "-" is standard input.
        output: The file to write, in the format of its suffix; it appears when it is complete.
        chunk_size: Rows that are held and scored together; defaults to that of an interrupted run, else to
            `Scorer.chunk_size`. Finished chunks are stored in `<output>.parts`: a run that was killed resumes with the
            missing ones.
        progress: Show progress on standard error.
        backend: Scores the chunks with a scorer equal to `scorer`; by default this process scores.
        columns: Names of the input's columns.
        csv_formulas: Quote texts like formulas in a CSV output, or keep them, see `csv_cell`.

    Raises:
        ValueError: If `chunk_size` is not positive.
        InputError: If the input cannot be read, has no row or lacks a column, a column would be written twice, the
            output cannot be a file, or the input or the scorer changed since the run that is to be resumed.
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"Expected `chunk_size` to be >= 1 but got {chunk_size}.")
    start, source, output = time.monotonic(), Path(source), Path(output)
    check_output(output, source)
    with claimed_file(output):
        group = ScorerGroup.of(scorer)
        scan = scan_input(source, chunk_size or stored_input(output, CHUNK_SIZE) or group.chunk_size, columns)
        scorers = _fit_references(group, scan, backend)
        table = ScoreTable(output, scan, scorers)
        resumed = table.num_stored_rows
        score = backend or LocalBackend(scorers)
        with ProgressReporter(enabled=progress) as reporter:
            task = reporter.add_task("Scoring", scan.num_rows, resumed, note=f"into {output}")
            for chunk, scores in score(scan.chunks(skip=table.store)):
                table.write(chunk, scores)
                reporter.advance(task, len(chunk.rows))
        rejected = table.join(csv_formulas)
    return ScoringSummary(
        rows=scan.num_rows,
        rejected=rejected,
        seconds=time.monotonic() - start,
        output=output,
        rejects=table.rejects_path if rejected else None,
        resumed=resumed,
    )


def _fit_references(scorers: ScorerGroup, scan: InputScan, backend: ScoringBackend | None) -> ScorerGroup:
    """Return the scorers fitted to the references of the file; warn of unusable contexts if a scorer uses them."""
    if scorers.uses_context:
        warn_unusable_contexts(scan.source, scan.unusable_contexts)
    fitted = scorers.fit_references(scan.references())
    if backend and fitted is not scorers:
        titles = [scorer.title for name, scorer in scorers.scorers.items() if fitted.scorers[name] is not scorer]
        raise InputError(
            f"{titles[0]}: Expected all references of the run but workers lack them. Score without workers."
        )
    return fitted
