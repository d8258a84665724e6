"""Figures of RaTE-Eval for a scorer: on its published files, on triads of our grammar, on triads of real sentences.

python experiments/ratescore/rate_eval.py --triads 400
python experiments/ratescore/rate_eval.py --sentences task1.csv --paragraphs task2.csv --synthetic task3.jsonl
python experiments/ratescore/rate_eval.py --reports my.csv
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import radreward
from radreward.meta_evaluation.rate_eval import (
    rating_metrics,
    read_paragraphs,
    read_rated_sentences,
    read_triads,
    triad_metrics,
)
from radreward.synthesis.report_reader import read_reports
from radreward.synthesis.triads import generate_triads, triads_from_sentences
from radreward.text.sentence_splitter import split_sentences


def main() -> None:
    """Print a line of JSON for each part that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="ratescore", help="a name or the folder of a scorer")
    parser.add_argument("--sentences", type=Path, help="task 1: gt_report, similar_report, Score (normalised errors)")
    parser.add_argument("--possible", help="task 1: column with the number of possible errors, for plain counts")
    parser.add_argument("--paragraphs", type=Path, help="task 2: gt_report, similar_report, Score (0 to 5)")
    parser.add_argument("--synthetic", type=Path, help="task 3: original, rewrite, opposite")
    parser.add_argument("--triads", type=int, default=0, help="how many triads our grammar writes")
    parser.add_argument("--reports", type=Path, help="file of real reports, of whose sentences triads are made")
    parser.add_argument("--most", type=int, default=2000, help="at most so many triads of real sentences")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scorer = radreward.load(options.model)
    if options.sentences:
        print(
            json.dumps(
                {
                    "sentences": rating_metrics(
                        scorer, read_rated_sentences(options.sentences, max_errors_column=options.possible)
                    )
                }
            )
        )
    if options.paragraphs:
        print(json.dumps({"paragraphs": rating_metrics(scorer, read_paragraphs(options.paragraphs))}))
    if options.synthetic:
        print(json.dumps({"synthetic": triad_metrics(scorer, read_triads(options.synthetic))}))
    if options.triads:
        print(json.dumps({"generated": triad_metrics(scorer, generate_triads(options.triads, options.seed))}))
    if options.reports:
        texts = dict.fromkeys(
            text for report in read_reports(options.reports, None).texts for text in split_sentences(report)
        )
        made = list(triads_from_sentences(texts, options.seed))[: options.most]
        print(json.dumps({"real": triad_metrics(scorer, made)}))


if __name__ == "__main__":
    main()
