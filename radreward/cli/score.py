"""`radreward score`: scores of the candidates in a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from radreward.cli.errors import suppress_library_warnings, user_errors, warn_overwrite
from radreward.cli.inputs import check_input
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from radreward.scoring.ray_backend import RayBackend


def run(
    *,
    input: Path,
    output: Path,
    models: Sequence[str] = ("er2score",),
    reference: str = "reference",
    candidate: str = "candidate",
    id: str | None = None,
    precision: Literal["fp32", "bf16"] = "fp32",
    on_too_long: Literal["reject", "truncate"] = "reject",
    allow_download: bool = False,
    backend: Literal["local", "ray"] = "local",
    num_workers: int = 2,
    ray_address: str | None = None,
    csv_formulas: Literal["quote", "keep"] = "quote",
) -> int:
    """Score the candidates in a file against their references.

    Args:
        input: JSONL, CSV or Parquet file with one pair per row.
        output: File to write: JSONL, CSV or Parquet by its name.
        models: Names of scorers (see `radreward list`), folders of saved models, or folders of runs. The columns of
            several start with their names, as in ratescore_total. With --allow-download also owner/name of the
            Hugging Face Hub; owner/name@commit pins a version.
        reference: Column of the references.
        candidate: Column of the candidates.
        id: Column of the ids; by default `id`, or numbers of the rows if there is none.
        precision: Precision of the backbone; bf16 is faster, on a CPU with AMX or AVX512-BF16, and less exact.
        on_too_long: Reject a report over the model's limit, or truncate it; its status says so.
        allow_download: Download models from the Hub that are not on this machine; no report is sent.
        backend: Score in this process, or by the workers of a Ray cluster.
        num_workers: Number of Ray workers, one core each.
        ray_address: Address of a Ray cluster, or `auto`; by default one is started on this machine.
        csv_formulas: In a CSV output, put an apostrophe before texts that a spreadsheet would evaluate (`=`, `+`, `-`,
            `@` at the start), or keep them as they are.
    """
    with suppress_library_warnings(), user_errors():
        from radreward.scoring import load_scorers, score_file
        from radreward.scoring.input_scan import InputColumns
        from radreward.scoring.resume import check_output, chunk_folder

        check_input(input)
        check_output(output, input)
        with claimed_file(output):  # before a model is loaded; scoring claims it again
            pass
        settings = {"precision": precision, "on_too_long": on_too_long, "allow_download": allow_download}
        engine = _ray_backend(models, settings, num_workers, ray_address) if backend == "ray" else None
        scorers = load_scorers(models, **settings)
        if not chunk_folder(output).exists():  # otherwise an interrupted run resumes
            warn_overwrite(output)
        columns = InputColumns(reference, candidate, id)
        summary = score_file(scorers, input, output, backend=engine, columns=columns, csv_formulas=csv_formulas)
    num_scored = summary.rows - summary.rejected
    print_line(f"{num_scored} of {summary.rows} rows scored in {summary.seconds:.1f} s: {summary.output}")
    if summary.resumed:
        print_line(f"{summary.resumed} rows were scored by an earlier run.")
    if summary.rejected:
        print_status(f"Rejected: {summary.rejected} of {summary.rows} rows; reasons in {summary.rejects}")
    return 1 if summary.rejected else 0


def _ray_backend(
    models: Sequence[str], settings: Mapping[str, Any], num_workers: int, address: str | None
) -> RayBackend:
    from radreward.io.hub import parse_hub_name
    from radreward.scoring.ray_backend import RayBackend
    from radreward.scoring.score_columns import is_registered, load_scorers

    # Workers run in folders of their own, so they need absolute paths.
    def is_path(name: str) -> bool:
        return not is_registered(name) and (parse_hub_name(name) is None or Path(name).is_dir())

    paths = [str(Path(name).expanduser().resolve()) if is_path(name) else name for name in models]
    with user_errors(constructing=True):
        return RayBackend(partial(load_scorers, paths, **settings), num_workers, address)
