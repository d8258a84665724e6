"""Training data from rules: groups of a reference and candidates with known errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from radreward.criteria import Criteria
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.io.progress import ProgressReporter
from radreward.synthesis.candidate_writer import CandidateWriter
from radreward.synthesis.data_card import DataCard
from radreward.synthesis.group_generator import GroupGenerator
from radreward.synthesis.report_reader import ReportTexts
from radreward.synthesis.report_styles import Granularity
from radreward.synthesis.tier_writer import TierWriter
from radreward.types import ReportGroup

logger = logging.getLogger(__name__)
_DEFAULT_GROUPS = 10_000


def synthesize(
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    *,
    seed: int = 0,
    reports: Sequence[str] | ReportTexts | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
    candidates: CandidateWriter | None = None,
) -> Iterator[ReportGroup]:
    """Return groups of one reference and its candidates, from the grammar or from given reports.

    A group depends on the seed and its number only. Given reports are references in turn; their unparsed text is not
    edited.

    Args:
        criteria: Criteria of the error counts; any tags of RadCliQ, RadCliQ with significance, CRIMSON and MRScore.
        groups: Number of groups.
        per_reference: Number of candidates per reference.
        seed: Seed of all sampling.
        reports: Real reports to use as references, at least two; `ReportTexts` can add a report generator's outputs.
        granularity: `report` for complete reports: a quarter each is brief, of usual length, with five to eight
            findings, and in the style of report generators. `statement` for single statements, from which a model
            learns wording faster. `plain` for a few findings in plain words, for a model trained from scratch.
        max_findings: Maximum number of findings of a plain report, 4 by default.
        candidates: Strategy that makes the candidates; alternating tiers by default.

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
    given = reports if reports is None or isinstance(reports, ReportTexts) else ReportTexts(list(reports), [])
    generator = GroupGenerator(
        criteria, per_reference, seed, given, granularity=granularity, max_findings=max_findings, candidates=candidates
    )
    return (generator.generate(number).group for number in _numbers(groups))


def _numbers(groups: int) -> range:
    if groups < 1:
        raise InputError(f"Expected `groups` to be >= 1 but got {groups}.")
    return range(groups)


def synthesize_files(
    output: Path,
    criteria: Criteria,
    groups: int | None = None,
    per_reference: int = 3,
    *,
    seed: int = 0,
    reports: Path | None = None,
    text_column: str | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
    candidates: CandidateWriter | None = None,
) -> Path:
    """Write `groups.parquet` and a data card into a folder.

    Args:
        output: Output folder.
        criteria: See `synthesize`.
        groups: Number of groups; defaults to the number of reports with text, or 10,000 without `reports`.
        per_reference: See `synthesize`.
        seed: See `synthesize`.
        reports: File of real reports, in any format of `read_rows`; by default, references are generated.
        text_column: Column of the text; by default `report`, `reference`, `text`, or `findings` and `impression`.
        granularity: See `synthesize`.
        max_findings: See `synthesize`.
        candidates: See `synthesize`.

    Returns:
        Path of the Parquet file.

    Raises:
        InputError: If the reports cannot be used, or for the reasons of `synthesize`.
    """
    candidates = candidates or TierWriter()
    given = candidates.read_reports(reports, text_column) if reports else None
    if given and given.empty_rows:
        logger.warning(
            "%s: skipped %d rows without text, first row %d.", reports, len(given.empty_rows), given.empty_rows[0]
        )
    generator = GroupGenerator(
        criteria, per_reference, seed, given, granularity=granularity, max_findings=max_findings, candidates=candidates
    )
    if groups is None:
        groups = len(given.texts) if given else _DEFAULT_GROUPS
    written = map(generator.generate, _numbers(groups))
    card = DataCard(criteria, seed, per_reference, reports.name if reports else None, given)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "groups.parquet"
    counted = card.count_groups(written)
    write_groups(path, ProgressReporter().track(counted, "Writing groups", groups, "groups"))
    card.write(output)
    return path
