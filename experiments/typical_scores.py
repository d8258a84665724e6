"""Typical totals and qualities of scorers: a table by the number of errors, from groups whose errors are known.

python experiments/typical_scores.py --data runs/held-out/groups.parquet --scorers er2score ratescore
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from jsonargparse import ArgumentParser

from experiments.scorer_tables import print_table
from radreward.cli.signature import add_signature
from radreward.data.records import read_groups
from radreward.io.text_tables import text_frame
from radreward.scorers import load

KINDS = ("the reference itself", "no error", "1 error", "2 errors", "3 or 4 errors", "5 or more errors")


def candidate_kind(errors: float) -> str:
    """Return the row of a candidate with a number of errors.

    >>> [candidate_kind(errors) for errors in (0, 1, 4, 9)]
    ['no error', '1 error', '3 or 4 errors', '5 or more errors']
    """
    return KINDS[1 + sum(errors >= first for first in (1, 2, 3, 5))]


def typical_scores(data: Path, scorers: Sequence[str]) -> pd.DataFrame:
    """Return the mean total and quality, with the 10th and 90th percentiles, by kind of candidate.

    Raises:
        InputError: If the data or a scorer cannot be used.
    """
    pairs = []
    for group in read_groups(data):
        pairs.append((KINDS[0], group.reference, group.reference))
        for candidate in group.candidates:
            kind = candidate_kind(sum((candidate.errors or {}).values()))
            pairs.append((kind, group.reference, candidate.text))
    kinds, references, candidates = (list(column) for column in zip(*pairs, strict=True))
    columns = {}
    for name in scorers:
        scores = load(name).score(references, candidates)
        for output, values in (("total", scores.total), ("quality", scores.quality)):
            if values is not None:
                columns[f"{name} ({output})"] = pd.Series(values.tolist()).groupby(kinds).apply(_summary)
    rows = [[kind, kinds.count(kind), *(columns[name][kind] for name in columns)] for kind in KINDS if kind in kinds]
    return text_frame(["", "pairs", *columns], rows)


def _summary(values: pd.Series) -> str:
    low, high = values.quantile([0.1, 0.9])
    return f"{values.mean():.2f} ({low:.2f} to {high:.2f})"


def main(*, data: Path, scorers: Sequence[str]) -> int:
    """Print the table; return 2 if the input cannot be used.

    Args:
        data: Groups with known errors.
        scorers: Names or folders of scorers.
    """
    return print_table(lambda: typical_scores(data, scorers))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
