"""Quality from the matches of findings alone: normal statements and body parts do not count."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.criteria import finding_quality
from radreward.models.finding_gate import FindingGate
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_context import present_findings
from radreward.text.facts import Fact, known_agreement
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import sentence_spans
from radreward.text.significance import phrase_weight, repeats_device
from radreward.types import Entity

UNRELATED_COSINE, EQUAL_COSINE = 0.4, 0.7
"""The agreement of two findings is 0 up to the first cosine and 1 from the second on; chosen for MiniLM on 300 pairs
of generated and 300 pairs of real reports."""


class ReportFindings(NamedTuple):
    """The k present findings of a report."""

    vectors: Tensor
    """(k, d) unit vectors."""
    phrases: Sequence[str]
    """k phrases, which determine the significance."""
    facts: Sequence[tuple[Fact, ...]]
    """k tuples of facts: the finding as the vocabulary parses it. Empty if the vocabulary does not know the finding."""


def embed_findings(
    encoder: EntityEncoder, gate: FindingGate, entities: Mapping[str, Sequence[Entity]]
) -> dict[str, ReportFindings]:
    """Return the present findings of each report, given its entities, in the statements that pass the gate."""
    statements = {report: list(_statements(report, own)) for report, own in entities.items()}
    passed = gate.reporting(statement for own in statements.values() for statement, _ in own)
    phrases = {
        report: [
            phrase
            for statement, found in own
            if statement in passed
            for phrase in _reported_findings(encoder, statement, found)
        ]
        for report, own in statements.items()
    }
    row_of = {text: row for row, text in enumerate(dict.fromkeys(text for own in phrases.values() for text in own))}
    table = F.normalize(encoder.embed(list(row_of)).vectors, dim=-1)
    return {
        report: ReportFindings(table[[row_of[text] for text in own]], own, [sentence_facts(text) for text in own])
        for report, own in phrases.items()
    }


def _statements(report: str, entities: Sequence[Entity]) -> Iterator[tuple[str, list[Entity]]]:
    """Yield the statements of a report with their entities, which are in order and get offsets in the statement."""
    starts = [entity.start for entity in entities]
    for start, end in sentence_spans(report):
        own = entities[bisect_left(starts, start) : bisect_left(starts, end)]
        yield report[start:end], [entity._replace(start=entity.start - start, end=entity.end - start) for entity in own]


def _reported_findings(encoder: EntityEncoder, statement: str, entities: Sequence[Entity]) -> list[str]:
    """Return the phrases of the findings of a statement; the statement itself if the tagger found none in it.

    A list of findings and a resolved one are no phrase. A phrase over the encoder's limit is compared up to the limit.

    Args:
        encoder: Encoder of the phrases.
        statement: The statement.
        entities: Its entities, with offsets in it.
    """
    if phrases := present_findings(statement, entities, encoder.contextualize(statement, entities)):
        return phrases
    facts = sentence_facts(statement)
    is_one = len({fact for fact in facts if fact.positive}) < 2 and all(fact.change != "resolved" for fact in facts)
    return [statement] if is_one else []


def matched_quality(
    reference: ReportFindings, candidate: ReportFindings, context: PatientContext = NO_CONTEXT
) -> float:
    """Return the quality of a candidate: each finding has an agreement a with the closest one of the other report.

    If the vocabulary knows both findings, their agreement is `known_agreement`. Otherwise, it is a = (c - 0.4) / (0.7 -
    0.4), limited to [0, 1], with the cosine c. A finding has the weight w, see `phrase_weight`. A finding of either
    report adds w·(1 - a) to the wrong weight. A finding of the reference also adds w·a to the matched weight.

    >>> fluid = ReportFindings(torch.tensor([[1.0, 0.0]]), ["edema"], [()])
    >>> both = ReportFindings(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["edema", "scar"], [(), ()])
    >>> matched_quality(fluid, fluid), matched_quality(both, fluid)
    (1.0, 0.75)
    """
    cosines = reference.vectors @ candidate.vectors.T
    agreement = ((cosines - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE)).clamp(0, 1)
    known = [known_agreement(own, other) for own in reference.facts for other in candidate.facts]
    known_values = torch.tensor([math.nan if value is None else value for value in known]).view_as(agreement)
    agreement = known_values.where(known_values.isfinite(), agreement)
    weights, candidate_weights = (torch.tensor(list(_weights(side, context))) for side in (reference, candidate))
    right, right_candidate = (
        side @ agreement.amax(axis) if agreement.numel() else torch.zeros(())
        for side, axis in ((weights, 1), (candidate_weights, 0))
    )
    wrong = (weights.sum() - right) + (candidate_weights.sum() - right_candidate)
    return float(finding_quality(right, wrong.clamp_min(0)))


def _weights(report: ReportFindings, context: PatientContext) -> Iterator[float]:
    """Yield the weight of each finding of a report."""
    earlier: dict[Fact, None] = {}
    for phrase, facts in zip(report.phrases, report.facts, strict=True):
        is_repeated = bool(facts) and all(repeats_device(fact, earlier) for fact in facts)
        yield 0.0 if is_repeated else phrase_weight(phrase, context)
        earlier |= dict.fromkeys(facts)
