"""`radreward benchmark`: agreement of metrics with radiologists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from radreward.cli.inputs import check_minimum, check_scorers
from radreward.cli.scorer_options import ScorerOptions
from radreward.errors import InputError
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder

if TYPE_CHECKING:
    from radreward.llm import ChatModel
    from radreward.meta_evaluation.benchmark import BenchmarkResult
    from radreward.meta_evaluation.rated_pairs import RatedPairs
    from radreward.meta_evaluation.score_column import ScoreColumn
    from radreward.scorers import Scorer
    from radreward.sensitivity.run import ProbeResult


def run(
    *,
    output: Path,
    options: ScorerOptions,
    scorers: Sequence[str] = (),
    data: Path | None = None,
    scores: Sequence[str] = (),
    rater: str | None = None,
    preferences: Path | None = None,
    direct_judge: str | None = None,
    probes: int = 0,
    bootstrap: int = 1000,
    seed: int = 0,
) -> int:
    """Compare metrics with radiologists' ratings, with intervals, tests and a page.

    Args:
        output: Folder for the page, the tables and the scores.
        options: Settings of the scorers.
        scorers: Names (see `radreward list`), folders of saved models or of runs, or my_file.py:my_metric.
        data: Rated pairs; `radreward convert` writes them.
        scores: Scores in files, as FILE:COLUMN, or FILE:-COLUMN if a lower score is better; joined with --data by id.
        rater: Rater whose values are used; by default, the mean over all raters.
        preferences: Pairs of candidates with the candidate that radiologists prefer.
        direct_judge: Language model on this machine that chooses the better candidate of each preference, with both in
            one prompt; a folder, or a downloaded model of the Hub.
        probes: Number of generated reports for sensitivity tests; 0 for none.
        bootstrap: Number of bootstrap resamples.
        seed: Seed of all sampling; equal seeds give equal results.
    """
    with claimed_folder(output):
        _check(data, preferences, direct_judge, probes, bootstrap, [*scorers, *scores], scores)
        check_scorers(scorers)
        from radreward.meta_evaluation.preferences import read_preferences
        from radreward.meta_evaluation.rated_pairs_io import unrated_message

        pairs, columns = _read_pairs(data, rater, scores)
        preferred = read_preferences(preferences) if preferences else []
        if data and not (pairs.targets or preferred or probes):
            raise InputError(unrated_message(data))
        from radreward.io.progress import ProgressReporter
        from radreward.meta_evaluation.benchmark import BenchmarkSettings, run_benchmark
        from radreward.meta_evaluation.benchmark_files import write_benchmark
        from radreward.scorers import load
        from radreward.sensitivity.run import run_sensitivity_tests

        files = [*filter(None, (data, preferences)), *(column.name.path for column in columns.values())]
        loaders: dict[str, Callable[[], Scorer]] = {name: partial(load, name, **asdict(options)) for name in scorers}
        settings = BenchmarkSettings(bootstrap, seed)
        judge = _load_judge(direct_judge, options.device) if direct_judge else None
        with ProgressReporter() as progress:
            metrics = loaders | {name: partial(_identity, column) for name, column in columns.items()}
            result = run_benchmark(pairs, metrics, output, settings, files, preferred, progress, judge)
            probed = []
            if probes:
                describe = partial(progress.describe, progress.add_task("sensitivity tests"))
                probed = run_sensitivity_tests(loaders, probes, seed, output, describe)
            result.sections["probes"] = probed
        written = write_benchmark(result, output)
    _print_results(result, probed, written)
    return 0 if result.succeeded else 1


def _read_pairs(
    data: Path | None, rater: str | None, scores: Sequence[str]
) -> tuple[RatedPairs, dict[str, ScoreColumn]]:
    """Return the rated pairs, and the columns of scores for them by name."""
    from radreward.meta_evaluation.rated_pairs import RatedPairs
    from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs

    pairs = read_rated_pairs(data, rater) if data else RatedPairs([])
    if not scores:
        return pairs, {}
    from radreward.meta_evaluation.score_column import ColumnName, ScoreColumn, fitted_notes

    columns = {name: ScoreColumn(ColumnName.parse(name), pairs) for name in scores}
    pairs.notes = (*pairs.notes, *fitted_notes(columns.values()))
    return pairs, columns


def _identity(column: ScoreColumn) -> Scorer:
    return column


def _load_judge(name: str, device: str) -> ChatModel:
    from radreward.llm import LocalChatModel  # slow to import

    return LocalChatModel(name, device=device, local_files_only=True)


def _print_results(result: BenchmarkResult, probed: list[ProbeResult], written: Sequence[Path]) -> None:
    """Print tables, notes and the paths of the files."""
    from radreward.io.terminal_tables import TerminalTable
    from radreward.meta_evaluation.benchmark_tables import footnote, result_notes, terminal_tables
    from radreward.sensitivity.run import sensitivity_tables

    console = make_console()
    values = result.to_dict()
    tables = list(terminal_tables(values))
    for title, frame in tables:
        console.print(TerminalTable(title, frame), "")
    for table in sensitivity_tables(probed) if probed else ():
        console.print(table, "")
    for note in filter(None, (footnote(tables), *result_notes(values))):
        console.print(note)
    print_paths((path.name, path) for path in written)


def _check(
    data: Path | None,
    preferences: Path | None,
    direct_judge: str | None,
    probes: int,
    bootstrap: int,
    metrics: Sequence[str],
    scores: Sequence[str],
) -> None:
    """Check settings before anything slow is imported."""
    if not metrics:
        raise InputError("Expected --scorers or --scores, or both, but got neither.")
    if repeated := [name for name, count in Counter(scores).items() if count > 1]:
        raise InputError(f"--scores: Expected different columns but {repeated[0]!r} is listed twice.")
    if scores and (preferences or not data):
        raise InputError("--scores: Expected --data without --preferences, because scores are joined with it by id.")
    if not data and not preferences:
        raise InputError("Expected --data or --preferences, or both, but got neither.")
    if direct_judge and not preferences:
        raise InputError("--direct-judge: Expected --preferences with the pairs to compare but got none.")
    check_minimum(0, bootstrap=bootstrap, probes=probes)
