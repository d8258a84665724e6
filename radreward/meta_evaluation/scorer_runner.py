"""Run one scorer over many pairs in chunks, caching scores and recording failures."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.score_cache import ScoreCache, ScoredTexts, cached_scores, pair_key
from radreward.score_outputs import OUTPUTS, ScoreOutput, output_name
from radreward.scorers.base import Scorer
from radreward.scorers.status import SCORED_STATUSES
from radreward.scoring.pairs import Pairs, score_pairs

Floats = NDArray[np.float64]
SIGNIFICANT_PREFIX, INSIGNIFICANT_PREFIX = "significant_", "insignificant_"
"""Prefixes of criteria that are counted separately by clinical significance."""
SCORES_FILE = "scores.sqlite"
"""Name of the cache in the output folder of a benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerRun:
    """Scores of one scorer for n pairs.

    Attributes:
        name: Name of the output of the scorer, see `output_name`; for the total, the name of the scorer.
        title: Title in tables.
        higher_is_better: Direction of `totals`.
        total_range: Lower and upper bound of the totals; None if unbounded.
        sub_names: M names of the sub-scores.
        criteria: N criteria of the error counts.
        totals: (n,) total scores, NaN if missing.
        error_counts: (n, N) error counts; None if the scorer counts no errors.
        sub_scores: (n, M) sub-scores, higher is better; None if there are none.
        other_outputs: (n,) values of each output but the total that the scorer computes, NaN if missing.
        unscored_reasons: Reason → number of pairs without a score.
        num_computed: Number of pairs scored by this run.
        num_cached: Number of pairs scored by earlier runs.
        seconds: Duration.
        cache: Cache of the scores with their evidence; None if the scorer failed to load.
        failure: Error message if the scorer failed, else None.
        output: Output that the totals are.
        scorer: Name by which the scorer was requested.
    """

    name: str
    title: str
    higher_is_better: bool
    total_range: tuple[float | None, float | None]
    sub_names: tuple[str, ...]
    criteria: tuple[str, ...]
    totals: Floats
    error_counts: Floats | None
    sub_scores: Floats | None
    other_outputs: Mapping[ScoreOutput, Floats]
    unscored_reasons: dict[str, int]
    num_computed: int
    num_cached: int
    seconds: float
    cache: ScoreCache | None
    failure: str | None = None
    output: ScoreOutput = "total"
    scorer: str = ""

    def outputs(self) -> list[ScorerRun]:
        """Return this run and one run per other output, with this output as totals."""
        if self.failure:
            return [self]
        return [self, *(self._other_run(output, values) for output, values in self.other_outputs.items())]

    def _other_run(self, output: ScoreOutput, values: Floats) -> ScorerRun:
        kind = OUTPUTS[output]
        return replace(
            self,
            name=output_name(self.name, output),
            title=f"{self.title} ({output})",
            higher_is_better=self.higher_is_better if kind.higher_is_better is None else kind.higher_is_better,
            total_range=kind.range or self.total_range,
            sub_names=(),
            criteria=(),
            totals=values,
            error_counts=None,
            sub_scores=None,
            other_outputs={},
            unscored_reasons={},
            num_computed=0,
            num_cached=self.num_computed + self.num_cached,
            seconds=0.0,
            output=output,
        )

    @property
    def may_be_averaged(self) -> bool:
        """False for the rewards of a reward model, whose best total depends on the reference, see `docs/score.md`."""
        is_reward = self.output == "total" and self.sub_names and self.total_range == (None, None)
        return not (is_reward and "quality" in self.other_outputs)

    @property
    def higher_is_better_totals(self) -> Floats:
        """(n,) totals, negated if lower is better."""
        return self.totals if self.higher_is_better else -self.totals

    def criterion_errors(self, tag: str, significant_only: bool = False) -> Floats | None:
        """Return the (n,) error counts of a criterion, or None if the scorer does not count it.

        If the scorer counts significant and insignificant errors separately, all errors are their sum.
        """
        tags = {SIGNIFICANT_PREFIX + tag}
        if not significant_only:
            tags |= {tag, INSIGNIFICANT_PREFIX + tag}
        columns = [index for index, name in enumerate(self.criteria) if name in tags]
        return self.error_counts[:, columns].sum(1) if self.error_counts is not None and columns else None

    def criterion_scores(self, tag: str) -> Floats | None:
        """Return the (n,) scores of a criterion, higher is better: the sub-score, else the negated count, else None."""
        if self.sub_scores is not None and tag in self.sub_names:
            return self.sub_scores[:, self.sub_names.index(tag)]
        errors = self.criterion_errors(tag)
        return None if errors is None else -errors


