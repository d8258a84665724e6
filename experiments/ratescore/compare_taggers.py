"""How well taggers find entities: on generated sentences, and on real ones whose labels are offsets.

python experiments/ratescore/compare_taggers.py --sentences runs/entities/test.jsonl --csv indiana_reports.csv
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from radreward.data.entity_io import TaggedSentence, read_tagged_sentences
from radreward.data.readers.openi import read_openi
from radreward.metrics.entity_f1 import EntityF1Metric
from radreward.systems.ratescore.taggers import load_tagger
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Entity

LABELS = Path(__file__).resolve().parents[2] / "tests" / "data" / "readers" / "openi_entities.json"


def real_sentences(csv: Path, sample: str) -> Iterator[TaggedSentence]:
    """The labelled sentences of a sample, `any` or `findings`."""
    texts = {study.id: study.text for study in read_openi(csv)}
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["sentences"]:
        if row["sample"] == sample:
            start, end = sentence_spans(texts[row["study"]])[row["sentence"]]
            text = texts[row["study"]][start:end]
            yield TaggedSentence(text, tuple(Entity(text[s:e], kind, s, e) for s, e, kind in row["entities"]))


def measures(found: list[TaggedSentence], tagger: str) -> list[float]:
    """Precision, recall, F1 and accuracy of whole entities, then precision, recall and F1 of overlapping ones."""
    texts, known = [sentence.text for sentence in found], [sentence.entities for sentence in found]
    predicted, values = load_tagger(tagger).tag(texts), []
    for overlap, names in ((False, ("precision", "recall", "f1", "accuracy")), (True, ("precision", "recall", "f1"))):
        scores = EntityF1Metric(overlap)
        scores.update(texts, predicted, known)
        computed = scores.compute()
        values += [float(computed[name]) for name in names]
    return values


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tagger", nargs="+", default=["rules", "embedded"], help="Names or folders.")
    parser.add_argument("--sentences", type=Path, nargs="*", default=[], help="Files of labelled sentences.")
    parser.add_argument("--csv", type=Path, help="The Open-i reports.")
    options = parser.parse_args()
    parts = {path.name: list(read_tagged_sentences(path)) for path in options.sentences}
    if options.csv:
        parts |= {f"Open-i, {name}": list(real_sentences(options.csv, name)) for name in ("any", "findings")}
    table = Table("sentences", "tagger", "precision", "recall", "F1", "accuracy", "overlap P", "R", "F1")
    for name, found in parts.items():
        for tagger in options.tagger:
            table.add_row(f"{name} ({len(found)})", tagger, *(f"{value:.3f}" for value in measures(found, tagger)))
    Console().print(table)


if __name__ == "__main__":
    main()
