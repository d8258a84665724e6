"""Evaluators that explain: their answers have the requested form, name the errors, and agree with known errors."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.openi.studies import write_coded_groups
from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.metrics.functional import kendall_tau_b
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact
from radreward.prompts import PlainPairTemplate
from radreward.scorers import load
from radreward.scorers.explained_counts import ExplainedRadReason, allot_errors, analyze_statements
from radreward.synthesis import synthesize
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.systems.er2score.statements import StatementEvidence
from radreward.types import ReportGroup

CRITERIA = RadCliQSignificanceCriteria()
loaded = cache(load)
PAIR = ("Small left effusion. Cardiomegaly.", "Small left effusion. Pneumothorax.")


def _statement(side: Any, text: str, counterpart: str, **errors: float) -> StatementEvidence:
    return StatementEvidence(side, text, 0, len(text), errors, counterpart)


def _expected(**counts: float) -> Mapping[str, float]:
    return {**dict.fromkeys(CRITERIA.tags, 0.0), **counts}


def total_agreement(groups: list[ReportGroup]) -> float:
    """Return τ-b of the totals of `radreason` with the number of errors; every answer must have the form."""
    pairs = [(group.reference, entry.text, entry.errors or {}) for group in groups for entry in group.candidates]
    references, candidates, errors = zip(*pairs, strict=True)
    scores = loaded("radreason").score(references, candidates)
    assert set(scores.status) == {"ok"}
    assert scores.evidence is not None
    assert all(entry.format_error is None for entry in scores.evidence)
    return float(kendall_tau_b(scores.total, -torch.tensor([sum(entry.values()) for entry in errors])))


def test_counts_agree_with_errors_of_generated_reports() -> None:
    assert total_agreement(list(synthesize(RadCliQCriteria(), 8, 3, seed=1000))) >= 0.6


def test_counts_agree_with_errors_from_expert_codes(tmp_path: Path) -> None:
    folder = os.environ.get("RADREWARD_OPENI")
    if folder is None:
        pytest.skip("RADREWARD_OPENI (the folder of Open-i's reports) is not set")
    write_coded_groups(Path(folder, "indiana_reports.csv"), tmp_path, RadCliQCriteria(), 30, 4, 0)
    assert total_agreement(list(read_groups(tmp_path / "test.parquet", RadCliQCriteria()))) >= 0.45


def test_every_counted_error_has_a_reason() -> None:
    group = next(synthesize(CRITERIA, 1, 4, seed=2))
    radreason, green = (loaded(name) for name in ("radreason", "green"))
    for scorer in (radreason, green):
        scores: Any = scorer.score([group.reference] * 4, [entry.text for entry in group.candidates])
        for counts, evidence in zip(scores.error_counts.tolist(), scores.evidence, strict=True):
            assert sum(map(len, evidence.errors.values())) == sum(counts)


def test_reasons_quote_both_reports() -> None:
    statements = [
        _statement("candidate", "Large mass.", "Small mass.", insignificant_incorrect_severity=0.6),
        _statement("candidate", "Edema.", "Clear.", significant_false_prediction=0.9),
        _statement("reference", "Small mass.", "Large mass.", insignificant_incorrect_severity=0.3),
        _statement("reference", "Clear.", "Edema."),
    ]
    expected = _expected(insignificant_incorrect_severity=0.9, significant_false_prediction=0.9)
    analysis = analyze_statements(statements, expected, RadCliQCriteria())
    assert analysis.error_counts == (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    assert analysis.error_texts[0] == ("the reference does not state “Edema.”",)
    assert analysis.error_texts[3] == ("the severity in “Large mass.” differs from “Small mass.”",)
    assert analysis.matched_findings == ()
    assert analyze_statements(statements, expected, CRITERIA).error_counts[9] == 1.0


def test_statements_of_both_reports_without_an_error_match() -> None:
    statements = [
        _statement("candidate", "No edema.", "No edema."),
        _statement("candidate", "Clear.", "No edema."),
        _statement("reference", "No edema.", "No edema."),
        _statement("reference", "Mass.", "Clear.", significant_omission=0.8),
    ]
    analysis = analyze_statements(statements, _expected(significant_omission=0.8), CRITERIA)
    assert analysis.matched_findings == ("No edema.",)


@given(st.lists(st.floats(0.05, 4), min_size=1, max_size=12), st.integers(0, 30))
def test_errors_are_given_one_by_one_to_the_largest_evidence_that_is_left(values: list[float], count: int) -> None:
    tags = CRITERIA.tags[: len(values)]
    chosen = allot_errors([_statement("candidate", "A.", "B.", **dict(zip(tags, values, strict=True)))], count)
    assert len(chosen) == count
    left = dict(zip(tags, values, strict=True))
    for tag, *pair in chosen:
        assert pair == ["A.", "B."]
        assert left[tag] == max(left.values())
        left[tag] -= 1


def test_no_evidence_gives_no_errors() -> None:
    assert allot_errors([_statement("candidate", "A.", "B.")], 3) == []


def test_reward_model_without_evidence_raises() -> None:
    artifact = RewardModelArtifact(PooledRewardModel(Backbone("tiny-bert"), CRITERIA), PlainPairTemplate(), 100)
    with pytest.raises(InputError, match="Expected a model with `architecture: evidence`, a calibration and"):
        ExplainedRadReason(RewardModelScorer(artifact))


def test_pair_over_the_limit_has_a_status_and_no_score() -> None:
    long = " ".join(f"Nodule of {size} mm." for size in range(1, 110))
    scores = loaded("radreason").score(["Edema.", PAIR[0]], [long, PAIR[1]])
    assert scores.status[0].startswith("over the limit")
    assert scores.total.isnan().tolist() == [True, False]
    truncated = load("green", on_too_long="truncate").score(["Edema."], [long])
    assert truncated.status == ("truncated",)


@settings(max_examples=10, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>/&;:[]().\nab1 “”"), max_size=80))
def test_text_of_reports_cannot_break_the_form(text: str) -> None:
    for name in ("radreason", "green"):
        scores: Any = loaded(name).score([f"Edema. {text}"], [f"{text} Small effusion."])
        assert scores.status[0] in ("ok", "truncated") or "report" in scores.status[0]
        if scores.evidence[0] is not None:
            assert scores.evidence[0].format_error is None
