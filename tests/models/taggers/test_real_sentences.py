"""Taggers on sentences of real reports, whose labels are kept as offsets only."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from radreward.data.openi import read_openi
from radreward.metrics.entities import EntityScores
from radreward.models.taggers import load_tagger, sentences
from radreward.types import ENTITY_TYPES, Entity

LABELS = json.loads((Path(__file__).parents[2] / "data" / "openi_entities.json").read_text(encoding="utf-8"))[
    "sentences"
]


class Sample(NamedTuple):
    texts: list[str]
    entities: list[list[Entity]]


def test_labels_are_sound() -> None:
    assert len(LABELS) >= 150
    assert len({(row["study"], row["sentence"]) for row in LABELS}) == len(LABELS)
    for row in LABELS:
        end = 0
        for start, stop, kind in row["entities"]:
            assert kind in ENTITY_TYPES
            assert end <= start < stop <= row["length"]
            end = stop


@pytest.fixture(scope="module")
def samples(openi_csv: Path) -> dict[str, Sample]:
    texts = {study.id: study.text for study in read_openi(openi_csv)}
    found = {"any": Sample([], []), "findings": Sample([], [])}
    for row in LABELS:
        start, end = sentences(texts[row["study"]])[row["sentence"]]
        text = texts[row["study"]][start:end]
        assert len(text) == row["length"], "the sentence is the one that was labelled"
        found[row["sample"]].texts.append(text)
        found[row["sample"]].entities.append([Entity(text[s:e], kind, s, e) for s, e, kind in row["entities"]])
    return found


@pytest.mark.data
@pytest.mark.parametrize(
    ("tagger", "sample", "exact", "overlap"),
    [
        ("rules", "any", 0.94, 0.96),
        ("rules", "findings", 0.84, 0.94),
    ],
)
def test_taggers_find_entities(
    samples: dict[str, Sample], tagger: str, sample: str, exact: float, overlap: float
) -> None:
    texts, known = samples[sample]
    predicted = load_tagger(tagger).tag(texts)
    for scores, least in ((EntityScores(), exact), (EntityScores(overlap=True), overlap)):
        scores.update(texts, predicted, known)
        assert float(scores.compute()["f1"]) >= least
