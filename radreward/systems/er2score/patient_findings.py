"""Weights of findings for one patient: age and indication change the significance of a statement."""

from __future__ import annotations

import torch
from torch import Tensor

from radreward.models.evidence import concentrated
from radreward.systems.er2score.pair_evidence import PairStatements
from radreward.systems.er2score.statements import sum_by_statement
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import significance_weight


def findings_for_patient(pair: PairStatements, context: PatientContext, num_criteria: int) -> Tensor:
    """Return the (2,) finding weights of a pair, matched and wrong, for one patient, before calibration.

    The findings that a statement reports have the total significance w in general and w' for the patient. If w > 0,
    both weights of the statement are multiplied by w' / w. If w = 0, its wrong weight grows by w' · min(1, errors of
    the statement).

    Args:
        pair: Statements with the evidence of their tokens: one column per criterion, then matched and wrong weight.
        context: Age and indication of the patient.
        num_criteria: Number of criteria.
    """
    total = torch.zeros(2)
    for side, statements in pair.statements.items():
        values = pair.evidence[side].values.float()
        errors = values[:, :num_criteria].sum(1)
        matched, wrong = values[:, num_criteria], concentrated(values[:, num_criteria + 1], errors)
        sums = sum_by_statement(statements, torch.stack([matched, wrong, errors], 1))
        total += sums[-1, :2]  # tokens outside of all statements
        for index, row in enumerate(sums[:-1]):
            stated, for_patient = _significance(statements.words(index), context)
            if stated:
                total += row[:2] * (for_patient / stated)
            else:
                total += row[:2] + torch.tensor([0.0, for_patient * min(1.0, float(row[2]))])
    return total


def _significance(statement: str, context: PatientContext) -> tuple[float, float]:
    """Return the total significance of the findings that a statement reports, in general and for a patient."""
    facts = [fact for fact in sentence_facts(statement) if fact.positive]
    return sum(map(significance_weight, facts)), sum(significance_weight(fact, *context) for fact in facts)
