"""Weights of findings for one patient: age and indication change the significance of a statement."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from radreward.data.statement_tokens import statement_tokens
from radreward.data.tokenizer import SegmentTokenizer
from radreward.models.evidence import TokenEvidence, concentrated
from radreward.systems.er2score.statements import sum_by_statement
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import significance_weight
from radreward.types import Side


def findings_for_patient(
    reports: Mapping[Side, str],
    evidence: Mapping[Side, TokenEvidence],
    context: PatientContext,
    num_criteria: int,
    tokenizer: SegmentTokenizer,
) -> Tensor:
    """Return the (2,) finding weights of a pair, matched and wrong, for one patient, before calibration.

    The findings that a statement reports have the total significance w in general and w' for the patient. If w > 0,
    both weights of the statement are multiplied by w' / w. If w = 0, its wrong weight grows by w' · min(1, errors of
    the statement).

    Args:
        reports: Both normalized reports.
        evidence: Evidence of the tokens of both: one column per criterion, then the matched and the wrong weight.
        context: Age and indication of the patient.
        num_criteria: Number of criteria.
        tokenizer: Tokenizer of the prompts, which contain only the two reports.
    """
    total = torch.zeros(2)
    for side, report in reports.items():
        values = evidence[side].values.float()
        errors = values[:, :num_criteria].sum(1)
        matched, wrong = values[:, num_criteria], concentrated(values[:, num_criteria + 1], errors)
        statements = statement_tokens(report, len(values), side is Side.REFERENCE, tokenizer)
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
