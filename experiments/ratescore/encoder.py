"""Train the head of the entity encoder on entities of our vocabulary; the shipped one was trained so, in two minutes.

python experiments/ratescore/encoder.py --output runs/head.safetensors
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random

from radreward.criteria import RadCliQCriteria
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence
from radreward.synthesis.pipeline import synthesize
from radreward.systems.ratescore.collator import EMBEDDED_MAX_LENGTH
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_context import contextualize
from radreward.systems.ratescore.entity_head import fit_head
from radreward.systems.ratescore.role_similarity import PRESENT, entity_attributes, entity_role
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.findings import FINDINGS
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Entity

DENIED = 900
"""So many findings are denied too, for our grammar denies few in detail."""


def entities(sentences: int, reports: int, seed: int) -> dict[Entity, frozenset[str]]:
    """The distinct entities in sentences and reports of our grammar, and the findings in whose sentences they stand.

    Their names are what is read of them: of findings their phrases. Body parts stand alone too, as in normal sentences.
    """
    rng, keys = Random(seed), tuple(FINDINGS)
    facts = [sample_fact(sample_findings(rng, keys, 1)[0], rng) for _ in range(sentences)]
    found: dict[Entity, frozenset[str]] = {}
    for fact, named in zip(facts, _named([fact_sentence(fact, rng).text for fact in facts]), strict=True):
        for entity in named:
            found[entity] = found.get(entity, frozenset()) | {fact.finding}
    texts = [
        text
        for group in synthesize(RadCliQCriteria(), reports, 2, seed=seed)
        for text in split_sentences(group.reference)
    ]
    denied = [Entity(noun.lstrip("*").lower(), "Non-Abnormality", 0, 0) for key in keys for noun in FINDINGS[key].names]
    there = sorted(entity for entity in found if entity_role(entity) == PRESENT)
    denied += [entity._replace(type=f"Non-{entity.type}") for entity in rng.sample(there, min(DENIED, len(there)))]
    for entity in (*chain.from_iterable(_named(texts)), *denied):
        found.setdefault(entity, frozenset())
    return found


def _named(texts: Sequence[str]) -> Iterator[list[Entity]]:
    for text, tagged in zip(texts, RuleTagger().tag(texts), strict=True):
        said = zip(tagged, contextualize("phrase", text, tagged), strict=True)
        names = [(read if entity_role(entity) == PRESENT else entity.name, entity.type) for entity, read in said]
        yield [Entity(name.lower(), kind, 0, 0) for name, kind in names]


def main() -> None:
    """Write the head."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=15_000)
    parser.add_argument("--reports", type=int, default=1500)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    found = entities(options.sentences, options.reports, options.seed)
    read = [contextualize("type", entity.name, [entity])[0] for entity in found]
    vectors = EntityEncoder(cache_size=1, max_length=EMBEDDED_MAX_LENGTH).embed(read).vectors
    head = fit_head(entity_attributes(list(found), list(found.values())), vectors, options.steps, options.seed)
    head.save(options.output)
    print(f"{len(found)} entities: {options.output}")


if __name__ == "__main__":
    main()
