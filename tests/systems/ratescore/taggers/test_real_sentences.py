"""Taggers on sentences of real reports; the repository stores labels as offsets only."""

import json
from pathlib import Path

import pytest

from experiments.ratescore.compare_taggers import LABELS, real_sentences, tagger_metrics
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.artifact import EMBEDDED_TAGGER_DIR
from radreward.types import ENTITY_TYPES

SENTENCES = json.loads(LABELS.read_text(encoding="utf-8"))["sentences"]


def test_embedded_tagger_is_small_and_finds_simple_entities() -> None:
    assert sum(file.stat().st_size for file in EMBEDDED_TAGGER_DIR.iterdir()) < 2_000_000
    (entities,) = load_tagger("embedded").tag(["There is no pleural effusion. The heart is enlarged."])
    assert [(entity.name, entity.type) for entity in entities] == [
        ("pleural effusion", "Non-Abnormality"),
        ("heart", "Anatomy"),
        ("enlarged", "Abnormality"),
    ]


def test_labels_are_valid() -> None:
    assert len(SENTENCES) >= 150
    assert len({(row["study"], row["sentence"]) for row in SENTENCES}) == len(SENTENCES)
    for row in SENTENCES:
        end = 0
        for start, stop, kind in row["entities"]:
            assert kind in ENTITY_TYPES
            assert end <= start < stop <= row["length"]
            end = stop


@pytest.mark.data
@pytest.mark.parametrize(
    ("tagger", "sample", "exact", "overlap"),
    [
        ("rules", "any", 0.94, 0.96),
        ("rules", "findings", 0.86, 0.95),
        ("embedded", "any", 0.90, 0.93),
        ("embedded", "findings", 0.74, 0.85),
    ],
)
def test_taggers_reach_minimum_f1(openi_csv: Path, tagger: str, sample: str, exact: float, overlap: float) -> None:
    samples = list(real_sentences(openi_csv, sample))
    lengths = [row["length"] for row in SENTENCES if row["sample"] == sample]
    assert [len(text) for text, _ in samples] == lengths, "the labels belong to other sentences"
    values = tagger_metrics(samples, tagger)
    assert values[2] >= exact
    assert values[-1] >= overlap
