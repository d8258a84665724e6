"""Evaluators by rules: their answers have the requested form, name the errors, and agree with known errors."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.readers.openi import write_coded_groups
from radreward.data.records import read_groups
from radreward.metrics.functional import kendall_tau_b
from radreward.scorers import load
from radreward.synthesis import synthesize
from radreward.systems.radreason.rules import RuleRadReason
from radreward.types import ReportGroup


def total_agreement(groups: list[ReportGroup]) -> float:
    """Return τ-b of the totals of RadReason by rules with the number of errors; every answer must have the form."""
    pairs = [(group.reference, entry.text, entry.errors or {}) for group in groups for entry in group.candidates]
    references, candidates, errors = zip(*pairs, strict=True)
    scores = load("radreason").score(references, candidates)
    assert set(scores.status) == {"ok"}
    assert scores.evidence is not None
    assert all(entry.format_error is None for entry in scores.evidence)
    return float(kendall_tau_b(scores.total, -torch.tensor([sum(entry.values()) for entry in errors])))


def test_counts_agree_with_errors_of_generated_reports() -> None:
    """Check reports of the grammar whose sentences the same package parses: a test of the code, not of the wording."""
    assert total_agreement(list(synthesize(RadCliQCriteria(), 40, 3, seed=8))) >= 0.9


def test_counts_agree_with_errors_from_expert_codes(tmp_path: Path) -> None:
    folder = os.environ.get("RADREWARD_OPENI")
    if folder is None:
        pytest.skip("RADREWARD_OPENI (the folder of Open-i's reports) is not set")
    write_coded_groups(Path(folder, "indiana_reports.csv"), tmp_path, RadCliQCriteria(), 300, 4, 0)
    assert total_agreement(list(read_groups(tmp_path / "test.parquet", RadCliQCriteria()))) >= 0.6


def test_every_counted_error_has_a_reason() -> None:
    group = next(synthesize(RadCliQSignificanceCriteria(), 1, 4, seed=2))
    radreason, green = (load(name) for name in ("radreason", "green"))
    for candidate in group.candidates:
        for scorer in (radreason, green):
            scores: Any = scorer.score([group.reference], [candidate.text])
            counts = scores.error_counts[0].tolist()
            reasons = scores.evidence[0].errors
            assert sum(map(len, reasons.values())) == sum(counts)


def test_partly_read_sentences_are_stated() -> None:
    answer = RuleRadReason().write_answer("Shrapnel beside an effusion of old age. Edema.", "Edema.")
    assert "Sentences that are read in part only: 1 of 2 of the reference." in answer


@given(st.text(alphabet=st.sampled_from("<>/&;:[]().\nab1 "), max_size=80))
def test_text_of_reports_cannot_break_the_form(text: str) -> None:
    scorer = RuleRadReason()
    answer = scorer.write_answer(f"Edema. {text}", f"{text} Small effusion.")
    assert scorer.template.parse(answer, scorer.criteria).format_error is None
