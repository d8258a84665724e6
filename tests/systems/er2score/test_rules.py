"""Share of rules in the scores of a reward model."""

from dataclasses import replace
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import radreward
from radreward.criteria import CrimsonCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import OMISSION, FactError
from radreward.data.statement_tokens import StatementTokens
from radreward.models import load_reward_model
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.report_findings import ReportFindings, read_findings
from radreward.systems.er2score.rules import RuleDecision, decide
from radreward.systems.er2score.scorer import EMBEDDED_DIR, ERROR_COST, RewardModelScorer
from radreward.text.facts import Fact
from radreward.text.normalization import wording_key
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Side

REFERENCE = "Large left effusion, new. Scoliosis. No edema."
CANDIDATES = [
    "Right effusion, stable.",
    "Large left effusion. Beaded lines in the right lung.",
    "Scoliosis. No effusion. The rib is broken.",
]
SENTENCES = [
    *("Pulmonary vascular congestion.", "Edema has worsened.", "Mild edema.", "No edema.", "Possible right pneumonia."),
    *("ETT tip 4 cm above the carina.", "The ETT is new.", "ETT tip 1 cm above the carina.", "Lungs are clear."),
    *("Small left effusion.", "Bilateral effusions.", "The effusion has increased.", "Right lower lobe opacity."),
    *("Spidery lines in the left lower lobe.", "Nodule of 8 mm in the lingula.", "This nodule is unchanged."),
]
FACTS = st.lists(
    st.sampled_from([Fact(name, location=place) for name in ("effusion", "edema", "ett") for place in (None, "left")]),
    max_size=4,
)


def findings_of(*reports: str) -> list[ReportFindings]:
    return list(read_findings(reports, embedded_classifier()).values())


@given(FACTS, FACTS)
def test_errors_by_statement_add_up_to_the_counts(reference: list[Fact], candidate: list[Fact]) -> None:
    criteria = RadCliQSignificanceCriteria()
    first, second = ReportFindings(tuple(reference), ()), ReportFindings(tuple(candidate), ())
    decision = decide(first, second, criteria)
    texts = {Side.REFERENCE: "Left effusion. Left effusion or edema.", Side.CANDIDATE: "A nodule."}
    statements = {
        side: StatementTokens(text, spans, torch.zeros(0))
        for (side, text), spans in zip(texts.items(), (((0, 14), (15, 38)), ((0, 9),)), strict=True)
    }
    nothing = {side: torch.zeros(len(part.spans) + 1, len(criteria)) for side, part in statements.items()}
    located = decision.mean_errors(nothing, statements, rule_share=1.0)
    share = decision.share
    for column, tag in enumerate(criteria.tags):
        expected = sum(number == column for number, _ in decision.errors or ())
        assert sum(float(part[:, column].sum()) for part in located.values()) == pytest.approx(share * expected), tag
    same = decide(first, first, criteria)
    assert (same.quality, same.share, same.errors) == (1.0, 1.0, ())


def test_statements_of_a_fact_share_its_errors() -> None:
    decision = RuleDecision(0.0, 0.5, ((1, FactError(OMISSION, True, Fact("effusion"), None)),))
    statements = StatementTokens("Effusion. Clear. An effusion.", ((0, 9), (10, 16), (17, 29)), torch.zeros(0))
    other = StatementTokens("Clear.", ((0, 6),), torch.zeros(0))
    errors = {Side.REFERENCE: torch.ones(4, 2), Side.CANDIDATE: torch.zeros(2, 2)}
    located = decision.mean_errors(errors, {Side.REFERENCE: statements, Side.CANDIDATE: other}, rule_share=0.5)
    assert located[Side.REFERENCE].tolist() == [[0.75, 0.875], [0.75, 0.75], [0.75, 0.875], [0.75, 0.75]]
    assert not located[Side.CANDIDATE].any()


def test_criteria_that_rules_do_not_count_keep_the_errors_of_the_model() -> None:
    reference, candidate = findings_of("Left effusion.", "Edema.")
    decision = decide(reference, candidate, CrimsonCriteria())
    assert decision.errors is None
    errors = {Side.REFERENCE: torch.ones(1, 7)}
    assert decision.mean_errors(errors, {}, 1.0) is errors
    same = decide(reference, reference, CrimsonCriteria())
    assert same.errors is None
    radcliq = decide(reference, candidate, RadCliQCriteria()).errors
    assert radcliq is not None
    assert [(column, error.side) for column, error in radcliq] == [(1, "reference"), (0, "candidate")]


def random_report(rng: Random, shared: list[str]) -> str:
    sentences = [*shared, *rng.sample(SENTENCES, rng.randint(0, 2))] or [SENTENCES[0]]
    return " ".join(rng.sample(sentences, len(sentences)))


def test_a_statement_of_both_reports_shows_no_error() -> None:
    rng = Random(0)
    shared = [rng.sample(SENTENCES, rng.randint(0, 3)) for _ in range(50)]
    pairs = [(random_report(rng, own), random_report(rng, own)) for own in shared]
    pairs += [("PTX at the R base. Large L PTX.", "ptx at the r base. large l ptx.")]
    scores = radreward.load("er2score").score([first for first, _ in pairs], [second for _, second in pairs])
    assert scores.errors is not None
    assert scores.evidence is not None
    assert scores.errors[-1] == 0
    for (reference, candidate), evidence in zip(pairs, scores.evidence, strict=True):
        words = {
            side: set(map(wording_key, split_sentences(text)))
            for side, text in zip(Side, (reference, candidate), strict=True)
        }
        assert evidence is not None
        for entry in evidence:
            if entry.errors:
                assert wording_key(entry.text) not in words[entry.side.other], (entry, reference, candidate)


def test_scores_are_means_with_those_of_the_rules_where_they_read_the_findings() -> None:
    artifact = load_reward_model(EMBEDDED_DIR)
    model, shipped = RewardModelScorer(replace(artifact, rule_share=0.0)), RewardModelScorer(artifact)
    assert model.fingerprint() != shipped.fingerprint()
    reference, *candidates = findings_of(REFERENCE, *CANDIDATES)
    decisions = [decide(reference, candidate, artifact.model.criteria) for candidate in candidates]
    # The rules leave the words to the model that they do not read.
    assert [entry.share for entry in decisions] == pytest.approx([1.0, 0.8, 1.0])
    own, mean = (scorer.score([REFERENCE] * len(CANDIDATES), CANDIDATES) for scorer in (model, shipped))
    assert own.quality is not None
    assert mean.quality is not None
    assert own.error_counts is not None
    assert mean.error_counts is not None
    assert torch.equal(own.total, mean.total)
    tags = artifact.model.criteria.tags
    for row, decision in enumerate(decisions):
        share = artifact.rule_share * decision.share
        undivided = [
            float(quality * (1 + ERROR_COST * counts.sum()))
            for quality, counts in (
                (own.quality[row], own.error_counts[row]),
                (mean.quality[row], mean.error_counts[row]),
            )
        ]
        assert undivided[1] == pytest.approx((1 - share) * undivided[0] + share * decision.quality, abs=1e-5)
        by_rules = torch.tensor([sum(column == n for column, _ in decision.errors or ()) for n in range(len(tags))])
        torch.testing.assert_close(mean.error_counts[row], (1 - share) * own.error_counts[row] + share * by_rules)
    assert mean.evidence is not None
    statements = mean.evidence[0]
    assert statements is not None
    missed = {entry.text: entry.errors for entry in statements if entry.side == "reference"}
    assert missed["Scoliosis."]["insignificant_omission"] >= 0.5
