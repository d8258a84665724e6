"""Training data without a language model: groups of a reference and candidates whose errors are known."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.progress import track

from radreward.criteria import Criteria
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import ReportPool
from radreward.synthesis.candidates import check_criteria
from radreward.synthesis.data_card import DataCard
from radreward.synthesis.error_profiles import ErrorProfile
from radreward.synthesis.group_generator import GroupGenerator
from radreward.synthesis.pairings import PAIRINGS, read_pairable_reports
from radreward.synthesis.report_reader import parse_editable_report, read_reports
from radreward.synthesis.report_styles import Granularity
from radreward.synthesis.tiered_writer import DraftedGroup
from radreward.text.facts import AnnotatedReport
from radreward.types import ReportGroup

logger = logging.getLogger(__name__)
LANGUAGE_CRITERIA = frozenset({"grammar", "medical_terminology", "clinical_history"})
_DEFAULT_MAX_FINDINGS = 4
_DEFAULT_GROUPS = 10_000


def synthesize(
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Sequence[str] | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
    profile: ErrorProfile | None = None,
    pairing: bool = False,
    generated: Sequence[str] | None = None,
    graded: bool = False,
) -> Iterator[ReportGroup]:
    """Return groups of one reference and its candidates, from the grammar or from given reports.

    A group depends on the seed and its number only. Given reports are references in turn; unparsed text is unchanged.

    Args:
        criteria: Criteria of the error counts; any tags of RadCliQ, RadCliQ with significance, CRIMSON and MRScore.
        groups: Number of groups.
        per_reference: Number of candidates per reference, of alternating tiers of quality.
        seed: Seed of all sampling.
        reports: Real reports to use as references, at least two.
        granularity: Complete reports, a quarter each brief, of usual length, with five to eight findings, and in the
            style of report generators; single statements, from which a model learns wording faster; or a few findings
            in plain words, for a model trained from scratch.
        max_findings: Maximum number of findings of a plain report, 4 by default.
        profile: Requested number of errors of each kind, in place of tiers of quality.
        pairing: Pair in equal parts as `PAIRINGS`, in place of tiers; given reports must be completely parsed.
        generated: Outputs of a report generator, one per given report: a fifth pairing.
        graded: State one finding right, partly right, and not at all, in place of tiers.

    Returns:
        Groups with at least two different totals, generated lazily.

    Raises:
        ValueError: If `groups` or `max_findings` is less than 1, or `per_reference` less than 2.
        InputError: If synthesis does not support the criteria, the options contradict each other, or no error can be
            made in a report.

    >>> from radreward.criteria import RadCliQCriteria
    >>> group = next(synthesize(RadCliQCriteria(), 1, seed=1))
    >>> len(group.candidates), set(group.candidates[0].errors) == set(RadCliQCriteria().tags)
    (3, True)
    """
    options = reports, granularity, max_findings, profile, pairing, generated, graded
    drafted = _draft_groups(criteria, groups, per_reference, seed, *options)
    return (entry.group for entry in drafted)


def _draft_groups(
    criteria: Criteria,
    groups: int,
    per_reference: int,
    seed: int,
    reports: Sequence[str] | None,
    granularity: Granularity,
    max_findings: int | None,
    profile: ErrorProfile | None,
    pairing: bool,
    generated: Sequence[str] | None,
    graded: bool,
) -> Iterator[DraftedGroup]:
    """Return groups with the tiers of their candidates, see `synthesize`."""
    limit = _DEFAULT_MAX_FINDINGS if max_findings is None else max_findings
    for name, value, minimum in (
        ("groups", groups, 1),
        ("per_reference", per_reference, 2),
        ("max_findings", limit, 1),
    ):
        if value < minimum:
            raise ValueError(f"Expected `{name}` to be >= {minimum} but got {value}.")
    check_criteria(criteria)
    judges_language = bool(LANGUAGE_CRITERIA & set(criteria.tags))
    if granularity != "report" and (judges_language or reports is not None):
        raise InputError("granularity: Expected `report` for given reports and for criteria that judge sections.")
    if max_findings is not None and granularity != "plain":
        raise InputError("max_findings: Expected `granularity` to be `plain`, which limits the number of findings.")
    if sum((profile is not None, pairing, graded)) > 1:
        raise InputError("profile: Expected one of a profile, pairings and graded candidates but got several.")
    if generated is not None and not (pairing and reports is not None and len(generated) == len(reports)):
        raise InputError("generated: Expected `pairing`, and one output per given report.")
    outputs = None if generated is None else _parse_reports(generated, "generated")
    generator = GroupGenerator(
        criteria=criteria,
        per_reference=per_reference,
        seed=seed,
        granularity=granularity,
        max_findings=limit,
        judges_language=judges_language,
        pool=ReportPool(_parse_reports(reports)) if reports is not None else None,
        profile=profile,
        pairings=(*PAIRINGS, *(("generated",) if outputs else ())) if pairing else (),
        outputs=outputs,
        graded=graded,
    )
    if pairing and generator.pool and len(generator.pool.parsed_indices) < len(generator.pool.reports):
        raise InputError("reports: Expected completely parsed reports for `pairing`.")
    return map(generator.generate, range(groups))


def _parse_reports(reports: Sequence[str], name: str = "reports") -> list[AnnotatedReport]:
    parsed = []
    for number, text in enumerate(reports):
        try:
            parsed.append(parse_editable_report(text))
        except ValueError as error:
            raise InputError(f"{name}[{number}]: {error}") from error
    return parsed


def synthesize_files(
    output: Path,
    criteria: Criteria,
    groups: int | None = None,
    per_reference: int = 3,
    seed: int = 0,
    reports: Path | None = None,
    text_column: str | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
    profile: ErrorProfile | None = None,
    pairing: bool = False,
    generated_column: str | None = None,
    graded: bool = False,
) -> Path:
    """Write `groups.parquet` and a data card into a folder.

    Args:
        output: The folder.
        criteria: Criteria of the error counts.
        groups: Number of groups; defaults to the number of reports with text, or 10,000 without `reports`.
        per_reference: Number of candidates per reference.
        seed: Seed of all sampling.
        reports: CSV, JSONL or Parquet file of real reports; by default, references are generated.
        text_column: Column of the text; by default `report`, `reference`, `text`, or `findings` and `impression`.
        granularity: Kind of generated texts, see `synthesize`.
        max_findings: Maximum number of findings of a plain report.
        profile: Requested number of errors of each kind, see `synthesize`.
        pairing: Pair in equal parts, see `synthesize`; reports that are not completely parsed are left out.
        generated_column: Column of a report generator's outputs: a fifth pairing.
        graded: State one finding right, partly right, and not at all, see `synthesize`.

    Returns:
        The Parquet file.

    Raises:
        InputError: If the reports cannot be used, or synthesis does not support the criteria.
    """
    if generated_column and not (pairing and reports):
        raise InputError("generated_column: Expected `reports` and `pairing`, which pairs a generator's outputs.")
    real, generated = None, None
    if reports and pairing:
        real, generated = read_pairable_reports(reports, text_column, generated_column)
    elif reports:
        real = read_reports(reports, text_column)
    if real and real.empty_rows:
        logger.warning(
            "%s: skipped %d rows without text, first row %d.", reports, len(real.empty_rows), real.empty_rows[0]
        )
    card = DataCard(criteria, seed, per_reference, reports.name if reports else None, real)
    texts = real.texts if real else None
    if groups is None:
        groups = len(texts) if texts is not None else _DEFAULT_GROUPS
    options = texts, granularity, max_findings, profile, pairing, generated, graded
    drafted = _draft_groups(criteria, groups, per_reference, seed, *options)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "groups.parquet"
    write_groups(path, track(card.count_groups(drafted), "Writing groups", total=groups))
    card.write(output)
    return path
