"""`radreward regress`: fit the overall score of sentence-level evaluation to known errors or ratings."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.judge_sentences import load_judge
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.systems.sentence_eval.cross_validation import RegressionData, RegressorResult
    from radreward.systems.sentence_eval.scorer import SentenceScorer

FOLDS, INNER = 5, 3
PAIRS, JUDGED, MADE = "pairs.jsonl", "judged.parquet", "judged.json"


def add(parser: ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--data", required=True, type=Path, help="groups or pairs with known errors, or with ratings")
    parser.add_argument(
        "--criteria", default="radcliq-significance", help="preset or YAML by which errors or ratings are stated"
    )
    parser.add_argument(
        "--judge", default="embedded", help="`embedded`, or the folder or run of a judge that was trained here"
    )
    parser.add_argument(
        "--features",
        choices=("shares", "findings"),
        default="findings",
        help="the eight shares of scores, as published, or with counts of what is abnormal and urgent",
    )
    parser.add_argument(
        "--regressor", default="best", help="the one to save; best is the one that agrees most on held-out references"
    )
    parser.add_argument("--seed", type=int, default=0, help="of folds and draws")
    parser.add_argument("--output", required=True, type=Path, help="folder for the scorer and its figures")


def run(options: Namespace) -> int:
    """Judge, cross-validate, fit, save; 1 where pairs could not be judged."""
    with suppress_library_warnings(), user_errors():
        from radreward.criteria import load_criteria

        criteria = load_criteria(options.criteria)
        if not options.data.exists():
            raise InputError(f"{options.data}: cannot be read (No such file or directory).")
        from radreward.systems.sentence_eval.regressors import REGRESSORS

        if options.regressor not in ("best", *REGRESSORS):
            raise InputError(
                f"--regressor: Expected best or one of {', '.join(REGRESSORS)} but got {options.regressor}."
            )
        scorer = _unregressed(options)
        options.output.mkdir(parents=True, exist_ok=True)
        left_out = _judge(options, criteria, scorer)
        pairs = _judged(options.output / JUDGED, scorer.feature_names)
        found = _fit(options, criteria, scorer, pairs)
    _show(found, pairs, options)
    if left_out:
        print(f"Left out: {left_out} pairs without scores of sentences, with reasons in {options.output / JUDGED}")
    return 1 if left_out else 0


def _unregressed(options: Namespace) -> SentenceScorer:
    from radreward.systems.sentence_eval.scorer import SentenceScorer

    return SentenceScorer(load_judge(options.judge), feature_set=options.features)


def _judge(options: Namespace, criteria: Criteria, scorer: SentenceScorer) -> int:
    """Write the shares of every pair, unless that was done; how many have none."""
    from radreward.data.records import file_fingerprint
    from radreward.io.tables import read_rows
    from radreward.scorers.base import STATUS_OK
    from radreward.scoring.score_file import score_file

    made = {"data": file_fingerprint(options.data), "judge": scorer.fingerprint(), "criteria": criteria.to_dict()}
    note, judged = options.output / MADE, options.output / JUDGED
    if not note.is_file() or not judged.is_file() or json.loads(note.read_text(encoding="utf-8")) != made:
        source = options.output / PAIRS
        with source.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in _rows(options.data, criteria))
        score_file(scorer, source, judged)
        source.unlink()
        note.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    return sum(row.values["status"] != STATUS_OK for batch in read_rows(judged) for row in batch)


def _rows(path: Path, criteria: Criteria) -> Iterator[dict[str, Any]]:
    """A row for every candidate, with the number of its reference and the target."""
    from radreward.data.collators.base import error_tensor
    from radreward.data.records import read_groups
    from radreward.data.split import normalize_text

    references: dict[str, int] = {}
    for group in read_groups(path, criteria):
        number = references.setdefault(normalize_text(group.reference), len(references))
        for place, candidate in enumerate(group.candidates):
            errors = error_tensor(candidate, criteria, f"{path}, group {group.id!r}, candidate {place + 1}")
            target = float(criteria.total_quality(criteria.quality(errors)))
            name = f"{group.id}/{place}"
            texts = {"reference": group.reference, "candidate": candidate.text}
            yield {"id": name, **texts, "group": number, "target": target}


def _judged(path: Path, names: Sequence[str]) -> RegressionData:
    import numpy as np

    from radreward.io.tables import read_rows
    from radreward.scorers.base import STATUS_OK
    from radreward.systems.sentence_eval.cross_validation import RegressionData

    rows = [row.values for batch in read_rows(path) for row in batch if row.values["status"] == STATUS_OK]
    if not rows:
        raise InputError(f"{path}: Expected pairs whose sentences have scores but there is none.")
    return RegressionData(
        np.array([[row[name] for name in names] for row in rows], dtype=np.float64),
        np.array([math.nan if row["total"] is None else row["total"] for row in rows], dtype=np.float64),
        np.array([row["target"] for row in rows], dtype=np.float64),
        np.array([row["group"] for row in rows]),
    )


def _fit(
    options: Namespace, criteria: Criteria, scorer: SentenceScorer, pairs: RegressionData
) -> list[RegressorResult]:
    from rich.progress import Progress

    from radreward.systems.sentence_eval.cross_validation import RAW_OVERALL, fit_best, nested_cross_validation
    from radreward.systems.sentence_eval.regressors import REGRESSORS
    from radreward.systems.sentence_eval.scorer import SentenceScorer

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("cross-validation", total=len(REGRESSORS))
        try:
            found = nested_cross_validation(
                pairs, folds=FOLDS, inner_folds=INNER, seed=options.seed, on_progress=lambda _: bar.advance(task)
            )
            wanted = [entry for entry in found if options.regressor in ("best", entry.name)]
            best, regressor = fit_best(pairs, wanted, options.seed)
        except InputError as error:
            raise InputError(f"{options.data}: {error}") from error
    figures = {
        "pairs": len(pairs.target),
        "references": len(set(pairs.reference_ids.tolist())),
        "criteria": criteria.name,
        "features": scorer.feature_set,
        "tau_b_limit": _limit(pairs),
        "tau_b": {
            entry.name: {
                "mean": None if math.isnan(entry.tau_b) else round(entry.tau_b, 6),
                "deviation": None if math.isnan(entry.tau_b_std) else round(entry.tau_b_std, 6),
                "settings": entry.params,
            }
            for entry in found
        },
    }
    training = {
        "regressor": best.name,
        "settings": best.params,
        "seed": options.seed,
        **{k: figures[k] for k in ("pairs", "references", "criteria")},
    }
    SentenceScorer(scorer.judge, regressor, scorer.feature_set, training).save_pretrained(options.output / "model")
    text = json.dumps(figures, indent=2) + "\n"
    (options.output / "figures.json").write_text(text, encoding="utf-8")
    return [entry for entry in found if entry.name == RAW_OVERALL] + [e for e in found if e.name != RAW_OVERALL]


def _limit(pairs: RegressionData) -> float:
    import torch

    from radreward.modules.agreement_metrics import max_tau_b

    return round(float(max_tau_b(torch.from_numpy(pairs.target))), 6)


def _show(found: list[RegressorResult], pairs: RegressionData, options: Namespace) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"{options.data}: {len(pairs.target)} candidates of {len(set(pairs.reference_ids.tolist()))} references"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("held-out references", no_wrap=True)
    table.add_column("τ-b", justify="right")
    for entry in found:
        shown = "–" if math.isnan(entry.tau_b) else f"{entry.tau_b:.3f} ± {entry.tau_b_std:.3f}"
        table.add_row(entry.name.replace("-", " "), shown)
    table.add_section()
    table.add_row("highest possible without ties", f"{_limit(pairs):.3f}")
    console = Console()
    console.print(table)
    for name, path in (("scorer", "model"), ("figures", "figures.json"), ("features", JUDGED)):
        console.print(f"{name:<12} {options.output / path}", soft_wrap=True, highlight=False)
