"""Quality of RaTEScore: findings only, by their significance."""

import pytest

from radreward.models.pair_findings import PairFindings
from radreward.models.report_findings import ReportFindings
from radreward.systems.ratescore.quality import finding_phrases, matched_qualities
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.text.facts import Fact
from radreward.text.patient_context import NO_CONTEXT

REFERENCE = "Large right pneumothorax. Mild edema. Scoliosis. Heart size is normal."
NORMAL = "The lungs are clear. No effusion. The mediastinum is normal."


@pytest.fixture(scope="module")
def scorer() -> RaTEScore:
    return RaTEScore.from_pretrained()


def qualities(scorer: RaTEScore, reference: str, *candidates: str) -> list[float]:
    scores = scorer.score([reference] * len(candidates), candidates)
    assert scores.quality is not None
    return [float(value) for value in scores.quality]


TEXTS = (
    "spidery lines",
    "odd contour of a rib",
    "water in the pleura",
    "pleural fluid on the left",
    "an enlarged heart",
)


@pytest.mark.parametrize("reference", [(), TEXTS[:1], TEXTS[1:4]])
@pytest.mark.parametrize("candidate", [(), TEXTS[:2], TEXTS[2:]])
def test_quality_of_unread_texts_equals_the_formula(
    scorer: RaTEScore, reference: tuple[str, ...], candidate: tuple[str, ...]
) -> None:
    def agreement(text: str, others: tuple[str, ...]) -> float:
        vector = scorer.encoder.embed([text]).vectors[0]
        cosines = [float(vector @ scorer.encoder.embed([other]).vectors[0]) for other in others]
        return max((min(1.0, max(0.0, (cosine - 0.4) / 0.3)) for cosine in cosines), default=0.0)

    shares = [
        [agreement(text, other) for text in own] for own, other in ((reference, candidate), (candidate, reference))
    ]
    right = 0.25 + 0.25 * sum(shares[0])
    wrong = 0.25 * sum(1 - share for side in shares for share in side)
    pair = PairFindings(ReportFindings((), reference), ReportFindings((), candidate))
    assert matched_qualities([pair], [NO_CONTEXT], scorer.encoder) == [pytest.approx(right / (right + wrong), abs=1e-5)]


def test_the_encoder_compares_a_read_finding_with_unread_ones_only(scorer: RaTEScore) -> None:
    water, fluid = ReportFindings((), ("pleural effusion on the left",)), ReportFindings((Fact("effusion"),), ())
    other = ReportFindings((Fact("hemothorax"), Fact("scar")), ())
    pairs = [PairFindings(fluid, water), PairFindings(fluid, other)]
    same, different = matched_qualities(pairs, [NO_CONTEXT] * 2, scorer.encoder)
    assert same > 0.9
    assert different < 0.5


def test_matching_normal_statements_do_not_offset_a_missed_finding(scorer: RaTEScore) -> None:
    short, long = qualities(scorer, REFERENCE, "Mild edema.", f"Mild edema. {NORMAL}")
    assert long == pytest.approx(short, abs=0.005)
    short, long = (qualities(scorer, text, f"Mild edema. {NORMAL}")[0] for text in (REFERENCE, f"{REFERENCE} {NORMAL}"))
    assert long == pytest.approx(short, abs=0.005)


def test_a_normal_summary_of_a_normal_report_is_right(scorer: RaTEScore) -> None:
    assert qualities(scorer, NORMAL, "No acute disease.") == pytest.approx([1.0], abs=0.005)
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
        scorer,
        reference,
        "Left nodular density. Right lobar collapse, more prominent than before.",
        "Left rib fracture.",
    )
    assert same == pytest.approx(1.0, abs=0.005)
    assert other == pytest.approx(0.25 / (0.25 + 0.5 + 1.0 + 0.5), abs=0.005)


def test_findings_exclude_normal_statements_and_body_parts(scorer: RaTEScore) -> None:
    unread = f"{REFERENCE} Spidery lines in the left lower lobe."
    [(findings, normal)] = finding_phrases([unread], [NORMAL], scorer.classifier, scorer.tagger, scorer.encoder)
    assert sorted(fact.finding for fact in findings.facts) == ["edema", "pneumothorax", "scoliosis"]
    assert len(findings.unread) == 1
    assert normal[:2] == ((), ())
