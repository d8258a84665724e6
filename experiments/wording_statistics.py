"""Print statistics of wording: real reports beside generated ones, to compare their style.

    python experiments/wording_statistics.py --reports indiana_reports.csv

Prints numbers only; no text of a real report is stored.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random

from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_reader import read_reports
from radreward.synthesis.report_styles import brief_style, elaborate_style, large_style, sample_style
from radreward.text.sentence_splitter import split_sentences

HEDGES = re.compile(
    r"\b(?:possibl[ey]|probabl[ey]|likely|may|might|could|suspicious|suspected|questionable|suggest\w*|concerning"
    r"|cannot be (?:entirely )?excluded|not excluded|versus|appears? to|represent\w*)\b",
    re.IGNORECASE,
)
REMARKS = re.compile(
    r"\b(?:views?|portable|upright|rotat\w+|technique|limited|limits|obtained|positioning|penetrat\w+|quality"
    r"|comparison|examination was|bedside)\b",
    re.IGNORECASE,
)


def wording_statistics(reports: Iterable[str]) -> list[float]:
    """Return words and sentences per report, words and commas per sentence, hedges and remarks per report."""
    texts = list(reports)
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    words = sum(len(sentence.split()) for sentence in sentences)
    remarks = sum(bool(REMARKS.search(sentence)) for sentence in sentences)
    return [
        words / len(texts),
        len(sentences) / len(texts),
        words / len(sentences),
        sum(sentence.count(",") for sentence in sentences) / len(sentences),
        sum(len(HEDGES.findall(text)) for text in texts) / len(texts),
        remarks / len(texts),
    ]


def main() -> None:
    """Print one row per style, and one for the real reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=Path, help="file of real reports")
    parser.add_argument("--count", type=int, default=500, help="generated reports per style")
    options = parser.parse_args()
    rows: dict[str, list[float]] = {}
    if options.reports:
        rows["real"] = wording_statistics(read_reports(options.reports).texts)
    for style in (brief_style, sample_style, large_style, elaborate_style):
        source = random_report_source(style)
        rows[style.__name__] = wording_statistics(source(Random(seed)).text for seed in range(options.count))
    names = ("words", "sentences", "words/sentence", "commas/sentence", "hedges/report", "remarks/report")
    print(f"{'style':<16}" + "".join(f"{name:>17}" for name in names))
    for name, values in rows.items():
        print(f"{name:<16}" + "".join(f"{value:>17.2f}" for value in values))


if __name__ == "__main__":
    main()
