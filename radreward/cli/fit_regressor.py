"""`radreward fit-regressor`: the overall score of sentence evaluation, regressed on known errors or ratings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from radreward.cli.judging import load_judge
from radreward.errors import InputError
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_line

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.io.terminal_tables import TerminalTable
    from radreward.systems.sentence_eval.cross_validation import RegressionData, RegressorResult
    from radreward.systems.sentence_eval.regressors.fit_regressors import ParamGrids
    from radreward.systems.sentence_eval.score_features import FeatureSet
    from radreward.systems.sentence_eval.scorer import SentenceScorer

FOLDS, INNER_FOLDS = 5, 3
PAIRS, JUDGED, JUDGED_FROM = ".radreward-pairs.jsonl", "judged.parquet", "judged.json"
HELD_OUT = "held_out.jsonl"
"""Predictions of the saved kind of regressor for each pair, fitted to the other references."""
FILES = (("scorer", "model"), ("metrics", "metrics.json"), ("held-out predictions", HELD_OUT))


def run(
    *,
    output: Path,
    data: Path | None = None,
    scores: Path | None = None,
    rater: str | None = None,
    criteria: str = "radcliq-significance",
    judge: str = "embedded",
    features: Literal["fractions", "findings"] = "findings",
    method: str = "best",
    search: Path | None = None,
    seed: int = 0,
) -> int:
    """Fit the overall score of sentence evaluation to known errors or ratings.

    Args:
        output: Folder for the scorer and its metrics.
        data: Groups or pairs with known errors, or with ratings. With --scores: rated pairs as for `benchmark`, joined
            by id; without --data, the target is the overall score in the file of --scores.
        scores: Sentence scores by people (`convert --from sentences`) or by any judge (`judge-sentences`), instead of
            judging --data; scores of several raters are averaged.
        rater: Rater whose values are used; only with --scores, for example the consensus.
        criteria: Preset (see `radreward list`) or YAML file of the criteria.
        judge: `embedded`, or the folder of a trained judge or of its run; it is saved with the regressor, and
            `judge-sentences --regressor` applies the regressor to any other judge.
        features: The eight score fractions of the paper, or these with counts of abnormal and urgent findings.
        method: The regressor to save; `best` has the highest agreement on held-out references.
        search: YAML file with the hyperparameters to choose from, by regressor; by default two choices per regressor.
        seed: Seed of all sampling; equal seeds give equal results.
    """
    source = scores or data
    if source is None:
        raise InputError("Expected --data or --scores but got neither.")
    if rater is not None and scores is None:
        raise InputError("--rater: Expected --scores with the scores of raters but got none.")
    with claimed_folder(output):
        from radreward.criteria import load_criteria

        loaded = load_criteria(criteria)
        _check_exist(data, scores)
        from radreward.systems.sentence_eval.regressors import default_param_grids, read_param_grids
        from radreward.systems.sentence_eval.scorer import SentenceScorer

        grids = read_param_grids(search) if search else default_param_grids()
        if method not in ("best", *grids):
            raise InputError(f"--method: Expected best or one of {', '.join(grids)} but got {method}.")
        scorer = SentenceScorer(load_judge(judge), feature_set=features)
        if scores is None:
            skipped = _judge(source, output, loaded, scorer)
            pairs, hashes = _read_judged(output / JUDGED, scorer.feature_names)
        else:
            pairs, hashes, skipped = _read_scores(scores, data, rater, scorer.feature_set)
        target = "rating" if scores else loaded.name
        try:
            results = _fit(output, method, seed, target, scorer, pairs, hashes, grids)
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
    make_console().print(_table(source, results, pairs))
    print_paths((name, output / path) for name, path in FILES)
    return _report_skipped(skipped, scores or output / JUDGED)


def _report_skipped(skipped: int, reasons: Path) -> int:
    """Print how many pairs were left out, if any, and return the exit code."""
    if skipped:
        print_line(f"Skipped: {skipped} pairs without sentence scores or target; see their status in {reasons}")
    return 1 if skipped else 0


def _check_exist(*paths: Path | None) -> None:
    for path in filter(None, paths):
        if not path.exists() and not str(path).startswith("hf:"):
            raise InputError(f"{path}: Expected groups or pairs but there is no such file or directory.")


def _judge(data: Path, output: Path, criteria: Criteria, scorer: SentenceScorer) -> int:
    """Write the features of every pair, unless an earlier run wrote them; return the number of failed pairs."""
    from radreward.data.records import data_fingerprint
    from radreward.io.artifacts import write_json
    from radreward.io.atomic import atomic_file
    from radreward.io.tables import read_rows
    from radreward.scorers.status import STATUS_OK
    from radreward.scoring import score_file

    source = {"data": data_fingerprint(data), "judge": scorer.fingerprint(), "criteria": criteria.to_dict()}
    note, judged = output / JUDGED_FROM, output / JUDGED
    if not judged.is_file() or not _is_judged_from(note, source):
        pairs = output / PAIRS
        with atomic_file(pairs) as new, new.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in _pairs(data, criteria))
        score_file(scorer, pairs, judged)
        pairs.unlink()
        write_json(note, source)
    return sum(row.values["status"] != STATUS_OK for batch in read_rows(judged) for row in batch)


def _is_judged_from(note: Path, source: Mapping[str, Any]) -> bool:
    """Return True if the note of an earlier run names this source; a missing or damaged note does not."""
    from radreward.io.artifacts import read_json

    try:
        return bool(read_json(note) == source)
    except InputError:
        return False


def _pairs(path: Path, criteria: Criteria) -> Iterator[dict[str, Any]]:
    """Yield one row per candidate, with the index of its reference and the target."""
    from radreward.data.collators.base import error_tensor
    from radreward.data.records import read_groups
    from radreward.data.split import normalize_text
    from radreward.systems.sentence_eval.scorer import reference_hash

    references: dict[str, int] = {}
    for group in read_groups(path, criteria):
        reference_index = references.setdefault(normalize_text(group.reference), len(references))
        for index, candidate in enumerate(group.candidates):
            errors = error_tensor(candidate, criteria, f"{path}, group {group.id!r}, candidate {index + 1}")
            yield {
                "id": f"{group.id}/{index}",
                "reference": group.reference,
                "candidate": candidate.text,
                "group": reference_index,
                "reference_hash": reference_hash(group.reference),
                "target": float(criteria.total(criteria.target_rewards(errors))),
            }


def _read_judged(path: Path, names: Sequence[str]) -> tuple[RegressionData, list[str]]:
    """Return the data of judged groups, and the hashes of their references."""
    import numpy as np

    from radreward.io.tables import read_rows
    from radreward.scorers.status import STATUS_OK
    from radreward.systems.sentence_eval.cross_validation import RegressionData

    rows = [row.values for batch in read_rows(path) for row in batch if row.values["status"] == STATUS_OK]
    if not rows:
        raise InputError(f"{path}: Expected at least one pair with sentence scores but got none.")
    data = RegressionData(
        np.array([[row[name] for name in names] for row in rows], dtype=np.float64),
        np.array([math.nan if row["total"] is None else row["total"] for row in rows], dtype=np.float64),
        np.array([row["target"] for row in rows], dtype=np.float64),
        np.array([row["group"] for row in rows]),
        np.array([row["id"] for row in rows], dtype=np.str_),
    )
    return data, sorted({row["reference_hash"] for row in rows})


def _read_scores(
    scores: Path, rated: Path | None, rater: str | None, features: FeatureSet
) -> tuple[RegressionData, list[str], int]:
    """Return the data of a file of sentence scores, with targets of rated pairs if given, and hashes of its references.

    The last value is the number of pairs that are left out.
    """
    from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
    from radreward.systems.sentence_eval.cross_validation import regression_data
    from radreward.systems.sentence_eval.judgement_io import read_judged_pairs, select_rater
    from radreward.systems.sentence_eval.scorer import reference_hash

    targets = None
    if rated is not None:
        rows = read_rated_pairs(rated, rater).rows
        means = {row.id: [value for value in row.ratings.values() if not math.isnan(value)] for row in rows}
        targets = {row.id: (sum(means[row.id]) / len(means[row.id]), row.group) for row in rows if means[row.id]}
        if not targets:
            raise InputError(f"{rated}: Expected ratings of pairs but got none.")
    try:
        pairs = read_judged_pairs(scores)
        if rater is not None and not (rated and all(pair.rater is None for pair in pairs)):  # else scores of a judge
            pairs = select_rater(pairs, rater)
        data, skipped = regression_data(pairs, features, targets)
    except InputError as error:
        raise InputError(error if str(error).startswith(str(scores)) else f"{scores}: {error}") from error
    return data, sorted({reference_hash(" ".join(pair.reference)) for pair in pairs}), skipped


def _fit(
    output: Path,
    method: str,
    seed: int,
    target: str,
    scorer: SentenceScorer,
    pairs: RegressionData,
    fitted_references: list[str],
    grids: ParamGrids,
) -> list[RegressorResult]:
    """Cross-validate all regressors, save the selected one, and return all results, the unregressed one first."""
    from radreward.io.artifacts import write_json
    from radreward.io.numbers import finite_or_none
    from radreward.io.progress import ProgressReporter
    from radreward.systems.sentence_eval.cross_validation import RAW_OVERALL, fit_best, nested_cross_validation
    from radreward.systems.sentence_eval.scorer import FITTED_REFERENCES, SentenceScorer

    with ProgressReporter() as progress:
        task = progress.add_task("cross-validation", len(grids), unit="regressors")
        results = nested_cross_validation(
            pairs, grids, FOLDS, INNER_FOLDS, seed, on_progress=lambda _: progress.advance(task)
        )
    candidates = [entry for entry in results if method in ("best", entry.name)]
    best, fitted = fit_best(pairs, candidates, seed)
    summary = {
        "pairs": len(pairs.target),
        "references": len(set(pairs.reference_ids.tolist())),
        "criteria": target,
    }
    training_info = {"regressor": best.name, "settings": best.params, "seed": seed, **summary}
    training_info[FITTED_REFERENCES] = fitted_references
    SentenceScorer(scorer.judge, fitted, scorer.feature_set, training_info).save_pretrained(output / "model")
    metrics = {**summary, "features": scorer.feature_set, "max_tau_b": _max_tau_b(pairs)}
    metrics["tau_b"] = {
        entry.name: {
            "mean": finite_or_none(entry.tau_b, 6),
            "std": finite_or_none(entry.tau_b_std, 6),
            "settings": entry.params,
        }
        for entry in results
    }
    write_json(output / "metrics.json", metrics)
    _write_held_out(output / HELD_OUT, pairs, best)
    return sorted(results, key=lambda entry: entry.name != RAW_OVERALL)


def _write_held_out(path: Path, pairs: RegressionData, result: RegressorResult) -> None:
    """Write the held-out predictions of a regressor, which `benchmark --scores` compares with ratings."""
    import pyarrow as pa

    from radreward.io.numbers import finite_or_none
    from radreward.io.tables import write_table

    schema = pa.schema({"id": pa.string(), "regressed": pa.float64(), "target": pa.float64()})
    columns = (pairs.ids.tolist(), map(finite_or_none, result.held_out.tolist()), pairs.target.tolist())
    write_table(path, schema, (dict(zip(schema.names, row, strict=True)) for row in zip(*columns, strict=True)))


def _max_tau_b(pairs: RegressionData) -> float:
    import torch

    from radreward.modules.agreement_metrics import max_tau_b

    return round(float(max_tau_b(torch.from_numpy(pairs.target))), 6)


def _table(data: Path, results: list[RegressorResult], pairs: RegressionData) -> TerminalTable:
    from radreward.io.terminal_tables import TerminalTable
    from radreward.io.text_tables import text_frame

    rows = [
        (
            entry.name.replace("-", " "),
            "–" if math.isnan(entry.tau_b) else f"{entry.tau_b:.3f} ± {entry.tau_b_std:.3f}",
        )
        for entry in results
    ]
    rows.append(("highest possible without ties", f"{_max_tau_b(pairs):.3f}"))
    title = f"{data}: {len(pairs.target)} candidates of {len(set(pairs.reference_ids.tolist()))} references"
    return TerminalTable(title, text_frame(["held-out references", "τ-b"], rows))
