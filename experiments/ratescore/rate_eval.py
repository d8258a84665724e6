"""Accuracy of a scorer on triads as in RaTE-Eval, task 3: a paraphrase should score above a contradiction.

For the published files use `radreward convert` (rate-eval-sentences, rate-eval-paragraphs, rate-eval-triads) and
`radreward benchmark`.

python -m experiments.ratescore.rate_eval --triads 400
python -m experiments.ratescore.rate_eval --reports my.csv
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import radreward
from experiments.ratescore.triads import Triad, generate_triads, triads_from_sentences
from radreward.scorers.base import Scorer
from radreward.synthesis.report_reader import read_reports
from radreward.text.sentence_splitter import split_sentences


def triad_accuracy(scorer: Scorer, triads: Sequence[Triad]) -> dict[str, float | int]:
    """Return the accuracy overall and per operator; a triad without scores counts as wrong."""
    originals = [triad.original for triad in triads]
    rewrites = scorer.score(originals, [triad.rewrite for triad in triads]).total
    opposites = scorer.score(originals, [triad.opposite for triad in triads]).total
    difference = rewrites - opposites if scorer.higher_is_better else opposites - rewrites
    correct: dict[str, list[bool]] = defaultdict(list)
    for triad, is_correct in zip(triads, (difference > 0).tolist(), strict=True):
        correct["accuracy"].append(is_correct)
        correct[triad.operator].append(is_correct)
    return {"n": len(triads), **{name: sum(values) / len(values) for name, values in correct.items()}}


def main() -> None:
    """Print one line of JSON per source of triads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="ratescore", help="name or folder of a scorer")
    parser.add_argument("--triads", type=int, default=0, help="number of generated triads")
    parser.add_argument("--reports", type=Path, help="file of real reports, whose sentences are made into triads")
    parser.add_argument("--max-triads", type=int, default=2000, help="maximum number of triads of real sentences")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scorer = radreward.load(options.model)
    if options.triads:
        print(json.dumps({"generated": triad_accuracy(scorer, list(generate_triads(options.triads, options.seed)))}))
    if options.reports:
        reports = read_reports(options.reports).texts
        sentences = dict.fromkeys(sentence for report in reports for sentence in split_sentences(report))
        triads = islice(triads_from_sentences(sentences, options.seed), options.max_triads)
        print(json.dumps({"real": triad_accuracy(scorer, list(triads))}))


if __name__ == "__main__":
    main()
