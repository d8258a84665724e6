"""Single statements: how often a scorer sees one changed detail, and how often the same in other words is equal.

python -m experiments.probes.details --scorers er2score sentence-eval

In details.jsonl and details_second.jsonl, a candidate repeats the reference with one other detail, such as a side, a
size or a place; it is seen if the quality is below 0.99. In same.jsonl and same_second.jsonl, it states the same as
another radiologist would; it is equal if the quality is at least 0.99. Rules were written from pairs of the first two
sets that did not hold. Only the authors have read the second ones.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from experiments.probes.order import NORMAL_QUALITY
from experiments.scorer_tables import print_table
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.io.text_tables import text_frame
from radreward.io.validated_rows import read_validated_rows, text_field
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_in_chunks

FOLDER = Path(__file__).parent
SETS = {"first": "", "second": "_second"}
SEEN, EQUAL = "changed details that are seen", "the same in other words, equal"


class StatementPair(NamedTuple):
    """Two texts that differ in one detail, or state the same."""

    kind: str
    """The detail, such as "side", or what both are about."""
    reference: str
    candidate: str


def read_pairs(file: str, key: str) -> list[StatementPair]:
    """Return the pairs of a file of this folder.

    Args:
        file: Its name without the suffix.
        key: Field of the kind.
    """
    fields = (key, "reference", "candidate")
    rows = read_validated_rows(
        FOLDER / f"{file}.jsonl", lambda row: StatementPair(*(text_field(row, name) for name in fields))
    )
    return [pair for _, pair in rows]


def qualities(scorer: Scorer, pairs: Sequence[StatementPair]) -> Tensor:
    """Return the (n,) qualities, NaN if unscored.

    Raises:
        InputError: If the scorer has no quality.
    """
    texts = Pairs([pair.reference for pair in pairs], [pair.candidate for pair in pairs])
    quality = score_in_chunks(scorer, texts, progress=False).quality
    if quality is None:
        raise InputError("Expected a scorer with a quality: see `radreward list`.")
    return quality


def counts(scorer: Scorer, suffix: str) -> dict[str, str]:
    """Return how many pairs of one set hold, by the name of a row; those without a score do not hold."""
    changed, same = read_pairs(f"details{suffix}", "detail"), read_pairs(f"same{suffix}", "topic")
    seen = torch.nan_to_num(qualities(scorer, changed), nan=1.0) < NORMAL_QUALITY
    equal = torch.nan_to_num(qualities(scorer, same)) >= NORMAL_QUALITY
    held = Counter(pair.kind for pair, holds in zip(changed, seen.tolist(), strict=True) if holds)
    by_kind = {kind: f"{held[kind]} of {number}" for kind, number in Counter(pair.kind for pair in changed).items()}
    return {
        SEEN: f"{int(seen.sum())} of {len(changed)}",
        EQUAL: f"{int(equal.sum())} of {len(same)}",
        **by_kind,
    }


def details_table(names: Sequence[str]) -> pd.DataFrame:
    """Return the table of scorers and sets; its rows are all pairs, and the kinds of details.

    Raises:
        InputError: If a scorer cannot be loaded, or has no quality.
    """
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        scorer = load(name)
        columns |= {f"{name}, {title}": counts(scorer, suffix) for title, suffix in SETS.items()}
    rows = dict.fromkeys(row for column in columns.values() for row in column)
    return text_frame(["", *columns], [[row, *(column.get(row, "–") for column in columns.values())] for row in rows])


def main(*, scorers: Sequence[str]) -> int:
    """Print the table; return 2 if a scorer cannot be used.

    Args:
        scorers: Names or folders of scorers with a quality.
    """
    return print_table(lambda: details_table(scorers))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
