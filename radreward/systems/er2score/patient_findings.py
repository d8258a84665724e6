"""Weights of findings for one patient: age and indication change the significance of a statement."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from radreward.models.evidence import concentrated
from radreward.systems.er2score.pair_evidence import PairStatements
from radreward.systems.er2score.statements import sum_by_statement
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import patient_weight, significance_weight
from radreward.types import Side


def findings_for_patient(pair: PairStatements, context: PatientContext, num_criteria: int) -> Tensor | None:
    """Return the (2,) finding weights of a pair, matched and wrong, for one patient, before calibration.

    The findings that a statement reports have the total significance w in the training data, for a typical patient, and
    w' for this patient. If w > 0, both weights of the statement are multiplied by w' / w. If w = 0, the model has
    learnt no weight: with e = min(1, errors of the statement), the wrong weight grows by w' · e, and the matched weight
    by w' · (1 - e) if the reference states it.

    Args:
        pair: Statements with the evidence of their tokens: one column per criterion, then matched and wrong weight.
        context: Age and indication of the patient.
        num_criteria: Number of criteria.

    Returns:
        The weights; None if w' = w for all statements, so that the weights of the model hold.
    """
    weights = {
        side: [_significance(statements.words(index), context) for index in range(len(statements.spans))]
        for side, statements in pair.statements.items()
    }
    if all(stated == for_patient for part in weights.values() for stated, for_patient in part):
        return None
    total = torch.zeros(2)
    for side, statements in pair.statements.items():
        values = pair.evidence[side].values.float()
        errors = values[:, :num_criteria].sum(1)
        matched, wrong = values[:, num_criteria], concentrated(values[:, num_criteria + 1], errors)
        sums = sum_by_statement(statements, torch.stack([matched, wrong, errors], 1))
        total += sums[-1, :2]  # tokens outside of all statements
        for row, (stated, for_patient) in zip(sums[:-1], weights[side], strict=True):
            if stated:
                total += row[:2] * (for_patient / stated)
            else:
                error = min(1.0, float(row[2]))
                right = (1.0 - error) * (side is Side.REFERENCE)
                total += row[:2] + for_patient * torch.tensor([right, error])
    return total


@lru_cache(50_000)
def _significance(statement: str, context: PatientContext) -> tuple[float, float]:
    """Return the total significance of the findings that a statement reports, typically and for a patient."""
    facts = [fact for fact in sentence_facts(statement) if fact.positive]
    return sum(map(significance_weight, facts)), sum(patient_weight(fact, context) for fact in facts)
