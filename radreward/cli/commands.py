"""What each command does; heavy imports happen inside."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors, warn_overwrite
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.scorers import Scorer
    from radreward.scoring.ray_backend import RayBackend


def fit(arguments: Sequence[str]) -> int:
    """Train, then show agreement and where everything lies."""
    with suppress_library_warnings():
        from radreward.cli.training import build_from_arguments
        from radreward.modules import render_metric_table

        with user_errors(constructing=True):
            training = build_from_arguments(arguments)
        run = training.run
        try:
            with user_errors():
                result = training.fit()
        except KeyboardInterrupt as error:
            if not run.last.is_file():
                raise KeyboardInterrupt("There is no checkpoint yet: start again with --overwrite=true.") from error
            again = shlex.join(entry for entry in arguments if not entry.startswith(("--ckpt_path", "--overwrite")))
            raise KeyboardInterrupt(f"Continue with: radreward fit {again} --ckpt_path=last") from error
        console = Console()
        if training.trainer.is_global_zero:
            console.print(render_metric_table(result, "Validation part", training.module.row_label))
            for name, path in (
                ("model", run.model),
                ("figures", run.metrics),
                ("checkpoints", run.checkpoints),
                ("settings", run.config),
                ("logs", run.logs),
            ):
                console.print(f"{name:<12} {path}", soft_wrap=True, highlight=False)
    return 0


def evaluate(options: Namespace) -> int:
    """Score candidates whose errors are known; 1 where some could not be scored."""
    with suppress_library_warnings(), user_errors():
        from radreward.data.records import file_fingerprint, read_groups
        from radreward.scorers.base import SCORED_STATUSES

        if options.output:
            _check_output(options.output)
        _check_input(options.data)
        scorer = _scorer(options)
        criteria = _criteria(options, scorer)
        groups = list(read_groups(options.data, criteria))
        known = [
            (number, group.reference, candidate, f"group {group.id!r}, candidate {place}")
            for number, group in enumerate(groups)
            for place, candidate in enumerate(group.candidates, 1)
        ]
        scores = scorer.score([reference for _, reference, *_ in known], [entry.text for *_, entry, _ in known])
        kept = [index for index, status in enumerate(scores.status) if status in SCORED_STATUSES]
        left_out = [
            f"{place}: {status}"
            for (*_, place), status in zip(known, scores.status, strict=True)
            if status not in SCORED_STATUSES
        ]
        if not kept:
            found = f"none; the first is {left_out[0]}" if left_out else "none"
            raise InputError(f"{options.data}: Expected candidates that can be scored but there is {found}.")
        import torch

        from radreward.modules import ScoredCandidates, render_metric_table, total_agreement, write_json
        from radreward.modules.agreement_metrics import reward_agreement

        errors = torch.stack([criteria.to_tensor(known[index][2].errors or {}) for index in kept])
        group = torch.tensor([known[index][0] for index in kept])
        if scorer.criteria is None or scores.sub_scores is None:
            totals = scores.total[kept] if scorer.higher_is_better else -scores.total[kept]
            result = total_agreement(criteria, totals, errors, group)
        else:
            counts = None if scores.error_counts is None else scores.error_counts[kept]
            result = reward_agreement(criteria, ScoredCandidates(scores.sub_scores[kept], errors, group), counts)
    Console().print(render_metric_table(result, f"{options.data}: {len(kept)} candidates of {len(groups)} references"))
    if options.output:
        write_json(
            options.output,
            {
                "model": options.model,
                "data": {str(options.data): file_fingerprint(options.data)},
                "candidates": len(kept),
                "left_out": len(left_out),
                "agreement": result,
            },
        )
        print(f"Figures: {options.output}")
    if left_out:
        print(
            f"Not scored and left out: {len(left_out)} of {len(known)} candidates; first {left_out[0]}", file=sys.stderr
        )
    return 1 if left_out else 0


def score(options: Namespace) -> int:
    """Score a file; 1 where rows were rejected."""
    with suppress_library_warnings(), user_errors():
        from radreward.scoring.resume import check_output, chunk_folder
        from radreward.scoring.score_file import score_file

        _check_input(options.input)
        check_output(options.output, options.input)
        engine = _on_ray(options) if options.engine == "ray" else None
        scorer = _scorer(options)
        if not chunk_folder(options.output).exists():  # no run that was killed goes on
            warn_overwrite(options.output)
        summary = score_file(scorer, options.input, options.output, backend=engine)
    print(
        f"{summary.rows - summary.rejected} of {summary.rows} rows scored in {summary.seconds:.1f} s: {summary.output}"
    )
    if summary.resumed:
        print(f"{summary.resumed} rows had been scored by an earlier run.")
    if summary.rejected:
        print(
            f"Rejected: {summary.rejected} of {summary.rows} rows, with reasons in {summary.rejects}", file=sys.stderr
        )
    return 1 if summary.rejected else 0


def synthesize(options: Namespace) -> int:
    """Make groups of references and candidates with exact errors."""
    with suppress_library_warnings(), user_errors(constructing=True):
        from radreward.criteria import load_criteria
        from radreward.synthesis import synthesize_files

        warn_overwrite(options.output / "groups.parquet")
        path = synthesize_files(
            options.output,
            load_criteria(options.criteria),
            options.groups,
            options.per_reference,
            options.seed,
            options.reports,
            options.column,
            options.length,
            options.most,
        )
    print(f"Groups: {path}, with a data card beside them.")
    return 0


def _check_input(path: Path) -> None:
    """Read its first rows: a file that cannot be used is told before a model is loaded."""
    from radreward.io.tables import read_rows

    if not path.is_dir() and not str(path).startswith("hf:"):
        next(read_rows(path), None)


def _criteria(options: Namespace, scorer: Scorer) -> Criteria:
    """What errors are stated by: the scorer's own, or for one without any those that are named."""
    from radreward.criteria import load_criteria

    named = load_criteria(options.criteria) if options.criteria else None
    if scorer.criteria is not None and named is not None and named != scorer.criteria:
        raise InputError(f"--criteria: {options.model} judges by {scorer.criteria.name}, not by {named.name}.")
    criteria = scorer.criteria or named
    if criteria is None:
        raise InputError(f"--criteria: Expected by what errors are stated: {options.model} has no criteria of its own.")
    return criteria


def _check_output(path: Path) -> None:
    """Make its folder: what cannot be written is told before anything is computed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from error
    if path.is_dir():
        raise InputError(f"{path}: Expected a file to write but it is a folder.")


def _scorer(options: Namespace) -> Scorer:
    from radreward.scorers import load

    return load(options.model, precision=options.precision, too_long=options.too_long)


def _on_ray(options: Namespace) -> RayBackend:
    from radreward.scorers import SCORERS, load
    from radreward.scoring.ray_backend import RayBackend

    # Workers stand in folders of their own.
    model = options.model if options.model in SCORERS else str(Path(options.model).expanduser().resolve())
    make = partial(load, model, precision=options.precision, too_long=options.too_long)
    with user_errors(constructing=True):
        return RayBackend(make, options.workers, options.ray_address)
