"""Generated reports with a false finding added: quality must not rise, and is 1 for the reference; totals are shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from torch import Tensor

from experiments.compare_metrics import METRICS
from radreward.criteria import RadCliQCriteria
from radreward.scorers import load
from radreward.scorers.base import ScoreOutput
from radreward.sensitivity.error_edits import false_finding
from radreward.synthesis import synthesize
from radreward.text.report_parser import parse_report
from soak import Outcome

GROUPS = 200
"""Groups of complete reports, and as many of single statements, in the full run."""
CANDIDATES = 3
"""Generated candidates of a reference; the reference itself and a report of another patient are candidates too."""
REQUIRED: tuple[tuple[ScoreOutput, float], ...] = (("total", 0.0), ("quality", 0.99))
"""Share of the cases in which an output must not rise."""
TOLERANCE = 1e-5
"""Differences of scores that count as none, relative to their size."""
Case = tuple[str, str, str]


def run(scale: float) -> Iterator[Outcome]:
    """Yield the outcomes of each scorer, for the same cases."""
    references, candidates, worse = zip(*generated_cases(max(1, round(scale * GROUPS))), strict=True)
    for name in METRICS:
        scorer = load(name).fit_references(references)
        own, before, after = (scorer.score(references, texts) for texts in (references, candidates, worse))
        for output, required in REQUIRED[: 1 + scorer.has_quality]:
            best, low, high = (scorer.higher_is_better_output(scores, output) for scores in (own, before, after))
            yield _outcome(f"{output} does not rise with a false finding, {name}", low, high, required)
            yield _outcome(f"{output} is highest for the reference, {name}", best, low, float(output == "quality"))


def generated_cases(number: int) -> Iterator[Case]:
    """Yield reference, candidate, and candidate with a finding that neither mentions."""
    rng, other = Random(0), "Normal chest."
    for granularity in ("report", "statement"):
        groups = synthesize(RadCliQCriteria(), number, CANDIDATES, granularity=granularity)
        for group in islice(groups, number):
            for text in (group.reference, *(candidate.text for candidate in group.candidates), other):
                stated = (*parse_report(group.reference).sentences, *parse_report(text).sentences)
                yield group.reference, text, f"{text} {false_finding(stated, rng).text}"
            other = group.reference


def _outcome(name: str, expected: Tensor, value: Tensor, required: float) -> Outcome:
    """Return how many of the values that are scored are at most the expected ones."""
    rows = expected.isfinite() & value.isfinite()
    expected, value = expected[rows], value[rows]
    rise = value - expected
    rises = rise > TOLERANCE * expected.abs().clamp_min(1)
    note = f"rises in {100 * rises.float().mean():.1f} %, by up to {rise.max():.2f}" if rises.any() else ""
    return Outcome(name, len(rise), int((~rises).sum()), note, required)
