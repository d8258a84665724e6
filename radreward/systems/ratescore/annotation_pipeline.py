"""Labelled sentences without annotators: a language model proposes entities, knowledge and rules decide.

The four stages of RaTEScore, appendix A.2: proposals by a chat model, a filter by likeness to a list of known medical
terms, a filter of sentences that are annotated too thinly, and polarity by rules. Each can be used alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.taggers import Tagger
from radreward.types import ENTITY_TYPES, Entity

Chat = Callable[[str], str]
"""A prompt in, an answer out."""
SIMILARITY, DENSITY = 0.83, 0.7
POLARITY_TYPES = {
    "Abnormality": "Non-Abnormality",
    "Disease": "Non-Disease",
    "Non-Abnormality": "Abnormality",
    "Non-Disease": "Disease",
}
EXAMPLE = (
    "Small left pleural effusion without pneumothorax.",
    '[{"name": "pleural effusion", "type": "Abnormality"}, {"name": "left", "type": "Anatomy"}, '
    '{"name": "pneumothorax", "type": "Non-Abnormality"}]',
)
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by for from has have in into is it its may no nor not of on or that the their "
        "there these this to was were which with without",
    )
)
"""Words that no entity needs to hold."""
_WORD = re.compile(r"[^\W_]+")


class AnnotatedSentence(NamedTuple):
    """A sentence with its entities, by offsets in it."""

    sentence: str
    entities: tuple[Entity, ...]


class EntityProposal(NamedTuple):
    """What a chat model made of a sentence."""

    annotated: AnnotatedSentence
    problems: tuple[str, ...]
    """What of the answer could not be used, and why."""


def annotation_prompt(sentence: str) -> str:
    """What the chat model is asked.

    >>> prompt("No edema.").splitlines()[-1]
    'Answer:'
    """
    return "\n".join(
        (
            "Name the medical entities of a sentence of a radiology report.",
            f"Types: {', '.join(ENTITY_TYPES)}. Non- stands before what is said to be absent or normal.",
            "Answer with a JSON list of objects with name, a part of the sentence word by word, and type.",
            f"Sentence: {EXAMPLE[0]}",
            f"Answer: {EXAMPLE[1]}",
            f"Sentence: {' '.join(sentence.split())}",
            "Answer:",
        )
    )


def propose_entities(chat: Chat, sentence: str) -> EntityProposal:
    """First stage: entities by a chat model.

    >>> propose(lambda _: '[{"name": "edema", "type": "Disease"}]', "No edema.").annotated.entities
    (Entity(name='edema', type='Disease', start=3, end=8),)
    """
    return parse_proposal(chat(annotation_prompt(sentence)), sentence)


def parse_proposal(answer: str, sentence: str) -> EntityProposal:
    """The entities of an answer, in the order of the sentence; what cannot be used is told.

    A name must stand in the sentence, letter case aside, and not inside another entity; a name that stands there twice
    must be given twice. Text around the list is passed over.
    """
    entries, problem = _entries(answer)
    problems = [problem] if problem else []
    found: list[Entity] = []
    for number, entry in enumerate(entries, 1):
        outcome = _entity(entry, sentence, found)
        if isinstance(outcome, str):
            problems.append(f"entity {number}: {outcome}")
        else:
            found.append(outcome)
    entities = tuple(sorted(found, key=lambda entity: entity.start))
    return EntityProposal(AnnotatedSentence(sentence, entities), tuple(problems))


def _entries(answer: str) -> tuple[list[object], str | None]:
    """The first JSON list of an answer."""
    decoder = json.JSONDecoder()
    for start in (match.start() for match in re.finditer(r"\[", answer)):
        try:
            value, _ = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            continue
        return list(value), None
    return [], f"expected a JSON list but got {answer[:80]!r}"


def _entity(entry: object, sentence: str, taken: Sequence[Entity]) -> Entity | str:
    """An entity, or why it is none."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"].strip():
        return f"expected an object with a name and a type but got {entry!r}"
    name, kind = entry["name"].strip(), entry.get("type")
    if kind not in ENTITY_TYPES:
        return f"expected a type of {', '.join(ENTITY_TYPES)} for {name!r} but got {kind!r}"
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence, re.IGNORECASE):
        if all(match.end() <= other.start or match.start() >= other.end for other in taken):
            return Entity(match[0], kind, *match.span())
    return f"expected words of the sentence that no other entity has but got {name!r}"