def run_scorer(
    name: str,
    load: Callable[[], Scorer],
    read_texts: Callable[[], Iterator[ScoredTexts]],
    cache_path: Path,
    on_advance: Callable[[int], None] = lambda pairs: None,
) -> ScorerRun:
    """Score pairs of reference and candidate. An error of the scorer ends the run and becomes its `failure`.

    Texts and evidence of only one chunk, see `Scorer.chunk_size`, are in memory. Chunks start at the same pairs in
    every run, so that a resumed run computes the same scores.

    Args:
        name: Name of the scorer.
        load: Creates the scorer.
        read_texts: Returns a new iterator over all pairs.
        cache_path: SQLite file of cached scores. Pairs with a cached score are not scored again; pairs without a score
            are retried.
        on_advance: Called with the number of pairs done since the last call.

    Raises:
        InputError: If the cache cannot be used.
    """
    start = time.monotonic()
    scorer = cache = failure = None
    keys = [pair_key(*texts) for texts in read_texts()]
    num_cached = 0
    try:
        scorer = load().fit_references(texts.reference for texts in read_texts())
        fingerprint = scorer.fingerprint()
    except Exception as error:  # scorers may be user code; the other scorers must still run
        failure = _one_line_error(error)
    else:
        cache = ScoreCache(cache_path, fingerprint)
        scored = _scored_keys(scorer, cache, keys)
        num_cached = sum(key in scored for key in keys)
        try:
            texts = read_texts()
            for begin in range(0, len(keys), scorer.chunk_size):
                chunk = keys[begin : begin + scorer.chunk_size]
                _score_missing(scorer, dict(zip(chunk, islice(texts, len(chunk)), strict=True)), scored, cache)
                on_advance(len(chunk))
        except Exception as error:
            failure = _one_line_error(error)
    num_tried, collected = _collect_scores(scorer, cache, keys)
    return ScorerRun(
        name=name,
        scorer=name,
        title=getattr(scorer, "title", "") or name,
        higher_is_better=getattr(scorer, "higher_is_better", True),
        total_range=getattr(scorer, "total_range", (None, None)),
        num_computed=num_tried - num_cached,
        num_cached=num_cached,
        cache=cache,
        failure=failure,
        **collected,
        seconds=time.monotonic() - start,
    )


def _scored_keys(scorer: Scorer, cache: ScoreCache, keys: Sequence[str]) -> set[str]:
    return {
        key
        for key, score in zip(keys, cache.read(keys), strict=True)
        if score and score.status in SCORED_STATUSES and None not in map(score.output, scorer.outputs)
    }


def _score_missing(scorer: Scorer, chunk: Mapping[str, ScoredTexts], scored: set[str], cache: ScoreCache) -> None:
    """Score and cache the pairs whose keys are not in `scored`, and add their keys."""
    missing = {key: texts for key, texts in chunk.items() if key not in scored}
    if missing:
        scores = score_pairs(scorer, Pairs(*zip(*missing.values(), strict=True)))
        results = dict(zip(missing, cached_scores(scores, len(missing)), strict=True))
        cache.put(results)
        scored |= {key for key, result in results.items() if result.status in SCORED_STATUSES}


def _collect_scores(scorer: Scorer | None, cache: ScoreCache | None, keys: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the number of pairs with a result, and the fields of `ScorerRun` that are computed from the results."""
    sub_names = tuple(scorer.sub_names) if scorer is not None else ()
    criteria = scorer.criteria.tags if scorer is not None and scorer.criteria else ()
    n, num_tried = len(keys), 0
    outputs = {output: np.full(n, np.nan) for output in (scorer.outputs if scorer is not None else ("total",))}
    sub_scores, error_counts = (np.full((n, len(names)), np.nan) for names in (sub_names, criteria))
    reasons: Counter[str] = Counter()
    for row, score in enumerate(cache.read(keys) if cache else ()):
        if score is None:
            continue
        num_tried += 1
        if score.status not in SCORED_STATUSES or score.total is None:
            reasons[score.status] += 1
            continue
        for output, column in outputs.items():
            value = score.output(output)
            column[row] = math.nan if value is None else value
        for array, values in ((sub_scores, score.sub_scores), (error_counts, score.error_counts)):
            if values is not None:
                array[row] = np.array(values, dtype=float)
    if num_tried < n:
        reasons["not scored, because the scorer failed"] = n - num_tried
    totals = outputs.pop("total")
    return num_tried, {
        "sub_names": sub_names,
        "criteria": criteria,
        "totals": totals,
        "sub_scores": None if np.isnan(sub_scores).all() else sub_scores,
        "error_counts": None if np.isnan(error_counts).all() else error_counts,
        "other_outputs": {name: values for name, values in outputs.items() if not (n and np.isnan(values).all())},
        "unscored_reasons": dict(reasons),
    }


def _one_line_error(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text.startswith("Expected") else f"{type(error).__name__}: {text}"
