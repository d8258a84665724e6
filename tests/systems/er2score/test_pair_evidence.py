"""Statements that both reports have show no error; identical reports have exact scores."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.openi.studies import read_openi
from radreward.criteria import RadCliQCriteria
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.models.evidence import TokenEvidence
from radreward.synthesis import synthesize
from radreward.systems.er2score.pair_evidence import pair_statements
from radreward.systems.er2score.scorer import EMBEDDED_DIR, RewardModelScorer
from radreward.types import Side

TOKENIZER = SegmentTokenizer(load_tokenizer("tiny-bert"))  # a token per character
STATEMENTS = ("Edema.", "Small scar.", "No mass.")


def _evidence(num_tokens: int) -> TokenEvidence:
    values = torch.ones(num_tokens, 4)
    return TokenEvidence(values, torch.zeros(num_tokens, dtype=torch.int64), torch.ones(num_tokens, dtype=torch.bool))


@given(*[st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4)] * 2)
def test_only_statements_of_one_report_show_errors(reference: list[str], candidate: list[str]) -> None:
    reports = {Side.CANDIDATE: " ".join(candidate).upper(), Side.REFERENCE: " ".join(reference)}
    # The reference starts and both reports end with a special token.
    evidence = {side: _evidence(len(text) + 1 + (side is Side.REFERENCE)) for side, text in reports.items()}
    pair = pair_statements(reports, evidence, 2, TOKENIZER)
    lengths = {Side.CANDIDATE: candidate, Side.REFERENCE: reference}
    for side, statements in lengths.items():
        own = [text for text in statements if text not in lengths[side.other]]
        sums = pair.evidence[side].values.sum(0).tolist()
        assert sums == [*[sum(map(len, own))] * 2, len(evidence[side].values), sum(map(len, own))]


SCORER = RewardModelScorer.from_pretrained(EMBEDDED_DIR, on_too_long="truncate")
FORMS: dict[str, Callable[[str], str]] = {
    "same": str,
    "upper case": str.upper,
    "no final stop": lambda text: text.rstrip("."),
    "spaces": lambda text: text.replace(" ", " \t "),
}


def assert_scores_are_exact(reports: list[str]) -> None:
    """Check that each report in each form has no error against itself."""
    for form in FORMS.values():
        scores = SCORER.score(reports, [form(text) for text in reports])
        scored = scores.total.isfinite()
        assert scores.error_counts is not None
        assert scores.quality is not None
        assert (scores.total[scored] == SCORER.artifact.model.criteria.max_total).all()
        assert not scores.error_counts[scored].any()
        assert (scores.quality[scored] == 1).all()


def test_generated_report_has_no_errors_against_itself() -> None:
    assert_scores_are_exact([group.reference for group in synthesize(RadCliQCriteria(), 4, seed=5)])


@pytest.mark.data
def test_real_report_has_no_errors_against_itself(openi_csv: Path) -> None:
    studies = list(read_openi(openi_csv))
    assert_scores_are_exact([study.text for study in studies[::800]])


@pytest.mark.parametrize("seed", range(3))
def test_order_of_statements_does_not_change_a_score(seed: int) -> None:
    reference = "Moderate edema. Right upper lobe mass of 30 mm. Small right pleural effusion."
    texts = ["Small left effusion.", "Mild cardiomegaly. It is stable.", "RUL nodule.", "The lungs are clear.", "Scar."]
    shuffled = Random(seed).sample(texts, k=len(texts))
    assert shuffled != texts
    scores = SCORER.score([reference] * 2, [" ".join(texts), " ".join(shuffled)])
    assert scores.quality is not None
    assert scores.total[0] == scores.total[1]
    assert scores.quality[0] == scores.quality[1]


def test_contradiction_of_a_shared_statement_counts() -> None:
    reference = "Small left pleural effusion."
    scores = SCORER.score([reference] * 2, [reference, f"{reference} Large right pleural effusion."])
    assert scores.total[0] > scores.total[1] + 0.5
