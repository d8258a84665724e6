"""Quality of RaTEScore: findings only, by their significance."""

import pytest
import torch

from radreward.systems.ratescore.quality import embed_findings
from radreward.systems.ratescore.scorer import RaTEScore
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
        sides.append([(e, p) for e, p in zip(entities, phrases, strict=True) if e.type in ("Abnormality", "Disease")])

    def agreement(phrase: str, others: list[str]) -> float:
        cosines = [float(scorer.encoder.encode([phrase])[0] @ scorer.encoder.encode([o])[0]) for o in others]
        return min(1.0, max(0.0, (max(cosines, default=0.0) - 0.4) / 0.3))

    matched = wrong = 0.0
    for number, own in enumerate(sides):
        for entity, phrase in own:
            share = agreement(phrase, [p for _, p in sides[1 - number]])
            matched += phrase_weight(entity.name) * share * (number == 0)
            wrong += phrase_weight(entity.name) * (1 - share)
    return (matched + 0.25) / (matched + 0.25 + wrong)


@pytest.mark.parametrize(
    "candidate",
    [
        "Large right pneumothorax.",
        "Small left pneumothorax with pulmonary edema.",
        "No pneumothorax. Rib fracture.",
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
    scores = scorer.score([NORMAL], ["No acute disease."])
    assert scores.quality is not None
    assert scores.quality.tolist() == [1.0]
    assert scores.total[0] < 0.9


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


def test_findings_exclude_normal_statements_and_body_parts(scorer: RaTEScore) -> None:
    entities = dict(zip([REFERENCE, NORMAL], scorer.tagger.tag_reports([REFERENCE, NORMAL]), strict=True))
    findings = embed_findings(scorer.encoder, entities)
    assert findings[REFERENCE].weights.tolist() == [1.0, 0.5, 0.0]
    assert findings[NORMAL].vectors.shape == (0, scorer.encoder.embedding_dim)
    torch.testing.assert_close(findings[REFERENCE].vectors.norm(dim=1), torch.ones(3))
