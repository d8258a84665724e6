"""Statements with the errors that an evidence model finds in them."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.models import Backbone, Calibration, EvidenceRewardModel, PooledRewardModel, RewardModelArtifact
from radreward.models.evidence import TokenEvidence
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.pair_evidence import pair_statements
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.systems.er2score.statements import MIN_ERRORS, StatementEvidence, list_errors, locate_errors
from radreward.text.normalization import normalize_report
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Side

CRITERIA = RadCliQSignificanceCriteria()
LINE = [(-100.0, 400.0), (0.0, 0.0)]


def _artifact() -> RewardModelArtifact:
    torch.manual_seed(0)
    model = EvidenceRewardModel(Backbone("tiny-bert"), CRITERIA, predicts_findings=True)
    torch.nn.init.zeros_(model.evidence.candidate_evidence.bias)
    return RewardModelArtifact(model, PlainPairTemplate(), 400, Calibration([LINE] * 12))


SCORER = RewardModelScorer(_artifact(), on_too_long="truncate")


def evidence_of(reference: str, candidate: str) -> tuple[StatementEvidence, ...]:
    (evidence,) = SCORER.score([reference], [candidate]).evidence or ()
    assert evidence is not None
    return tuple(evidence)


@settings(max_examples=25, deadline=None)
@given(*[st.text(st.sampled_from("ab.\n éß😀Ⅷ—"), min_size=1, max_size=60)] * 2)
def test_statements_are_those_of_the_reports_and_share_all_errors(reference: str, candidate: str) -> None:
    scores = SCORER.score([f"No effusion. {reference}"], [f"{candidate} Effusion."])
    if scores.evidence is None or scores.evidence[0] is None:
        assert scores.status[0] not in ("ok", "truncated")
        return
    texts = {side: normalize_report(text) for side, text in
             ((Side.CANDIDATE, f"{candidate} Effusion."), (Side.REFERENCE, f"No effusion. {reference}"))}  # fmt: skip
    for side, text in texts.items():
        own = [entry for entry in scores.evidence[0] if entry.side == side]
        assert [(entry.start, entry.end) for entry in own] == list(sentence_spans(text))
        assert all(text[entry.start : entry.end] == entry.text for entry in own)
        assert all(value >= MIN_ERRORS for entry in own for value in entry.errors.values())
    assert scores.error_counts is not None
    for column, tag in enumerate(CRITERIA.tags):
        located = sum(entry.errors.get(tag, 0.0) for entry in scores.evidence[0])
        assert located <= float(scores.error_counts[0, column]) + 1e-3


@pytest.mark.parametrize(
    ("candidate", "counterpart"),
    [
        ("Scoliosis. No effusion or edema.", "No effusion or edema."),
        ("The pleural spaces are clear. Scoliosis.", "The pleural spaces are clear."),
        ("No effusion on the right. Large left effusion.", "Large left effusion."),
        ("Scoliosis. No edema.", "Scoliosis."),
    ],
)
def test_counterpart_of_a_finding_is_the_statement_that_denies_it(candidate: str, counterpart: str) -> None:
    evidence = evidence_of("Small left effusion.", candidate)
    assert [entry.counterpart for entry in evidence if entry.side == "reference"] == [counterpart]


def test_counterparts_of_normal_statements_are_those_on_the_same_findings() -> None:
    reference = "No effusion or edema. The heart is normal. No acute disease. Lungs are clear."
    candidate = "Large left effusion. Heart size is normal. No acute disease. No pulmonary edema."
    assert [entry.counterpart for entry in evidence_of(reference, candidate)] == [
        *("No effusion or edema.", "The heart is normal.", "No acute disease.", "No effusion or edema."),
        *("No pulmonary edema.", "Heart size is normal.", "No acute disease.", ""),
    ]


def test_errors_go_to_the_statement_of_their_tokens() -> None:
    tokenizer = SegmentTokenizer(load_tokenizer("tiny-bert"))  # a token per character
    reports = {Side.CANDIDATE: "Ab. Cd.", Side.REFERENCE: "Ef."}
    values = torch.zeros(8, 2)  # 7 characters, then the end of the segment
    values[5, 0], values[6, 0], values[0, 0], values[7, 1] = 1.0, 2.0, 1.0, 4.0
    candidate = TokenEvidence(values, torch.tensor([1, 1, 1, 0, 2, 2, 2, 4]), torch.ones(8).bool())
    reference = TokenEvidence(torch.zeros(5, 2), torch.tensor([0, 4, 5, 6, 0]), torch.ones(5).bool())
    evidence = {Side.CANDIDATE: candidate, Side.REFERENCE: reference}
    pair = pair_statements(reports, evidence, 2, tokenizer)
    found = list_errors(pair, locate_errors(pair, torch.tensor([2.0, 1.0])), ("omission", "tone"))
    assert found == (
        StatementEvidence(Side.CANDIDATE, "Ab.", 0, 3, {"omission": 0.5}, "Ef."),
        StatementEvidence(Side.CANDIDATE, "Cd.", 4, 7, {"omission": 1.5}, "Ef."),  # the end's evidence belongs to none
        StatementEvidence(Side.REFERENCE, "Ef.", 0, 3, {}, "Cd."),
    )


def test_truncated_report_has_statements_up_to_its_last_token() -> None:
    evidence = evidence_of("Edema.", "Effusion. " * 100)
    assert len(evidence) == 101
    assert evidence[0].errors
    assert not evidence[99].errors


@pytest.mark.parametrize(
    "artifact",
    [
        replace(_artifact(), calibration=None),
        replace(_artifact(), template=InstructionTemplate(), max_length=4000),
        replace(_artifact(), model=PooledRewardModel(Backbone("tiny-bert"), CRITERIA)),
    ],
    ids=["no calibration", "instruction", "pooled"],
)
def test_other_models_have_no_evidence(artifact: RewardModelArtifact) -> None:
    scorer = RewardModelScorer(artifact)
    assert not scorer.has_evidence
    assert scorer.score(["Edema."], ["Effusion."]).evidence is None
