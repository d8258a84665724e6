"""Requests for scores in slices: the numbers that `radreward score` writes, and the findings, as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any, NamedTuple

from radreward.meta_evaluation.score_cache import to_jsonable
from radreward.score_outputs import OUTPUTS
from radreward.scorers.base import Scorer
from radreward.scorers.pair_errors import validate_pair
from radreward.scoring.pairs import Pairs, score_pairs
from radreward.scoring.score_columns import STATUS_COLUMN, ScorerGroup
from radreward.text.normalization import normalize_report
from radreward.types import Scores, Side

SLICE_PAIRS = 32
"""Maximum number of pairs that are scored without a pause."""
SLICE_CHARS = 40_000
"""Maximum number of characters of these pairs, unless it is a single pair: that of two reports of maximum length."""


class ScorerFailedError(Exception):
    """Raised if a scorer fails on a request. The message names the scorer and quotes no report."""


class ScoringJob:
    """The pairs of a request, and how many of them each scorer has scored.

    Args:
        scorers: Scorers by name.
        pairs: The pairs.
        with_evidence: Add `evidence` and `findings`, see `MarkedFinding`.

    Attributes:
        future: Scores of each pair by the name of the scorer: `total` (higher is better), `quality`, `errors`,
            `sub_scores`, `error_counts` and `status`. Cancel it to end the job after its current slice.
    """

    def __init__(self, scorers: Mapping[str, Scorer], pairs: Pairs, with_evidence: bool) -> None:
        self.scorers, self.pairs, self.with_evidence = dict(scorers), pairs, with_evidence
        self.future: Future[list[dict[str, dict[str, Any]]]] = Future()
        self._rows: list[dict[str, dict[str, Any]]] = [{} for _ in pairs.references]
        self._positions = dict.fromkeys(scorers, 0)
        self._fitted: dict[str, Scorer] = {}
        self._sizes = [len(first) + len(second) for first, second in zip(*pairs[:2], strict=True)]

    def unfinished(self) -> list[str]:
        """Return the names of the scorers with pairs to score."""
        return [name for name, position in self._positions.items() if position < len(self._rows)]

    def fitted(self, name: str) -> Scorer:
        """Return a scorer fitted to the references of the request.

        Raises:
            ScorerFailedError: If the scorer fails.
        """
        if name not in self._fitted:
            texts = zip(*self.pairs[:2], strict=True)
            usable = [reference for reference, candidate in texts if validate_pair(reference, candidate) is None]
            try:
                self._fitted[name] = self.scorers[name].fit_references(usable)
            except Exception as error:  # a scorer may be a file of the user's
                raise _failure(name, error) from error
        return self._fitted[name]

    def next_rows(self, name: str, max_pairs: int, max_chars: int) -> slice:
        """Return the next rows for a scorer within these limits; there may be none."""
        start = end = self._positions[name]
        while end < min(start + max_pairs, len(self._rows)) and self._sizes[end] <= max_chars:
            max_chars -= self._sizes[end]
            end += 1
        return slice(start, end)

    def num_chars(self, rows: slice) -> int:
        """Return the number of characters of a range of pairs."""
        return sum(self._sizes[rows])

    def add_scores(self, name: str, rows: slice, scores: Scores) -> None:
        """Store the scores of rows, and finish the job if they are the last.

        Args:
            name: Name of the scorer.
            rows: Range of the pairs.
            scores: Scores of these pairs by the fitted scorer.
        """
        scorer = self.fitted(name)
        for offset, row in enumerate(ScorerGroup.of(scorer).rows([scores])):
            index = rows.start + offset
            self._rows[index][name] = _to_json(row.values, scorer)
            if self.with_evidence:
                texts = {Side.REFERENCE: self.pairs.references[index], Side.CANDIDATE: self.pairs.candidates[index]}
                self._rows[index][name] |= _explain(scorer, scores, offset, texts)
        self._positions[name] = rows.stop
        if not self.unfinished() and self._claim():
            self.future.set_result([{name: row[name] for name in self.scorers} for row in self._rows])

    def fail(self, error: ScorerFailedError) -> None:
        """End the job with an error, unless it has ended."""
        if self._claim():
            self.future.set_exception(error)

    def _claim(self) -> bool:
        """Return True if the job has not ended; from now on, it can no longer be cancelled."""
        return not self.future.done() and self.future.set_running_or_notify_cancel()


class SlicePart(NamedTuple):
    """Rows of one request for one scorer."""

    job: ScoringJob
    name: str
    rows: slice

    @property
    def pairs(self) -> Pairs:
        """The pairs of the rows."""
        return self.job.pairs.part(self.rows)


def next_slice(jobs: Sequence[ScoringJob]) -> list[SlicePart]:
    """Return pairs to score together: those of the first job, and of others that use the same fitted scorer.

    A job whose scorer cannot be fitted fails. A scorer that is fitted to the references of its request scores the pairs
    of this request only.

    Args:
        jobs: Unfinished jobs.
    """
    parts: list[SlicePart] = []
    scorer: Scorer | None = None
    num_pairs, num_chars = SLICE_PAIRS, SLICE_CHARS
    for job, name in _tasks(jobs):
        try:
            fitted = job.fitted(name)
        except ScorerFailedError as error:
            job.fail(error)
            continue
        if scorer not in (None, fitted):
            continue
        scorer = fitted
        rows = job.next_rows(name, num_pairs, num_chars)
        if not parts and rows.start == rows.stop:  # a longer pair is scored alone
            rows = slice(rows.start, rows.start + 1)
        if rows.start < rows.stop:
            parts.append(SlicePart(job, name, rows))
            num_pairs -= rows.stop - rows.start
            num_chars -= job.num_chars(rows)
    return parts


def _tasks(jobs: Sequence[ScoringJob]) -> Iterator[tuple[ScoringJob, str]]:
    return ((job, name) for job in jobs for name in job.unfinished() if not job.future.done())


def score_slice(parts: Sequence[SlicePart]) -> None:
    """Score parts together and store the scores in their jobs. If that fails, score each alone: only its job fails."""
    scorer = parts[0].job.fitted(parts[0].name)
    try:
        scores = score_pairs(scorer, _join(parts))
        start = 0
        for job, name, rows in parts:
            end = start + rows.stop - rows.start
            job.add_scores(name, rows, _rows_of(scores, slice(start, end)))
            start = end
    except Exception as error:  # a scorer may be a file of the user's
        if len(parts) == 1:
            parts[0].job.fail(_failure(parts[0].name, error))
            return
        for part in parts:
            score_slice([part])


def _join(parts: Sequence[SlicePart]) -> Pairs:
    pairs = [part.pairs for part in parts]
    return Pairs(
        [text for part in pairs for text in part.references],
        [text for part in pairs for text in part.candidates],
        [context for part in pairs for context in part.contexts or [None] * len(part.references)],
    )


def _rows_of(scores: Scores, rows: slice) -> Scores:
    """Return a range of scores."""
    shared = {"sub_names", "count_names"}
    values = scores._asdict().items()
    return Scores(**{name: part if name in shared or part is None else part[rows] for name, part in values})


def _failure(name: str, error: Exception) -> ScorerFailedError:
    return ScorerFailedError(f"{name}: Expected scores but the metric failed ({type(error).__name__}).")


def _to_json(columns: Mapping[str, Any], scorer: Scorer) -> dict[str, Any]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return {
        **{output: columns.get(output) for output in OUTPUTS},
        "sub_scores": {name: columns[name] for name in scorer.sub_names},
        "error_counts": {tag: columns[f"count_{tag}"] for tag in tags},
        "status": columns[STATUS_COLUMN],
    }


def _explain(scorer: Scorer, scores: Scores, index: int, texts: Mapping[Side, str]) -> dict[str, Any]:
    evidence = scores.evidence[index] if scores.evidence else None
    normalized = {side: normalize_report(text) for side, text in texts.items()}
    findings = [] if evidence is None else scorer.mark_findings(evidence, normalized)
    return {"evidence": to_jsonable(evidence), "findings": [asdict(finding) for finding in findings]}
