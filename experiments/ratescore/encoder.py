"""Train the head of the entity encoder on entities of the lexicon; the embedded head was trained this way.

python -m experiments.ratescore.encoder --output runs/head.safetensors
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random

from experiments.ratescore.head_training import fit_head
from experiments.ratescore.role_similarity import PRESENT, entity_attributes, entity_role
from radreward.criteria import RadCliQCriteria
from radreward.synthesis import synthesize
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence
from radreward.systems.ratescore.collator import EMBEDDED_MAX_LENGTH
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_context import contextualize
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Entity

MAX_NEGATED = 900
"""Maximum number of findings that are negated in addition: the grammar negates few findings in detail."""


def collect_entities(
    n_sentences: int, n_reports: int, seed: int, n_names: int | None = None
) -> dict[Entity, frozenset[str]]:
    """Return the distinct entities of generated sentences and reports, with the findings of their sentences.

    All names of findings, or the first `n_names`, are also negated. Present findings are named by their phrases. Body
    parts also occur alone, as in normal sentences.
    """
    rng, keys = Random(seed), tuple(GENERATED_FINDINGS)
    facts = [sample_fact(sample_findings(rng, keys, 1)[0], rng) for _ in range(n_sentences)]
    findings: dict[Entity, frozenset[str]] = {}
    sentences = [fact_sentence(fact, rng).text for fact in facts]
    for fact, entities in zip(facts, _phrase_entities(sentences), strict=True):
        for entity in entities:
            findings[entity] = findings.get(entity, frozenset()) | {fact.finding}
    texts = [
        text
        for group in synthesize(RadCliQCriteria(), n_reports, 2, seed=seed)
        for text in split_sentences(group.reference)
    ]
    negated = [
        Entity(noun.lstrip("*").lower(), "Non-Abnormality", 0, 0) for key in keys for noun in FINDINGS[key].names
    ][:n_names]
    present = sorted(entity for entity in findings if entity_role(entity) == PRESENT)
    sampled = rng.sample(present, min(MAX_NEGATED, len(present)))
    negated += [entity._replace(type=f"Non-{entity.type}") for entity in sampled]
    for entity in (*chain.from_iterable(_phrase_entities(texts)), *negated):
        findings.setdefault(entity, frozenset())
    return findings


def _phrase_entities(texts: Sequence[str]) -> Iterator[list[Entity]]:
    for text, entities in zip(texts, RuleTagger().tag(texts), strict=True):
        phrases = contextualize("phrase", text, entities)
        yield [
            Entity((phrase if entity_role(entity) == PRESENT else entity.name).lower(), entity.type, 0, 0)
            for entity, phrase in zip(entities, phrases, strict=True)
        ]


def main() -> None:
    """Train and save the head."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=15_000)
    parser.add_argument("--reports", type=int, default=1500)
    parser.add_argument("--names", type=int, help="names of findings that are negated; defaults to all")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    findings = collect_entities(options.sentences, options.reports, options.seed, options.names)
    texts = [contextualize("type", entity.name, [entity])[0] for entity in findings]
    vectors = EntityEncoder(cache_size=1, max_length=EMBEDDED_MAX_LENGTH).embed(texts).vectors
    attributes = entity_attributes(list(findings), list(findings.values()))
    fit_head(attributes, vectors, options.steps, options.seed).save(options.output)
    print(f"{len(findings)} entities: {options.output}")


if __name__ == "__main__":
    main()
