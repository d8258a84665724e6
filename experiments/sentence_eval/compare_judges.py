"""Agreement of people and judges on sentence scores (Fig. 3) and overall scores (Fig. 2, Table IV) of Zhu et al. 2024.

Files are those of `radreward convert --from sentences` and `radreward judge-sentences`, such as one with explanations
and one with `--no-explanation`. A file of `judge-sentences --regressor` has a second row, with the regressed scores.
Judge the sentences of people's file, as below: pairs that others split differently are left out of κ and counted.
`--rater` compares with one rater of the first file, such as the consensus.

radreward judge-sentences --input runs/human.jsonl --output runs/judged.jsonl
python experiments/sentence_eval/compare_judges.py runs/human.jsonl runs/judged.jsonl
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from scipy import stats
from torchmetrics.functional.classification import multiclass_confusion_matrix

from radreward.data.relation_io import RELATION_SCORES
from radreward.errors import InputError
from radreward.metrics import cohen_kappa
from radreward.metrics.functional import kendall_tau_b
from radreward.systems.sentence_eval.judgement import round_to_score
from radreward.systems.sentence_eval.judgement_io import JudgedPair, read_judged_pairs, select_rater

Annotations = dict[str, JudgedPair]
"""Judged pairs of one annotator by id."""


def read_annotators(files: list[Path], rater: str | None = None) -> dict[str, Annotations]:
    """Return the judged pairs of each rater of a file, or of its judge; a given rater of the first file is first.

    Raises:
        InputError: If the first file has no such rater, or a file is invalid.
    """
    annotators: dict[str, Annotations] = {}
    for number, file in enumerate(files):
        pairs = read_judged_pairs(file)
        for pair in (select_rater(pairs, rater) if rater and not number else []) + pairs:
            annotators.setdefault(f"{file.stem} {pair.rater or ''}".strip(), {})[pair.id] = pair
    return annotators


def sentence_kappa(first: Annotations, second: Annotations) -> tuple[float, int, int]:
    """Return Cohen's κ of the sentence scores, the number of sentences that both scored, and of pairs left out.

    Pairs that are split into different sentences are left out.

    Raises:
        InputError: If no sentence is left.
    """
    scores: list[tuple[float, float]] = []
    left_out = 0
    for pair_id in first.keys() & second.keys():
        left, right = first[pair_id], second[pair_id]
        if (left.reference, left.candidate) != (right.reference, right.candidate):
            left_out += 1
            continue
        sides = (left.judgement.reference_scores, right.judgement.reference_scores)
        others = (left.judgement.candidate_scores, right.judgement.candidate_scores)
        for a, b in [*zip(*sides, strict=True), *zip(*others, strict=True)]:
            if a is not None and b is not None:
                scores.append((round_to_score(a.score), round_to_score(b.score)))
    if not scores:
        raise InputError(
            f"Expected sentences that both annotators scored but got none: {left_out} of "
            f"{len(first.keys() & second.keys())} pairs of both are split into different sentences. Judge the "
            "sentences of the first file: radreward judge-sentences --input FIRST."
        )
    first_class, second_class = torch.tensor([[*map(RELATION_SCORES.index, row)] for row in scores]).T
    counts = multiclass_confusion_matrix(second_class, first_class, len(RELATION_SCORES))
    return float(cohen_kappa(counts)), len(scores), left_out


Scores = dict[str, float | None]
"""Overall score by the id of the pair."""


def overall_scores(annotators: dict[str, Annotations]) -> dict[str, Scores]:
    """Return the overall scores of each annotator, and, as a row of their own, those that a regressor predicts."""
    scores: dict[str, Scores] = {}
    for name, pairs in annotators.items():
        scores[name] = {key: pair.judgement.overall for key, pair in pairs.items()}
        if any(pair.regressed is not None for pair in pairs.values()):
            scores[f"{name}, regressed"] = {key: pair.regressed for key, pair in pairs.items()}
    return scores


def overall_agreement(first: Scores, second: Scores) -> tuple[float, float, int]:
    """Return Kendall's τ-b and Pearson's r of the overall scores, and the number of pairs that both rated."""
    rated = [(first[name], second[name]) for name in sorted(first.keys() & second.keys())]
    both = [(a, b) for a, b in rated if a is not None and b is not None]
    if len(both) < 2:
        return math.nan, math.nan, len(both)
    columns = torch.tensor(both, dtype=torch.float64).T
    constant = any(len(torch.unique(column)) < 2 for column in columns)
    pearson = math.nan if constant else float(stats.pearsonr(*columns.numpy()).statistic)
    return float(kendall_tau_b(*columns)), pearson, len(both)


def _cell(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def main() -> None:
    """Print the matrix of κ, and the agreement of overall scores with the first annotator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "files", type=Path, nargs="+", help="files of sentence scores; the first holds the ground truth"
    )
    parser.add_argument("--rater", help="rater of the first file that holds the ground truth, such as the consensus")
    options = parser.parse_args()
    annotators = read_annotators(options.files, options.rater)
    matrix = Table("Cohen's κ of sentence scores (sentences; pairs left out)", *annotators)
    for name, first in annotators.items():
        cells = (sentence_kappa(first, second) for second in annotators.values())
        matrix.add_row(name, *(f"{_cell(kappa)} ({count}; {left_out})" for kappa, count, left_out in cells))
    scores = overall_scores(annotators)
    truth_name = next(iter(scores))
    table = Table(f"overall score, against {truth_name}", "τ-b", "Pearson", "pairs")
    for name, others in scores.items():
        if name != truth_name:
            tau, pearson, count = overall_agreement(scores[truth_name], others)
            table.add_row(name, _cell(tau), _cell(pearson), str(count))
    console = Console()
    console.print(matrix)
    console.print(table)
    for name, pairs in annotators.items():
        if fitted := sum(pair.is_fitted for pair in pairs.values()):
            console.print(
                f"{name}: the regressor was fitted to the references of {fitted} pairs, so the row `regressed` shows "
                "the fit. `radreward fit-regressor --scores JUDGED --data RATED` prints τ-b on held-out references."
            )


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