def filter_by_knowledge(
    annotated: Iterable[AnnotatedSentence],
    knowledge: Sequence[str],
    encoder: EntityEncoder,
    threshold: float = SIMILARITY,
) -> Iterator[AnnotatedSentence]:
    """Second stage: entities whose name is like a known term, by the highest cosine, are kept.

    Args:
        annotated: Sentences with proposals.
        knowledge: Names from medical vocabularies.
        encoder: Of names; the paper takes MedCPT.
        threshold: Least cosine.

    Raises:
        ValueError: If there is no known term, or `threshold` is not in [-1, 1].
        InputError: If a name or a term is too long for the encoder.
    """
    if not knowledge:
        raise ValueError("Expected `knowledge` to have at least one term.")
    if not -1 <= threshold <= 1:
        raise ValueError(f"Expected `threshold` to be in [-1, 1] but got {threshold}.")
    return _known(annotated, knowledge, encoder, threshold)


def _known(
    annotated: Iterable[AnnotatedSentence], knowledge: Sequence[str], encoder: EntityEncoder, threshold: float
) -> Iterator[AnnotatedSentence]:
    terms = encoder.encode(list(dict.fromkeys(knowledge)))  # (K, width)
    for entry in annotated:
        near = (encoder.encode([entity.name for entity in entry.entities]) @ terms.T).amax(1).tolist()
        kept = tuple(entity for entity, cosine in zip(entry.entities, near, strict=True) if cosine >= threshold)
        yield entry._replace(entities=kept)


def entity_density(annotated: AnnotatedSentence) -> float:
    """Share of a sentence's words that stand in entities; words such as "of" and "is" do not count.

    >>> density(Annotated("The heart is enlarged today.", (Entity("heart", "Anatomy", 4, 9),)))
    0.3333333333333333
    """
    words = [match for match in _WORD.finditer(annotated.sentence) if match[0].lower() not in STOP_WORDS]
    inside = sum(any(e.start <= word.start() and word.end() <= e.end for e in annotated.entities) for word in words)
    return inside / len(words) if words else 0.0


def filter_by_density(
    annotated: Iterable[AnnotatedSentence], threshold: float = DENSITY
) -> Iterator[AnnotatedSentence]:
    """Third stage: sentences whose density reaches the threshold.

    Raises:
        ValueError: If `threshold` is not in [0, 1].
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"Expected `threshold` to be in [0, 1] but got {threshold}.")
    return (entry for entry in annotated if entity_density(entry) >= threshold)


def assign_polarity(annotated: Iterable[AnnotatedSentence], tagger: Tagger) -> Iterator[AnnotatedSentence]:
    """Fourth stage: whether an abnormality or a disease is there or denied is what rules say of the same words.

    Where the rules know none of the words, the proposal stands; Anatomy always does.

    >>> from radreward.systems.ratescore.taggers import RuleTagger
    >>> edema = Annotated("No edema.", (Entity("edema", "Disease", 3, 8),))
    >>> next(with_polarity([edema], RuleTagger())).entities[0].type
    'Non-Disease'
    """
    for entry in annotated:
        ruled = [entity for entity in tagger.tag([entry.sentence])[0] if entity.type in POLARITY_TYPES]
        yield entry._replace(entities=tuple(_turned(entity, ruled) for entity in entry.entities))


def _turned(entity: Entity, ruled: Sequence[Entity]) -> Entity:
    over = [other for other in ruled if other.start < entity.end and entity.start < other.end]
    if entity.type not in POLARITY_TYPES or not over:
        return entity
    denied = over[0].type.startswith("Non-")
    return entity if denied == entity.type.startswith("Non-") else entity._replace(type=POLARITY_TYPES[entity.type])


def annotate_sentences(
    sentences: Iterable[str], chat: Chat, knowledge: Sequence[str], encoder: EntityEncoder, tagger: Tagger
) -> Iterator[AnnotatedSentence]:
    """All four stages, sentence by sentence, with the thresholds of the paper."""
    proposals = (propose_entities(chat, sentence).annotated for sentence in sentences)
    return assign_polarity(filter_by_density(filter_by_knowledge(proposals, knowledge, encoder)), tagger)
