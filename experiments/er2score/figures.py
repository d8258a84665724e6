"""Figures of a reward model: generated held-out reports, probes of its counts and its order, real reports with codes.

python -m experiments.er2score.figures --model er2score --precision bf16 --openi indiana_reports.csv
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import torch
from jsonargparse import ArgumentParser
from scipy.stats import kendalltau
from torch import Tensor

from experiments.openi.studies import TEST_FRACTION, groups_from_codes, read_openi, split_studies
from radreward.cli.signature import add_signature
from radreward.criteria import Criteria
from radreward.criteria.error_counting import (
    FALSE_PREDICTION,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    count_errors,
    to_radcliq_counts,
)
from radreward.criteria.quality import finding_quality
from radreward.errors import InputError
from radreward.io.text_tables import format_number, markdown_table, text_frame
from radreward.modules.agreement_metrics import quality_agreement, reward_agreement
from radreward.modules.predictions import ScoredCandidates
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_in_chunks
from radreward.sensitivity.probe_reports import sample_probe_report
from radreward.sensitivity.probes import FALLING_PROBES, INVARIANCE_PROBES, perturb_report
from radreward.synthesis import synthesize
from radreward.synthesis.candidates import judge_draft, random_report_source, rewrite_candidate
from radreward.synthesis.perturbations.error_operators import add_false_finding, change_severity
from radreward.synthesis.perturbations.fact_edits import mirrored_location
from radreward.synthesis.perturbations.report_edits import paraphrase, replace_fact
from radreward.synthesis.report_styles import large_style, mixed_style
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.systems.er2score.statements import StatementEvidence
from radreward.text.facts import AnnotatedReport
from radreward.text.normalization import normalize_report
from radreward.text.report_parser import parse_report
from radreward.types import FindingWeights, LocatedError, ReportGroup

SIZES = (1, 3, 5, 7)
"""Numbers of findings of the reports in which errors are made."""
NUM_FINDINGS = range(5, 9)
"""Numbers of findings of full-size reports."""
QUALITY_TOLERANCE = 0.01
UNKNOWN_WEIGHTS = FindingWeights(math.nan, math.nan)
MARKED_ERRORS = 0.5
"""Expected errors from which a statement is marked."""
Pair = tuple[str, str]
Row = tuple[str, int, str]
"""What was measured, on how many pairs, and the figure."""


class PairScores(NamedTuple):
    """Scores of n pairs."""

    total: Tensor
    """(n,)."""
    rewards: Tensor
    """(n, N)."""
    counts: Tensor
    """(n, N) expected errors."""
    quality: Tensor | None
    """(n,)."""


def score_pairs(scorer: Scorer, pairs: Sequence[Pair]) -> PairScores:
    """Return the scores of pairs of reference and candidate.

    Raises:
        InputError: If the scorer counts no errors, or a pair has no score.
    """
    references, candidates = zip(*pairs, strict=True)
    scores = score_in_chunks(scorer, Pairs(references, candidates))
    if scores.sub_scores is None or scores.error_counts is None:
        raise InputError("--model: Expected a reward model with calibrated error counts.")
    if not scores.total.isfinite().all():
        raise InputError(f"--model: Expected a score for every pair but got {scores!r}.")
    return PairScores(scores.total, scores.sub_scores, scores.error_counts, scores.quality)


def group_rows(scorer: Scorer, criteria: Criteria, groups: Sequence[ReportGroup], name: str) -> Iterator[Row]:
    """Yield the agreement with the known errors of groups: τ-b, absolute error of counts, and AUC by criterion."""
    rows = [(index, group.reference, entry) for index, group in enumerate(groups) for entry in group.candidates]
    scores = score_pairs(scorer, [(reference, entry.text) for _, reference, entry in rows])
    errors = torch.stack([criteria.to_tensor(entry.errors or {}) for _, _, entry in rows])
    candidates = ScoredCandidates(scores.rewards, errors, torch.tensor([index for index, _, _ in rows]))
    agreement = reward_agreement(criteria, candidates, scores.counts)
    total = agreement["total"]
    yield f"{name}: τ-b of total", len(rows), _text(total["tau_b"])
    yield f"{name}: τ-b of a perfect ranking without ties", len(rows), _text(total["max_tau_b"])
    number = kendalltau(scores.counts.sum(1), errors.sum(1), nan_policy="raise").statistic
    yield f"{name}: τ-b of the expected with the true number of errors", len(rows), _text(float(number))
    yield f"{name}: mean absolute error of the number of errors", len(rows), _text(total["count_mae"])
    if scores.quality is not None:
        quality = torch.tensor([finding_quality(*(entry.finding_weights or UNKNOWN_WEIGHTS)) for _, _, entry in rows])
        figure = quality_agreement(scores.quality, quality, candidates.group)["tau_b"]
        yield f"{name}: τ-b of the quality with the true quality", int(quality.isfinite().sum()), _text(figure)
    for tag, wrong in zip(criteria.tags, (errors > 0).sum(0).tolist(), strict=True):
        yield f"{name}: AUC of {tag.replace('_', ' ')}; n: pairs with this error", wrong, _text(agreement[tag]["auc"])
    right = errors.sum(1) == 0
    if right.any():
        yield f"{name}: Expected errors of pairs without an error", int(right.sum()), _mean(scores.counts[right].sum(1))


def located_error_rows(scorer: Scorer, groups: Sequence[ReportGroup]) -> Iterator[Row]:
    """Yield how many errors show in a statement that is marked, and how many marked statements have an error."""
    if not (isinstance(scorer, RewardModelScorer) and scorer.has_evidence):
        return
    rows = [(group.reference, entry) for group in groups for entry in group.candidates]
    rows = [(reference, candidate) for reference, candidate in rows if candidate.located_errors is not None]
    scores = score_in_chunks(
        scorer, Pairs([reference for reference, _ in rows], [candidate.text for _, candidate in rows])
    )
    found, right = [], []
    for (_, candidate), evidence in zip(rows, scores.evidence or (), strict=True):
        marked = [entry for entry in evidence or () if sum(entry.errors.values()) >= MARKED_ERRORS]
        located = [entry for entry in candidate.located_errors or () if entry.errors]
        found += [any(is_statement_of(entry, errors) for entry in marked) for errors in located]
        right += [any(is_statement_of(entry, errors) for errors in located) for entry in marked]
    yield "5 to 8 findings: located errors with a marked statement", len(found), _share(found)
    yield "5 to 8 findings: marked statements with an error", len(right), _share(right)


def is_statement_of(evidence: StatementEvidence, located: LocatedError) -> bool:
    """Return True if a statement is one of the errors' statements, or a part of one, or the reverse."""
    return evidence.side == located.side and any(
        text in evidence.text or evidence.text in text for text in map(normalize_report, located.statements)
    )


