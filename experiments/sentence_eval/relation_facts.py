"""Sampling of facts for related sentences: same, partly the same, contradictory, similar and unrelated ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from experiments.sentence_eval.lexicon_statements import (
    ORGAN_PREFIX,
    lexicon_terms,
    negate_statement,
    sample_statement,
    vary_statement,
)
from experiments.sentence_eval.relation_score import ALL_CLEAR_FACT
from radreward.synthesis.fact_sampling import sample_any_finding, sample_fact, sample_findings, sample_plain_fact
from radreward.synthesis.perturbations.fact_edits import mirrored_location
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, ancestors, is_related, remove_related
from radreward.text.sentence_templates import FILLER_SENTENCES, NORMAL_STATEMENTS
from radreward.text.severity import SEVERITY_WORDS

Facts = tuple[Fact, ...]


@lru_cache(1)
def lexicon_findings() -> frozenset[str]:
    """Return the findings of all facts about lexicon terms."""
    findings, organs = lexicon_terms()
    return frozenset((*findings, *(ORGAN_PREFIX + organ for organ in organs)))


def sample_sentence_facts(rng: Random) -> Facts:
    """Return the facts of one sentence."""
    kinds = ("one", "several", "absent", "normal", "lexicon", "all clear", "filler")
    kind = rng.choices(kinds, (9, 4, 5, 4, 4, 1, 1))[0]
    if kind == "lexicon":
        return (sample_statement(rng),)
    if kind == "filler":
        return (Fact(rng.choice(FILLER_SENTENCES)),)
    if kind == "all clear":
        return (ALL_CLEAR_FACT,)
    if kind == "normal":
        return _absent(rng.choice(tuple(NORMAL_STATEMENTS)))
    if kind == "one":
        return (sample_fact(sample_any_finding(rng), rng),)
    count = rng.choice((1, 2, 3) if kind == "absent" else (2, 2, 3))
    keys = remove_related(sample_findings(rng, tuple(GENERATED_FINDINGS), count))
    if kind == "absent":
        return _absent([key for key in keys if not FINDINGS[key].is_device]) or sample_sentence_facts(rng)
    return tuple(sample_plain_fact(key, rng) for key in keys)


def vary_facts(kind: str, facts: Facts, rng: Random) -> Facts:
    """Return facts with a relation to others.

    Args:
        kind: `same`, `partly`, `contrary`, `near` (another finding of the region) or `other` (any facts).
        facts: Facts of a sentence.
        rng: Source of randomness.
    """
    if kind == "same":
        return facts
    fact = rng.choice(facts)
    is_lexical = fact.finding in lexicon_findings()
    if kind in ("partly", "near") and is_lexical:
        return (vary_statement(fact, rng) if kind == "partly" else sample_statement(rng),)
    if kind == "other" or (fact.finding not in FINDINGS and not is_lexical):
        contradiction = _contradict(fact, rng) if kind == "contrary" else ()
        return contradiction or sample_sentence_facts(rng)
    if kind == "near":
        key = rng.choice(
            [key for key, other in GENERATED_FINDINGS.items() if other.region == FINDINGS[fact.finding].region]
        )
        return _absent([key]) if not fact.positive and fact.change is None else (sample_fact(key, rng),)
    if kind == "contrary":
        contradiction = _contradict(fact, rng)
        joint = contradiction + tuple(other for other in facts if other != fact and rng.random() < 0.5)
        return joint if contradiction and _can_join(joint) else contradiction
    return _vary_partly(facts, fact, rng)


def _absent(keys: Sequence[str]) -> Facts:
    return tuple(Fact(key, "absent") for key in keys)


def _contradict(fact: Fact, rng: Random) -> Facts:
    """Return facts that contradict a fact, or nothing if there are none."""
    if fact == ALL_CLEAR_FACT:
        options = [
            key for key, finding in GENERATED_FINDINGS.items() if finding.is_significant and not finding.is_device
        ]
        return (sample_fact(rng.choice(options), rng),)
    if fact.finding in lexicon_findings():
        return (negate_statement(fact, rng),)
    if fact.finding not in FINDINGS:
        return ()
    if fact.positive:
        normal = [keys for keys in NORMAL_STATEMENTS if set(keys) & set(ancestors(fact.finding))]
        if normal and rng.random() < 0.4:
            return _absent(rng.choice(normal))
        return _absent([rng.choice(ancestors(fact.finding))])
    kinds = [key for key in GENERATED_FINDINGS if fact.finding in ancestors(key)]
    return (sample_fact(fact.finding if rng.random() < 0.6 else rng.choice(kinds), rng),)


def _vary_partly(facts: Facts, fact: Fact, rng: Random) -> Facts:
    """Return facts that share a finding: with other details, one finding more or fewer, or a kind of it."""
    if len(facts) > 1 and rng.random() < 0.5:
        return tuple(rng.sample(facts, k=rng.randint(1, len(facts) - 1)))
    kind = rng.random()
    related = [key for key in GENERATED_FINDINGS if is_related(key, fact.finding)]
    if not fact.positive:
        if kind < 0.6 or fact.change:
            keys = sample_findings(rng, tuple(GENERATED_FINDINGS), rng.choice((1, 1, 2)))
            return _absent(remove_related([fact.finding, *(key for key in keys if not FINDINGS[key].is_device)]))
        return _absent([rng.choice(related)])
    if kind < 0.2:
        other = sample_plain_fact(sample_any_finding(rng), rng)
        plain = fact._replace(polarity="present", change=None)
        return (plain,) if is_related(other.finding, fact.finding) else (plain, other)
    if kind < 0.35:
        return (sample_fact(rng.choice(related), rng),)
    return (_vary_detail(fact, rng),)


def _vary_detail(fact: Fact, rng: Random) -> Fact:
    """Return the finding with one detail changed, omitted or added, or with all details sampled again."""
    finding = FINDINGS[fact.finding]
    locations = [location for location in finding.locations if location != fact.location]
    details = ["all"]
    details += ["location"] * 3 if locations else []
    details += ["severity"] * 3 if finding.has_severity else []
    details += ["certainty"] if fact.polarity == "uncertain" else []
    detail = rng.choice(details)
    if detail == "location":
        mirrored = mirrored_location(fact)
        return fact._replace(location=mirrored if mirrored and rng.random() < 0.5 else rng.choice(locations))
    if detail == "severity":
        severities = [severity for severity in (None, *SEVERITY_WORDS) if severity != fact.severity]
        return fact._replace(severity=rng.choice(severities))
    return fact._replace(polarity="present") if detail == "certainty" else sample_fact(fact.finding, rng)


def _can_join(facts: Facts) -> bool:
    """Return True if one sentence can state all facts."""
    is_uniform = len({fact.polarity for fact in facts}) == 1 and facts[0].polarity != "uncertain"
    return len(facts) == 1 or (is_uniform and not any(fact.change for fact in facts))
