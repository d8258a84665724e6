"""Compare taggers on generated sentences, and on labeled sentences of real reports.

python -m experiments.ratescore.compare_taggers --sentences runs/entities/test.jsonl --csv indiana_reports.csv
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.openi.studies import read_openi
from radreward.data.entity_io import TaggedSentence, read_tagged_sentences
from radreward.metrics.entity_f1 import EntityF1Metric
from radreward.systems.ratescore.taggers import load_tagger
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Entity

LABELS = Path(__file__).with_name("openi_entities.json")


def real_sentences(csv: Path, sample: str) -> Iterator[TaggedSentence]:
    """Yield the labeled sentences of a sample, `any` or `findings`; the repository stores offsets only."""
    texts = {study.id: study.text for study in read_openi(csv)}
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["sentences"]:
        if row["sample"] == sample:
            start, end = sentence_spans(texts[row["study"]])[row["sentence"]]
            text = texts[row["study"]][start:end]
            yield TaggedSentence(text, tuple(Entity(text[s:e], kind, s, e) for s, e, kind in row["entities"]))


def tagger_metrics(sentences: list[TaggedSentence], tagger: str) -> list[float]:
    """Return precision, recall, F1 and accuracy of exact entities, then precision, recall and F1 of overlaps."""
    texts, gold = [sentence.text for sentence in sentences], [sentence.entities for sentence in sentences]
    predicted, values = load_tagger(tagger).tag(texts), []
    for overlap, names in ((False, ("precision", "recall", "f1", "accuracy")), (True, ("precision", "recall", "f1"))):
        metric = EntityF1Metric(overlap)
        metric.update(texts, predicted, gold)
        computed = metric.compute()
        values += [float(computed[name]) for name in names]
    return values


def main() -> None:
    """Print a table of all taggers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tagger", nargs="+", default=["rules", "embedded"], help="Names or folders.")
    parser.add_argument("--sentences", type=Path, nargs="*", default=[], help="Files of labeled sentences.")
    parser.add_argument("--csv", type=Path, help="File indiana_reports.csv of Open-i.")
    options = parser.parse_args()
    parts = {path.name: list(read_tagged_sentences(path)) for path in options.sentences}
    if options.csv:
        parts |= {f"Open-i, {name}": list(real_sentences(options.csv, name)) for name in ("any", "findings")}
    table = Table("sentences", "tagger", "precision", "recall", "F1", "accuracy", "overlap P", "R", "F1")
    for name, labeled in parts.items():
        for tagger in options.tagger:
            metrics = (f"{value:.3f}" for value in tagger_metrics(labeled, tagger))
            table.add_row(f"{name} ({len(labeled)})", tagger, *metrics)
    Console().print(table)


if __name__ == "__main__":
    main()
