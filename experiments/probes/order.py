"""Share of probes in the right order, per file, for the total, the quality and the errors of scorers.

python -m experiments.probes.order --scorers er2score ratescore
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from experiments.scorer_tables import print_table
from radreward.cli.signature import add_signature
from radreward.io.text_tables import text_frame
from radreward.io.validated_rows import read_validated_rows, text_field
from radreward.meta_evaluation.preferences import Preference, preference_agreement, read_preferences
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_in_chunks
from radreward.types import Scores

FOLDER = Path(__file__).parent
SETS = ("", "second/", "third/", "fourth/", "fifth/", "sixth/", "seventh/", "eighth/")
KINDS = ("composed", "generator_prose", "signs", "vague", "places", "anatomy")
PROBES = tuple(f"{part}{kind}" for part in SETS for kind in KINDS)
OUTPUTS = ("quality", "total", "errors")
NORMAL_QUALITY = 0.99
"""Lowest quality of a normal report with sentences that state no finding."""


def output_values(scorer: Scorer, scores: Scores) -> Iterator[tuple[str, Tensor]]:
    """Yield the name and the (n,) values of every output of a scorer; higher values are better."""
    for name in OUTPUTS:
        values = scores._asdict().get(name)
        if values is not None:
            higher_is_better = scorer.higher_is_better if name == "total" else name == "quality"
            yield name, values if higher_is_better else -values


def ordered(scorer: Scorer, preferences: Sequence[Preference]) -> dict[str, int]:
    """Return how many preferences hold per output; one with an unscored candidate does not hold."""
    count = len(preferences)
    references = [entry.reference for entry in preferences]
    candidates = [entry.candidate_a for entry in preferences] + [entry.candidate_b for entry in preferences]
    scores = score_in_chunks(scorer, Pairs(references * 2, candidates), progress=False)
    holding = {}
    for name, values in output_values(scorer, scores):
        first, second = values.double().numpy().reshape(2, count)
        agreement = preference_agreement(preferences, first, second, n_resamples=0)[0]
        holding[name] = round(agreement.accuracy * agreement.n) if agreement.n else 0
    return holding


def normal_reports(scorer: Scorer, part: str) -> Tensor | None:
    """Return the (n,) qualities of a set's normal reports, NaN if unscored; None if the scorer has no quality."""
    rows = read_validated_rows(
        FOLDER / f"{part}normal.jsonl", lambda row: (text_field(row, "reference"), text_field(row, "candidate"))
    )
    references, candidates = zip(*(pair for _, pair in rows), strict=True)
    return score_in_chunks(scorer, Pairs(references, candidates), progress=False).quality


def probe_table(names: Sequence[str]) -> pd.DataFrame:
    """Return the table of scorers; its rows are the files and the outputs.

    Raises:
        InputError: If a scorer cannot be loaded.
    """
    probes = {name: read_preferences(FOLDER / f"{name}.jsonl") for name in PROBES}
    cells: dict[tuple[str, str], dict[str, str]] = {(name, output): {} for name in PROBES for output in OUTPUTS}
    normal: dict[str, dict[str, str]] = {part: {} for part in SETS}
    for scorer_name in names:
        scorer = load(scorer_name)
        for name, preferences in probes.items():
            for output, number in ordered(scorer, preferences).items():
                cells[name, output][scorer_name] = f"{number} of {len(preferences)}"
        for part, row in normal.items():
            qualities = normal_reports(scorer, part)
            if qualities is not None:
                high = int((torch.nan_to_num(qualities) >= NORMAL_QUALITY).sum())
                row[scorer_name] = f"{high} of {len(qualities)}"
    rows = [
        [f"{name} ({output})", *(row.get(key, "–") for key in names)] for (name, output), row in cells.items() if row
    ]
    for part, row in normal.items():
        title = f"{part}normal, quality of at least {NORMAL_QUALITY}"
        rows.append([title, *(row.get(key, "–") for key in names)])
    return text_frame(["probes", *names], rows)


def main(*, scorers: Sequence[str]) -> int:
    """Print the table; return 2 if a scorer cannot be used.

    Args:
        scorers: Names or folders of scorers.
    """
    return print_table(lambda: probe_table(scorers))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