def full_size_groups(criteria: Criteria, count: int, seed: int) -> list[ReportGroup]:
    """Return generated groups whose references state five to eight findings."""
    groups = synthesize(criteria, 40 * count, seed=seed)
    full_size = (group for group in groups if _num_findings(parse_report(group.reference)) in NUM_FINDINGS)
    return list(islice(full_size, count))


def _num_findings(report: AnnotatedReport) -> int:
    return len({fact.finding for fact in report.facts if fact.positive})


def _add_three(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    edited: AnnotatedReport | None = report
    for _ in range(3):
        edited = add_false_finding(edited, rng) if edited else None
    return edited


def _flip_side(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    options = [fact for fact in report.facts if fact.positive and mirrored_location(fact)]
    if not options:
        return None
    fact = rng.choice(options)
    return replace_fact(report, fact, fact._replace(location=mirrored_location(fact)), rng)


DOSES: dict[str, tuple[Callable[[AnnotatedReport, Random], AnnotatedReport | None], str, int]] = {
    "three false findings": (_add_three, FALSE_PREDICTION, 3),
    "a flipped side": (_flip_side, WRONG_LOCATION, 1),
    "a changed severity": (change_severity, WRONG_SEVERITY, 1),
}
"""Edits of a report, with the errors that they make."""


def dosed_report(size: int, rng: Random) -> list[str]:
    """Return a report with a number of findings, and the report after every edit of `DOSES`."""
    source = random_report_source(lambda rng: replace(large_style(rng), num_findings=size))
    while True:
        report = source(rng)
        texts = [report.text]
        for edit, tag, number in DOSES.values():
            edited = edit(report, rng) if _num_findings(report) == size else None
            counts = to_radcliq_counts(count_errors(report.facts, edited.facts)) if edited else {}
            if edited and counts[tag] == number == sum(counts.values()):
                texts.append(edited.text)
        if len(texts) == 1 + len(DOSES):
            return texts


def dose_rows(scorer: Scorer, count: int, seed: int) -> Iterator[Row]:
    """Yield the mean expected errors that edits add, in reports of several sizes."""
    rng = Random(f"doses {seed}")
    reports = [dosed_report(size, rng) for size in SIZES for _ in range(count)]
    counts = score_pairs(scorer, [(texts[0], text) for texts in reports for text in texts]).counts.sum(1)
    added = counts.reshape(len(SIZES), count, -1)
    added = added[:, :, 1:] - added[:, :, :1]
    for index, name in enumerate(DOSES):
        means = " / ".join(format_number(value) for value in added[:, :, index].mean(1).tolist())
        yield f"Expected errors added by {name}, in reports of 1 / 3 / 5 / 7 findings", 4 * count, means


def order_rows(scorer: Scorer, count: int, seed: int) -> Iterator[Row]:
    """Yield the share of correct steps of the order probes, and of constant scores of the equality probes."""
    rng = Random(f"order {seed}")
    reports = [sample_probe_report(rng) for _ in range(count)]
    for name, probes in (("order", FALLING_PROBES), ("equality", INVARIANCE_PROBES)):
        if name == "equality" and not scorer.has_quality:
            return
        numbered = list(enumerate(reports))
        perturbed = [perturb_report(probe, report, f"{seed} {n}") for probe in probes for n, report in numbered]
        pairs = [(entry.reference, text) for entry in perturbed for text in (entry.reference, *entry.perturbed)]
        scores = score_pairs(scorer, pairs)
        lengths = [1 + len(entry.perturbed) for entry in perturbed]
        for output, values in (("total", scores.total), ("quality", scores.quality)):
            numbers = iter([] if values is None else values.tolist())
            rows = [] if values is None else [list(islice(numbers, length)) for length in lengths]
            if rows and name == "order":
                falls = [[after < before for before, after in pairwise(row)] for row in rows]
                for index, probe in enumerate(probes):
                    steps = list(chain(*falls[index * count : (index + 1) * count]))
                    yield f"order probe {probe}: {output} falls with a step", len(steps), _share(steps)
                steps = list(chain(*falls))
                yield f"order probes: {output} falls with a step", len(steps), _share(steps)
            elif rows and output == "quality":
                equal = [abs(first - second) <= QUALITY_TOLERANCE for first, second in rows]
                yield "equality probes: quality within 0.01", len(equal), _share(equal)


def rewrite_rows(scorer: Scorer, pairs: Sequence[Pair], name: str) -> Iterator[Row]:
    """Yield the expected errors, and the share of qualities near 1, of rewritten reports without errors."""
    scores = score_pairs(scorer, pairs)
    yield f"{name}: Expected errors", len(pairs), _mean(scores.counts.sum(1))
    if scores.quality is not None:
        near = (scores.quality >= 1 - QUALITY_TOLERANCE).tolist()
        yield f"{name}: quality within 0.01 of 1", len(pairs), _share(near)


def generated_rewrites(count: int, seed: int) -> Iterator[Pair]:
    """Yield generated reports with the same facts in another style."""
    rng = Random(f"rewrites {seed}")
    while count:
        reference = random_report_source(mixed_style)(rng)
        draft = rewrite_candidate(reference, 0, mixed_style, rng)
        comparison = judge_draft(reference, draft).comparison
        if not comparison.weights.wrong and not comparison.errors:
            count -= 1
            yield reference.text, draft.report.text


def real_rows(scorer: Scorer, criteria: Criteria, csv: Path, num_groups: int, seed: int) -> Iterator[Row]:
    """Yield the agreement on real reports of different studies, and the errors expected in reworded real reports.

    The studies are those that `experiments.openi.groups` holds out.
    """
    studies = split_studies(read_openi(csv), TEST_FRACTION)[1]
    groups = list(groups_from_codes(studies, criteria, 3, num_groups, seed))
    yield from group_rows(scorer, criteria, groups, "Open-i")
    rng = Random(f"real {seed}")
    reports = [parse_report(study.text) for study in rng.sample(studies, k=min(num_groups, len(studies)))]
    pairs = [(report.text, paraphrase(report, rng).text) for report in reports]
    if reworded := [pair for pair in pairs if pair[0] != pair[1]]:
        yield from rewrite_rows(scorer, reworded, "Open-i, reworded and reordered")


def _text(value: float | None) -> str:
    return "–" if value is None else format_number(value)


def _mean(values: Tensor) -> str:
    return format_number(float(values.mean()))


def _share(passed: Sequence[bool]) -> str:
    return f"{100 * sum(passed) / len(passed):.1f} %" if passed else _text(None)


def main(
    *,
    model: str = "er2score",
    precision: Literal["fp32", "bf16"] = "fp32",
    groups: int = 100,
    reports: int = 30,
    openi: Path | None = None,
    seed: int = 2026,
) -> int:
    """Print the figures as a table; return 2 if the input cannot be used.

    Args:
        model: Name or folder of a reward model.
        precision: Precision of the backbone.
        groups: Number of generated groups and of rewritten reports; of real references, four times as many.
        reports: Number of generated reports per probe.
        openi: Open-i reports with the columns uid, MeSH, findings, impression.
        seed: Seed of all sampling; use one that no training data were made with.
    """
    try:
        scorer = load(model, precision=precision, on_too_long="truncate")
        if scorer.criteria is None:
            raise InputError(f"--model: Expected a reward model but {model} counts no errors.")
        full_size = full_size_groups(scorer.criteria, groups, seed)
        rows = [*group_rows(scorer, scorer.criteria, full_size, "5 to 8 findings")]
        rows += located_error_rows(scorer, full_size)
        rows += [*dose_rows(scorer, reports, seed), *order_rows(scorer, reports, seed)]
        rows += rewrite_rows(scorer, list(generated_rewrites(groups, seed)), "generated rewrites without errors")
        if openi:
            rows += real_rows(scorer, scorer.criteria, openi, 4 * groups, seed)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(markdown_table(text_frame([model, "n", "figure"], rows)))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
