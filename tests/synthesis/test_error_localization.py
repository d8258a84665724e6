from collections import Counter
from functools import partial
from random import Random

import pytest

from radreward.criteria import CrimsonCriteria, Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.synthesis import synthesize
from radreward.synthesis.candidate_strategies import load_candidate_writer
from radreward.synthesis.candidates import CandidateDraft, judge_draft
from radreward.text.report_parser import parse_report
from radreward.types import Candidate, LocatedError, Side

RADCLIQ = RadCliQCriteria()


def _judge(reference: str, candidate: str, criteria: Criteria = RADCLIQ) -> Candidate:
    report, draft = parse_report(reference), CandidateDraft(parse_report(candidate), "test")
    return judge_draft(report, draft).candidate(report, draft, criteria)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Left effusion.", "Left effusion.", []),
        ("Left effusion.", "No effusion.", [("reference", "Left effusion.", "omission")]),
        ("No edema.", "No edema. Left effusion.", [("candidate", "Left effusion.", "false_prediction")]),
        ("Left effusion.", "Right effusion.", [("candidate", "Right effusion.", "incorrect_location")]),
        ("Mild edema.", "No mass. Severe edema.", [("candidate", "Severe edema.", "incorrect_severity")]),
        (
            "New left effusion.",
            "No mass. Left effusion.",
            [("reference", "New left effusion.", "omission_of_comparison")],
        ),
    ],
)
def test_an_error_shows_where_it_is_stated(
    reference: str, candidate: str, expected: list[tuple[str, str, str]]
) -> None:
    located = _judge(reference, candidate).located_errors
    assert located is not None
    assert [(entry.side, *entry.statements, *entry.errors) for entry in located if entry.errors] == expected


def test_errors_of_a_finding_stated_twice_are_located_once() -> None:
    located = _judge("No mass.", "Left effusion. No mass. Effusion.").located_errors
    assert located == (LocatedError(Side.CANDIDATE, ("Left effusion.", "Effusion."), {"false_prediction": 1.0}, 0.5),)


def test_errors_of_one_sentence_are_located_together() -> None:
    located = _judge("No mass.", "Left effusion and pneumothorax.").located_errors
    assert located is not None
    assert [(entry.statements, entry.errors) for entry in located] == [
        (("Left effusion and pneumothorax.",), {"false_prediction": 2.0})
    ]


def test_errors_of_other_criteria_are_not_located() -> None:
    assert _judge("Left effusion.", "No effusion.", CrimsonCriteria()).located_errors is None


@pytest.mark.parametrize("strategy", ["tiers", "details"])
@pytest.mark.parametrize("criteria", [RADCLIQ, RadCliQSignificanceCriteria()])
def test_located_errors_are_all_errors_and_all_that_is_wrong(criteria: Criteria, strategy: str) -> None:
    make = partial(synthesize, criteria, 40 if strategy == "tiers" else 6, seed=3)
    candidates = [
        (group.reference, candidate)
        for group in make(candidates=load_candidate_writer(strategy))
        for candidate in group.candidates
    ]
    for reference, candidate in candidates:
        assert candidate.located_errors is not None
        assert candidate.errors is not None
        assert candidate.finding_weights is not None
        counts: Counter[str] = Counter()
        for entry in candidate.located_errors:
            counts.update(entry.errors)
            text = candidate.text if entry.side == "candidate" else reference
            assert all(statement in text for statement in entry.statements)
        assert counts == {tag: count for tag, count in candidate.errors.items() if count}
        wrong = sum(entry.wrong or 0.0 for entry in candidate.located_errors)
        assert wrong == pytest.approx(candidate.finding_weights.wrong)
    sides = {entry.side for _, candidate in candidates for entry in candidate.located_errors or ()}
    assert sides == {"candidate", "reference"}


def test_located_errors_do_not_depend_on_the_order_of_sentences() -> None:
    sentences = ["Left effusion.", "Mild edema.", "Right pneumothorax.", "Cardiomegaly."]
    reference = "Right effusion. Severe edema. No pneumothorax."
    shuffled = Random(1).sample(sentences, len(sentences))
    first, second = (_judge(reference, " ".join(order)).located_errors for order in (sentences, shuffled))
    assert first is not None
    assert second is not None
    assert sorted(map(str, first)) == sorted(map(str, second))
    assert len(first) == 4
