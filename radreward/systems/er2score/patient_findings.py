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
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.text.significance import patient_weight


def findings_for_patient(pair: PairStatements, context: PatientContext, num_criteria: int) -> Tensor | None:
    """Return the (2,) finding weights of a pair, matched and wrong, for one patient, before calibration.

    The findings that a statement reports have the total significance w for a patient without context, as in the
    training data, and w' for this patient. Both weights of the statement are multiplied by w' / w.

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
        wrong = concentrated(values[:, num_criteria + 1], values[:, :num_criteria].sum(1))
        sums = sum_by_statement(statements, torch.stack([values[:, num_criteria], wrong], 1))
        # The last row has the tokens outside of all statements.
        factors = [for_patient / stated if stated else 1.0 for stated, for_patient in weights[side]] + [1.0]
        total += (sums * torch.tensor(factors).unsqueeze(1)).sum(0)
    return total


@lru_cache(CACHED_SENTENCES)
def _significance(statement: str, context: PatientContext) -> tuple[float, float]:
    """Return the total significance of the findings that a statement reports, without context and for a patient."""
    facts = [fact for fact in sentence_facts(statement) if fact.positive]
    return sum(map(patient_weight, facts)), sum(patient_weight(fact, context) for fact in facts)
