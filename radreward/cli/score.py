"""`radreward score`: scores of the candidates in a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from radreward.cli.errors import suppress_library_warnings, user_errors, warn_overwrite
from radreward.cli.inputs import check_input
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from radreward.scorers import Scorer
    from radreward.scoring.ray_backend import RayBackend


def run(
    *,
    input: Path,
    output: Path,
    model: str = "er2score",
    precision: Literal["fp32", "int8"] = "fp32",
    on_too_long: Literal["reject", "truncate"] = "reject",
    backend: Literal["local", "ray"] = "local",
    num_workers: int = 2,
    ray_address: str | None = None,
) -> int:
    """Score the candidates in a file against their references.

    Args:
        input: JSONL, CSV or Parquet file with the columns id, reference and candidate.
        output: File to write: JSONL, CSV or Parquet by its name.
        model: Name of a scorer (see `radreward list`), folder of a saved model, or folder of a run.
        precision: Precision of the backbone; int8 is faster on a CPU.
        on_too_long: Reject a report over the model's limit, or truncate it; its status says so.
        backend: Score in this process, or by the workers of a Ray cluster.
        num_workers: Number of Ray workers, one core each.
        ray_address: Address of a Ray cluster, or `auto`; by default one is started on this machine.
    """
    with suppress_library_warnings(), user_errors():
        from radreward.scorers import load
        from radreward.scoring import score_file
        from radreward.scoring.resume import check_output, chunk_folder

        check_input(input)
        check_output(output, input)
        with claimed_file(output):  # before a model is loaded; scoring claims it again
            pass
        settings = {"precision": precision, "on_too_long": on_too_long}
        engine = _ray_backend(model, settings, num_workers, ray_address) if backend == "ray" else None
        scorer = load(model, **settings)
        if not chunk_folder(output).exists():  # otherwise an interrupted run resumes
            warn_overwrite(output)
        summary = score_file(scorer, input, output, backend=engine)
    num_scored = summary.rows - summary.rejected
    print_line(f"{num_scored} of {summary.rows} rows scored in {summary.seconds:.1f} s: {summary.output}")
    if summary.resumed:
        print_line(f"{summary.resumed} rows were scored by an earlier run.")
    if summary.rejected:
        print_status(f"Rejected: {summary.rejected} of {summary.rows} rows; reasons in {summary.rejects}")
    return 1 if summary.rejected else 0


def _ray_backend(model: str, settings: Mapping[str, str], num_workers: int, address: str | None) -> RayBackend:
    from radreward.scorers import SCORERS, load
    from radreward.scoring.ray_backend import RayBackend

    # Workers run in folders of their own, so they need an absolute path.
    path = model if model in SCORERS else str(Path(model).expanduser().resolve())
    make: Callable[[], Scorer] = partial(load, path, **settings)
    with user_errors(constructing=True):
        return RayBackend(make, num_workers, address)
