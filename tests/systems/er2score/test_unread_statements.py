"""Statements that surely report no finding are not read: their scores, and those of reports of nothing else."""

from __future__ import annotations

import pytest
import torch

import radreward
from radreward.models.finding_classifier import POSSIBLE, PROBABLE, embedded_classifier
from radreward.types import Scores

OTHER = ("Two views of the chest were obtained.", "The patient is rotated.", "Clinical correlation is recommended.")
UNKNOWN = "Tree-in-bud pattern in the left base."


def _score(reference: str, candidate: str) -> Scores:
    return radreward.load("er2score").score([reference], [candidate])


def test_limits_differ_in_what_they_dismiss() -> None:
    unread = [*OTHER, UNKNOWN, "The trachea is visible."]
    strict, lenient = (embedded_classifier().dismissed(unread, limits) for limits in (PROBABLE, POSSIBLE))
    assert set(OTHER) <= lenient < strict
    assert UNKNOWN not in strict


@pytest.mark.parametrize("statement", OTHER)
def test_they_change_no_score_and_are_in_the_evidence(statement: str) -> None:
    reference, candidate = "Small left effusion. Enlarged heart.", "Moderate left effusion. Rib fracture."
    expected = _score(reference, candidate)
    for scores in (_score(f"{reference} {statement}", candidate), _score(reference, f"{statement} {candidate}")):
        torch.testing.assert_close(scores.total, expected.total, rtol=0, atol=2e-4)
        torch.testing.assert_close(scores.quality, expected.quality, rtol=0, atol=1e-3)
        assert scores.evidence is not None
        assert scores.evidence[0] is not None
        (entry,) = (entry for entry in scores.evidence[0] if entry.text == statement)
        assert not entry.errors


def test_a_report_of_nothing_else_has_no_findings() -> None:
    technique = " ".join(OTHER)
    assert _score("The lungs are clear.", f"The lungs are clear. {technique}").total.item() == 0.0
    assert _score("Large left effusion.", technique).total.item() < -0.5


def test_unknown_words_are_read() -> None:
    assert _score("The lungs are clear.", f"No effusion. {UNKNOWN}").total.item() < -0.5
