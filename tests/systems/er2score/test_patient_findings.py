"""Age and indication move the weights of findings, statement by statement."""

import pytest
import torch

from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.models.evidence import MIN_SUPPORT, TokenEvidence
from radreward.scorers import load
from radreward.systems.er2score.pair_evidence import pair_statements
from radreward.systems.er2score.patient_findings import findings_for_patient
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.types import Side

TOKENIZER = SegmentTokenizer(load_tokenizer("embedded"))
REPORTS: dict[Side, str] = {
    Side.CANDIDATE: "Cardiomegaly. Scoliosis.",
    Side.REFERENCE: "Pulmonary edema. Aortic calcification. No effusion.",
}
HEART_FAILURE = PatientContext(50, "History of heart failure.")


def _evidence(rows: dict[str, tuple[float, float, float]], side: Side, text: str = "") -> TokenEvidence:
    """Return evidence of one criterion, matched and wrong weight at the first token of each word that is given."""
    text, root = text or REPORTS[side], side is Side.REFERENCE
    offsets = TOKENIZER.offsets(text)
    first = TOKENIZER.num_prefix_tokens if root else 0
    values = torch.zeros(first + len(offsets) + 1, 3)
    for word, row in rows.items():
        index = next(i for i, (start, _) in enumerate(offsets) if start == text.index(word))
        values[first + index] = torch.tensor(row)
    return TokenEvidence(values, torch.zeros(len(values), dtype=torch.int64), torch.ones(len(values), dtype=torch.bool))


def _findings(
    context: PatientContext, edema: tuple[float, float, float], aorta: tuple[float, float, float]
) -> list[float]:
    evidence: dict[Side, TokenEvidence] = {
        Side.CANDIDATE: _evidence({"Cardiomegaly": (0.9, 0.0, 0.5)}, Side.CANDIDATE),
        Side.REFERENCE: _evidence({"Pulmonary": edema, "Aortic": aorta}, Side.REFERENCE),
    }
    weights = findings_for_patient(pair_statements(REPORTS, evidence, 1, TOKENIZER), context, 1)
    assert weights is not None
    return weights.tolist()


def _shown(wrong: float, errors: float) -> float:
    support = max(wrong, errors)
    return wrong * support / (support + MIN_SUPPORT)


def test_evidence_of_a_statement_is_scaled_by_the_significance_for_the_patient() -> None:
    edema, aorta = (0.0, 0.5, 0.0), (1.0, 0.0, 0.25)
    # Heart failure explains edema and cardiomegaly: actionable, 0.5, becomes not actionable, 0.25.
    assert _findings(HEART_FAILURE, edema, aorta) == pytest.approx([0.25, _shown(0.5, 0.9) / 2 + _shown(0.25, 1.0)])
    # Calcification of the aorta is expected from 65 years on.
    assert _findings(PatientContext(80), edema, aorta) == pytest.approx([0.5, _shown(0.5, 0.9)])


def test_weights_of_the_model_hold_if_no_finding_weighs_differently() -> None:
    texts: dict[Side, str] = {Side.CANDIDATE: "Edema.", Side.REFERENCE: "Effusion."}
    evidence: dict[Side, TokenEvidence] = {side: _evidence({}, side, text) for side, text in texts.items()}
    assert findings_for_patient(pair_statements(texts, evidence, 1, TOKENIZER), NO_CONTEXT, 1) is None


def test_shipped_model_weighs_findings_by_patient() -> None:
    scorer = load("er2score")
    pair = ["Pulmonary edema. Left lower lobe nodule."], ["Left lower lobe nodule."]
    texts = pair[0] * 3, pair[1] * 3
    contexts = [None, PatientContext(50, "Cough."), HEART_FAILURE]
    scores, plain = scorer.score(*texts, contexts), scorer.score(*texts)
    assert scores.quality is not None
    assert plain.quality is not None
    assert scores.quality[:2].tolist() == pytest.approx(plain.quality[:2].tolist())
    assert scores.quality[2] > plain.quality[2] + 0.05
    assert scores.total.tolist() == plain.total.tolist()
    assert scores.error_counts is not None
    assert plain.error_counts is not None
    assert torch.equal(scores.error_counts, plain.error_counts)
