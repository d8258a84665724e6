"""Changes of the quality of real pairs that a false finding, or another order of the sentences, makes.

python -m experiments.openi.stability --csv indiana_reports.csv --scorers er2score

A false finding must not raise the quality, and the order of independent sentences must not matter. A reference is
compared with three other studies. A finding is false if neither the expert codes nor the text of both studies have it,
or one that can mean the same. A sentence without a final stop gets one, so that the next one does not continue it.
Statements that refer back depend on the order; their pairs are counted, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
from jsonargparse import ArgumentParser

from experiments.openi.studies import Study, groups_from_codes, read_openi
from radreward.cli.signature import add_signature
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_in_chunks
from radreward.sensitivity.error_edits import false_finding
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import parse_report
from radreward.text.sentence_splitter import split_sentences

TOLERANCE = 0.01
"""Largest change of the quality that counts as none."""


class Case(NamedTuple):
    """A real pair, and its changed candidates."""

    reference: str
    candidate: str
    with_false_finding: str
    shuffled: str


def real_cases(studies: Sequence[Study], number: int, seed: int) -> Iterator[Case]:
    """Yield pairs of studies with and without common findings, and normal ones."""
    rng = Random(f"stability {seed}")
    coded = {study.text: [name for name in study.codes if name in FINDINGS] for study in studies}
    groups = groups_from_codes(studies, RadCliQCriteria(), 3, number // 3 + 1, seed)
    pairs = ((group.reference, candidate.text) for group in groups for candidate in group.candidates)
    for reference, candidate in islice(pairs, number):
        texts = (reference, candidate)
        sentences = [sentence for text in texts for sentence in parse_report(text).sentences]
        false = false_finding(sentences, rng, [name for text in texts for name in coded[text]])
        stated = [f"{text.rstrip(' .')}." for text in split_sentences(candidate)]
        shuffled = rng.sample(stated, k=len(stated))
        yield Case(reference, " ".join(stated), " ".join([*stated, false.text]), " ".join(shuffled))


def stability_rows(scorer: Scorer, name: str, cases: Sequence[Case]) -> Iterator[list[str]]:
    """Yield name, change, number of scored pairs, pairs beyond `TOLERANCE`, and the largest change."""
    references, *texts = zip(*cases, strict=True)
    qualities = [score_in_chunks(scorer, Pairs(references, column)).quality for column in texts]
    own, false, shuffled = (torch.empty(0) if quality is None else quality for quality in qualities)
    for change, values in (
        ("quality rises with a false finding", false - own),
        ("quality moves with the order of the sentences", (shuffled - own).abs()),
    ):
        scored = values[values.isfinite()]
        largest = max(0.0, float(scored.max())) if len(scored) else 0.0
        yield [name, change, str(len(scored)), str(int((scored > TOLERANCE).sum())), f"{largest:.3f}"]


def main(*, csv: Path, scorers: Sequence[str] = ("er2score",), pairs: int = 1000, seed: int = 0) -> int:
    """Print the table; return 2 if the input cannot be used.

    Args:
        csv: Open-i reports with the columns uid, MeSH, findings, impression.
        scorers: Names or folders of scorers with a quality.
        pairs: Number of pairs.
        seed: Seed of all sampling.
    """
    try:
        cases = list(real_cases(list(read_openi(csv)), pairs, seed))
        rows: list[list[str]] = []
        for name in scorers:
            scorer = load(name)
            if not scorer.has_quality:
                raise InputError(f"--scorers: Expected scorers with a quality but {name} has none.")
            rows += stability_rows(scorer, name, cases)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(markdown_table(text_frame(["scorer", "change", "pairs", f"by more than {TOLERANCE}", "largest"], rows)))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
