"""Quality by the matches of findings only: normal statements and body parts offset no finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.criteria import finding_quality
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.text.entities import FINDING_TYPES
from radreward.text.significance import phrase_weight
from radreward.types import Entity

UNRELATED_COSINE, EQUAL_COSINE = 0.4, 0.7
"""Findings do not match at all up to the first cosine, and completely from the second on; chosen for MiniLM on 300
pairs of generated and 300 of real reports."""


class ReportFindings(NamedTuple):
    """The k present findings of a report."""

    vectors: Tensor
    """(k, d) unit vectors."""
    weights: Tensor
    """(k,) significance."""


def embed_findings(encoder: EntityEncoder, entities: Mapping[str, Sequence[Entity]]) -> dict[str, ReportFindings]:
    """Return the present findings of each report, given its entities."""
    phrases: dict[str, list[str]] = {}
    weights: dict[str, list[float]] = {}
    for report, own in entities.items():
        is_finding = [entity.type in FINDING_TYPES for entity in own]
        texts = encoder.contextualize(report, own)
        phrases[report] = [text for text, selected in zip(texts, is_finding, strict=True) if selected]
        weights[report] = [
            phrase_weight(entity.name) for entity, selected in zip(own, is_finding, strict=True) if selected
        ]
    row_of = {text: row for row, text in enumerate(dict.fromkeys(text for own in phrases.values() for text in own))}
    table = F.normalize(encoder.embed(list(row_of)).vectors, dim=-1)
    return {
        report: ReportFindings(table[[row_of[text] for text in own]], torch.tensor(weights[report]))
        for report, own in phrases.items()
    }


def matched_quality(reference: ReportFindings, candidate: ReportFindings) -> float:
    """Return the quality of a candidate, from the agreement of each finding with the closest one of the other report.

    A finding with the cosine c agrees by a = (c - 0.4) / (0.7 - 0.4), limited to [0, 1]: its weight w adds w·a to what
    matches if it is the reference's, and w·(1 - a) to what is wrong in either report.

    >>> edema = ReportFindings(torch.tensor([[1.0, 0.0]]), torch.tensor([0.5]))
    >>> missed = ReportFindings(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0.5, 0.25]))
    >>> matched_quality(edema, edema), matched_quality(missed, edema)
    (1.0, 0.75)
    """
    cosines = reference.vectors @ candidate.vectors.T
    agreement = ((cosines - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE)).clamp(0, 1)
    right, right_candidate = (
        side.weights @ agreement.amax(axis) if agreement.numel() else torch.zeros(())
        for side, axis in ((reference, 1), (candidate, 0))
    )
    wrong = (reference.weights.sum() - right) + (candidate.weights.sum() - right_candidate)
    return float(finding_quality(right, wrong.clamp_min(0)))
