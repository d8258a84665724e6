"""Quality of RaTEScore: findings only, by their significance."""

import pytest
import torch

from radreward.systems.ratescore.quality import embed_findings
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.text.facts import known_agreement
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import phrase_weight

REFERENCE = "Large right pneumothorax. Mild edema. Scoliosis. Heart size is normal."
NORMAL = "The lungs are clear. No effusion. The mediastinum is normal."


@pytest.fixture(scope="module")
def scorer() -> RaTEScore:
    return RaTEScore.from_pretrained()


def qualities(scorer: RaTEScore, reference: str, *candidates: str) -> list[float]:
    scores = scorer.score([reference] * len(candidates), candidates)
    assert scores.quality is not None
    return [float(value) for value in scores.quality]


def naive(scorer: RaTEScore, reference: str, candidate: str) -> float:
    """Return the quality by the formula, finding by finding."""
    sides = []
    for text in (reference, candidate):
        entities = scorer.tagger.tag_reports([text])[0]
        phrases = scorer.encoder.contextualize(text, entities)
        sides.append([p for e, p in zip(entities, phrases, strict=True) if e.type in ("Abnormality", "Disease")])

    def agreement(phrase: str, other: str) -> float:
        known = known_agreement(sentence_facts(phrase), sentence_facts(other))
        cosine = float(scorer.encoder.encode([phrase])[0] @ scorer.encoder.encode([other])[0])
        return min(1.0, max(0.0, (cosine - 0.4) / 0.3)) if known is None else known

    matched = wrong = 0.0
    for number, own in enumerate(sides):
        for phrase in own:
            share = max((agreement(phrase, other) for other in sides[1 - number]), default=0.0)
            matched += phrase_weight(phrase) * share * (number == 0)
            wrong += phrase_weight(phrase) * (1 - share)
    return (matched + 0.25) / (matched + 0.25 + wrong)


@pytest.mark.parametrize(
    "candidate",
    [
        "Large right pneumothorax.",
        "Small left pneumothorax with pulmonary edema.",
        "No pneumothorax. Rib fracture.",
        "Right-sided PTX, odd contour, left lung mass.",
        NORMAL,
    ],
)
def test_quality_equals_the_formula(scorer: RaTEScore, candidate: str) -> None:
    assert qualities(scorer, REFERENCE, candidate)[0] == pytest.approx(naive(scorer, REFERENCE, candidate), abs=1e-5)


def test_matching_normal_statements_do_not_offset_a_missed_finding(scorer: RaTEScore) -> None:
    short, long = qualities(scorer, REFERENCE, "Mild edema.", f"Mild edema. {NORMAL}")
    assert long == pytest.approx(short, abs=1e-6)
    short, long = (qualities(scorer, text, f"Mild edema. {NORMAL}")[0] for text in (REFERENCE, f"{REFERENCE} {NORMAL}"))
    assert long == pytest.approx(short, abs=1e-6)


def test_a_normal_summary_of_a_normal_report_is_right(scorer: RaTEScore) -> None:
    assert qualities(scorer, NORMAL, "No acute disease.") == [1.0]
    assert scorer.score([NORMAL], ["No acute disease."]).total[0] < 0.9


def test_order_of_candidates_follows_significance(scorer: RaTEScore) -> None:
    both, edema_missed, pneumothorax_missed, nothing = qualities(
        scorer,
        REFERENCE,
        "Large right-sided pneumothorax. Mild pulmonary edema.",
        "Large right pneumothorax.",
        "Mild edema.",
        NORMAL,
    )
    assert 1 >= both > edema_missed > pneumothorax_missed > nothing > 0


def test_other_names_of_a_finding_are_right_and_other_findings_wrong(scorer: RaTEScore) -> None:
    reference = "Nodule in the left upper lobe. Collapse of the right lung has increased."
    same, other = qualities(
        scorer, reference, "Left nodular density. Lobar collapse, more prominent than before.", "Left rib fracture."
    )
    assert same == pytest.approx(1.0, abs=1e-6)
    assert other == pytest.approx(0.25 / (0.25 + 0.5 + 1.0 + 0.5), abs=1e-6)


def test_findings_exclude_normal_statements_and_body_parts(scorer: RaTEScore) -> None:
    entities = dict(zip([REFERENCE, NORMAL], scorer.tagger.tag_reports([REFERENCE, NORMAL]), strict=True))
    findings = embed_findings(scorer.encoder, scorer.gate, entities)
    assert [phrase_weight(text) for text in findings[REFERENCE].phrases] == [1.0, 0.5, 0.25]
    assert findings[NORMAL].vectors.shape == (0, scorer.encoder.embedding_dim)
    torch.testing.assert_close(findings[REFERENCE].vectors.norm(dim=1), torch.ones(3))
