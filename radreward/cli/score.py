"""`radreward score`: scores of the candidates in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from radreward.cli.errors import user_errors, warn_overwrite
from radreward.cli.inputs import check_input, check_minimum
from radreward.cli.scorer_options import ScorerOptions
from radreward.errors import InputError
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status
from radreward.scoring.input_columns import InputColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from radreward.scoring.backends import ScoringBackend


def run(
    *,
    input: Path,
    output: Path,
    columns: InputColumns,
    options: ScorerOptions,
    scorers: Sequence[str] = ("er2score",),
    num_workers: int = 0,
    ray_address: str | None = None,
    csv_formulas: Literal["quote", "keep"] = "quote",
) -> int:
    """Score the candidates in a file against their references.

    Args:
        input: File with one pair per row: JSONL, JSON, CSV or TSV, also with .gz, or Parquet; a folder of Parquet
            files; - for standard input.
        output: File to write: JSONL, CSV or Parquet by its name.
        columns: Columns of the input.
        options: Settings of the scorers.
        scorers: Names (see `radreward list`), folders of saved models or of runs, or my_file.py:my_metric; with
            --allow-download also owner/name of the Hugging Face Hub, where owner/name@commit pins a version. The
            columns of several start with their names, as in ratescore_total; mine=runs/first gives a name.
        num_workers: Number of processes that score, each with a model of its own; 0 to score in this process.
        ray_address: Address of a Ray cluster, or `auto`, whose workers, one core each, score instead of processes of
            this machine.
        csv_formulas: In a CSV output, `quote` puts an apostrophe before a text that a spreadsheet would evaluate, one
            with `=`, `+`, `-` or `@` at the start; `keep` leaves it as it is.
    """
    from radreward.scoring import load_scorers, score_file
    from radreward.scoring.chunk_store import check_output, chunk_folder

    check_minimum(0, num_workers=num_workers)
    if ray_address and not num_workers:
        raise InputError("--ray-address: Expected --num-workers, which score in the cluster, but got none.")
    check_input(input)
    check_output(output, input)
    with claimed_file(output):  # before a model is loaded; scoring claims it again
        pass
    settings = asdict(options)
    engine = _backend(scorers, settings, num_workers, ray_address) if num_workers else None
    loaded = load_scorers(scorers, **settings)
    if not chunk_folder(output).exists():  # otherwise an interrupted run resumes
        warn_overwrite(output)
    summary = score_file(loaded, input, output, backend=engine, columns=columns, csv_formulas=csv_formulas)
    num_scored = summary.rows - summary.rejected
    print_line(f"{num_scored} of {summary.rows} rows scored in {summary.seconds:.1f} s: {summary.output}")
    if summary.resumed:
        print_line(f"{summary.resumed} rows were scored by an earlier run.")
    if summary.rejected:
        print_status(f"Rejected: {summary.rejected} of {summary.rows} rows; reasons in {summary.rejects}")
    return 1 if summary.rejected else 0


def _backend(
    scorers: Sequence[str], settings: Mapping[str, Any], num_workers: int, ray_address: str | None
) -> ScoringBackend:
    from radreward.io.hub import parse_hub_name
    from radreward.scorers.loading import split_name
    from radreward.scoring.process_backend import ProcessBackend
    from radreward.scoring.score_columns import is_registered, load_scorers

    # Ray's workers run in folders of their own, so they need absolute paths.
    def absolute(scorer: str) -> str:
        name, model = split_name(scorer)
        if is_registered(model) or (parse_hub_name(model) and not Path(model).is_dir()):
            return scorer
        path = str(Path(model).expanduser().resolve())
        return f"{name}={path}" if name else path

    factory = partial(load_scorers, [absolute(scorer) for scorer in scorers], **settings)
    if ray_address is None:
        return ProcessBackend(factory, num_workers)
    from radreward.scoring.ray_backend import RayBackend

    with user_errors(constructing=True):
        return RayBackend(factory, num_workers, ray_address)
