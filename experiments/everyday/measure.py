"""How well scorers separate pairs that say the same, in everyday words, from pairs that do not.

python -m experiments.everyday.measure --scorers er2score crimson

SYNTHETIC pairs, written by others who knew neither the rules nor the generator. A pair is "same", "diff" (close words
that say something else), "normal" (technique and the like beside clear lungs) or "finding" (a finding beside clear
lungs). The figure is the probability that a pair that says the same has a better score than one that does not, where
ties count half and a pair without a score is the worst: the area under the ROC curve. Some rules were written from
first.jsonl; nobody has read second.jsonl.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from jsonargparse import ArgumentParser
from scipy.stats import mannwhitneyu
from torch import Tensor

from experiments.probes.order import output_values
from experiments.scorer_tables import print_table
from radreward.cli.signature import add_signature
from radreward.io.text_tables import text_frame
from radreward.io.validated_rows import read_validated_rows, text_field
from radreward.scorers import load
from radreward.scoring.pairs import Pairs, score_in_chunks

FILES = tuple(Path(__file__).with_name(f"{name}.jsonl") for name in ("first", "second"))
COMPARISONS = (("same", "diff"), ("normal", "finding"))
"""Labels of equal pairs, and of the pairs that they are compared with."""


class LabelledPairs(NamedTuple):
    """Pairs of reports, each with its label."""

    pairs: Pairs
    labels: tuple[str, ...]


def read_labelled_pairs(path: Path) -> LabelledPairs:
    """Return the pairs of a file; raise an InputError that names a row without a field."""
    fields = ("reference", "candidate", "label")
    rows = read_validated_rows(path, lambda row: tuple(text_field(row, name) for name in fields))
    references, candidates, labels = zip(*(row for _, row in rows), strict=True)
    return LabelledPairs(Pairs(references, candidates), labels)


def separation(values: Tensor, labels: Sequence[str], equal: str, other: str) -> float:
    """Return the probability that a pair of the first label has the higher value, ties counted half.

    >>> import torch
    >>> separation(torch.tensor([1.0, 0.5, 0.5, float("nan")]), ["same", "same", "diff", "diff"], "same", "diff")
    0.875
    """
    scored = values.double().nan_to_num(nan=float("-inf")).tolist()
    first, second = (
        [value for value, own in zip(scored, labels, strict=True) if own == name] for name in (equal, other)
    )
    return float(mannwhitneyu(first, second).statistic) / (len(first) * len(second))


def separation_table(names: Sequence[str]) -> pd.DataFrame:
    """Return the table of scorers and their outputs.

    Raises:
        InputError: If a scorer cannot be loaded.
    """
    rows = []
    for name in names:
        scorer = load(name)
        cells: dict[str, list[str]] = {}
        for data in map(read_labelled_pairs, FILES):
            scores = score_in_chunks(scorer, data.pairs, progress=False)
            for output, values in output_values(scorer, scores):
                figures = (separation(values, data.labels, *pair) for pair in COMPARISONS)
                cells.setdefault(output, []).extend(f"{figure:.3f}" for figure in figures)
        rows += [[f"{name} ({output})", *figures] for output, figures in cells.items()]
    header = [f"{file.stem}: {equal}, {other}" for file in FILES for equal, other in COMPARISONS]
    return text_frame(["scorer", *header], rows)


def main(*, scorers: Sequence[str]) -> int:
    """Print the table; return 2 if a scorer cannot be used.

    Args:
        scorers: Names or folders of scorers.
    """
    return print_table(lambda: separation_table(scorers))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
