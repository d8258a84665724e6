"""Quality from the matches of findings alone: normal statements and body parts do not count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.criteria import finding_quality
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_context import present_findings
from radreward.text.facts import Fact, known_agreement
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.sentence_parser import sentence_facts
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


def embed_findings(encoder: EntityEncoder, entities: Mapping[str, Sequence[Entity]]) -> dict[str, ReportFindings]:
    """Return the present findings of each report, given its entities."""
    phrases = {
        report: present_findings(report, own, encoder.contextualize(report, own)) for report, own in entities.items()
    }
    row_of = {text: row for row, text in enumerate(dict.fromkeys(text for own in phrases.values() for text in own))}
    table = F.normalize(encoder.embed(list(row_of)).vectors, dim=-1)
    return {
        report: ReportFindings(table[[row_of[text] for text in own]], own, [sentence_facts(text) for text in own])
        for report, own in phrases.items()
    }


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
