"""How often a scorer sees one changed detail: a candidate repeats the reference with another side, size or place.

python -m experiments.probes.details --scorers er2score sentence-eval

A change is seen if the quality of the candidate is below 0.99. Rules were written from the pairs of details.jsonl that
were not seen; nobody has read those of details_second.jsonl.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from jsonargparse import ArgumentParser

from experiments.probes.order import NORMAL_QUALITY
from experiments.scorer_tables import print_table
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.io.text_tables import text_frame
from radreward.io.validated_rows import read_validated_rows, text_field
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_in_chunks

FOLDER = Path(__file__).parent
FILES = ("details", "details_second")


class ChangedDetail(NamedTuple):
    """A pair of texts that differ in one detail."""

    detail: str
    """Kind of the detail, such as "side"."""
    reference: str
    candidate: str


def read_details(name: str) -> list[ChangedDetail]:
    """Return the pairs of a file of this folder."""
    rows = read_validated_rows(
        FOLDER / f"{name}.jsonl", lambda row: ChangedDetail(*(text_field(row, key) for key in ChangedDetail._fields))
    )
    return [pair for _, pair in rows]


def seen_changes(scorer: Scorer, pairs: Sequence[ChangedDetail]) -> list[bool]:
    """Return one bool per pair: True if the quality of the candidate is below 0.99; one without a score is not seen.

    Raises:
        InputError: If the scorer has no quality.
    """
    texts = Pairs([pair.reference for pair in pairs], [pair.candidate for pair in pairs])
    quality = score_in_chunks(scorer, texts, progress=False).quality
    if quality is None:
        raise InputError("Expected a scorer with a quality: see `radreward list`.")
    return (torch.nan_to_num(quality, nan=1.0) < NORMAL_QUALITY).tolist()


def details_table(names: Sequence[str]) -> pd.DataFrame:
    """Return the table of scorers and files; its rows are the kinds of details, and all.

    Raises:
        InputError: If a scorer cannot be loaded, or has no quality.
    """
    files = {name: read_details(name) for name in FILES}
    kinds = list(dict.fromkeys(pair.detail for pairs in files.values() for pair in pairs))
    rows = [[kind] for kind in ("all", *kinds)]
    columns = ["detail"]
    for scorer_name in names:
        scorer = load(scorer_name)
        for file, pairs in files.items():
            columns.append(f"{scorer_name}, {file}")
            seen = seen_changes(scorer, pairs)
            for row in rows:
                own = [value for pair, value in zip(pairs, seen, strict=True) if row[0] in ("all", pair.detail)]
                row.append(f"{sum(own)} of {len(own)}")
    return text_frame(columns, rows)


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
