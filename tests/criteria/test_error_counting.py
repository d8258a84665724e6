"""Tests of error counting: one finding in all its details, several facts about one finding, and the weights."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import compare_facts, count_errors, to_radcliq_counts
from radreward.synthesis.fact_sampling import sample_fact, sample_facts
from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, is_related
from radreward.text.significance import patient_weight
from radreward.types import FindingWeights

EFFUSION = Fact("effusion", location="left", severity="moderate")
BILATERAL = Fact("effusion", location="bilateral")
SIDES = [Fact("effusion", location="left"), Fact("effusion", location="right")]


def nonzero_counts(reference: list[Fact], candidate: list[Fact]) -> dict[str, int]:
    return {tag: count for tag, count in count_errors(reference, candidate).items() if count}


@pytest.mark.parametrize(
    ("candidate", "errors"),
    [
        ([EFFUSION], {}),
        ([], {"significant_omission": 1}),
        ([EFFUSION._replace(polarity="absent")], {"significant_omission": 1}),
        ([EFFUSION._replace(polarity="uncertain")], {}),
        ([EFFUSION._replace(location="right")], {"significant_incorrect_location": 1}),
        ([EFFUSION._replace(location=None)], {}),
        ([EFFUSION._replace(severity="severe")], {"insignificant_incorrect_severity": 1}),
        ([EFFUSION._replace(severity="mild")], {"significant_incorrect_severity": 1}),
        ([EFFUSION._replace(severity=None)], {}),
        ([EFFUSION._replace(change="new")], {"significant_incorrect_comparison": 1}),
        ([EFFUSION._replace(change="stable")], {"insignificant_incorrect_comparison": 1}),
        ([EFFUSION, Fact("scoliosis")], {"insignificant_false_prediction": 1}),
        ([EFFUSION, Fact("pneumothorax")], {"significant_false_prediction": 1}),
        ([EFFUSION, Fact("pneumonia"), Fact("opacity")], {"significant_false_prediction": 1}),
        ([EFFUSION, Fact("nodule", "absent")], {}),
        ([EFFUSION, EFFUSION._replace(location="right")], {"significant_false_prediction": 1}),
        ([Fact("loculated", location="left")], {}),  # a kind of effusion
        ([EFFUSION._replace(location="right", severity="mild", change="worse")], {
            "significant_incorrect_location": 1,
            "significant_incorrect_severity": 1,
            "significant_incorrect_comparison": 1,
        }),
    ],
)  # fmt: skip
def test_count_errors_of_one_finding(candidate: list[Fact], errors: dict[str, int]) -> None:
    assert nonzero_counts([EFFUSION], candidate) == errors


@pytest.mark.parametrize(
    ("reference", "candidate", "errors"),
    [
        ([BILATERAL], SIDES, {}),
        (SIDES, [BILATERAL], {}),
        ([BILATERAL], SIDES[:1], {"significant_incorrect_location": 1}),
        ([BILATERAL], [], {"significant_omission": 1}),
        ([BILATERAL._replace(severity="severe")], [fact._replace(severity="mild") for fact in SIDES], {
            "significant_incorrect_severity": 1,
        }),
        ([Fact("opacity", location="bilateral lower")], [
            Fact("opacity", location="left lower"), Fact("opacity", location="right"),
        ], {}),
        ([Fact("opacity", location="right lower"), Fact("pneumonia", "uncertain")], [], {"significant_omission": 1}),
        ([Fact("opacity", location="right upper")], [Fact("opacity", location="right middle")], {
            "insignificant_incorrect_location": 1,
        }),
        ([Fact("opacity", location="right upper")], [Fact("opacity", location="right lower")], {
            "significant_incorrect_location": 1,
        }),
        ([Fact("picc", location="svc")], [Fact("picc", location="cavoatrial")], {
            "insignificant_incorrect_location": 1,
        }),
        ([Fact("picc", location="cavoatrial")], [Fact("picc", location="brachiocephalic")], {
            "significant_incorrect_location": 1,
        }),
        ([Fact("effusion", severity="mild")], [], {"insignificant_omission": 1}),
        ([Fact("cardiomegaly", severity="mild")], [Fact("cardiomegaly", severity="moderate")], {
            "insignificant_incorrect_severity": 1,
        }),
    ],
)  # fmt: skip
def test_count_errors_of_several_facts_and_of_details(
    reference: list[Fact], candidate: list[Fact], errors: dict[str, int]
) -> None:
    assert nonzero_counts(reference, candidate) == errors


@pytest.mark.parametrize(
    ("before", "after", "errors"),
    [
        ("new", None, {"significant_omission_of_comparison": 1}),
        ("stable", None, {}),
        ("stable", "worse", {"significant_incorrect_comparison": 1}),
        ("better", "worse", {"significant_incorrect_comparison": 1}),
    ],
)
def test_count_errors_of_comparisons(before: Change, after: Change | None, errors: dict[str, int]) -> None:
    assert nonzero_counts([EFFUSION._replace(change=before)], [EFFUSION._replace(change=after)]) == errors


def test_count_errors_of_resolved_findings() -> None:
    resolved = Fact("edema", "absent", change="resolved")
    assert nonzero_counts([resolved], []) == {"significant_omission_of_comparison": 1}
    assert nonzero_counts([], [resolved]) == {"significant_incorrect_comparison": 1}
    assert nonzero_counts([resolved], [Fact("edema")]) == {"significant_false_prediction": 1}
    assert nonzero_counts([Fact("edema")], [resolved]) == {"significant_omission": 1}


def test_count_errors_ignores_order_and_repeats() -> None:
    reference = [EFFUSION, EFFUSION._replace(location="right"), Fact("scar"), Fact("nodule", "absent")]
    candidate = [Fact("pneumonia"), EFFUSION._replace(location="right", severity="severe"), Fact("scar")]
    expected = count_errors(reference, candidate)
    for order in permutations(reference):
        assert count_errors(order, [*candidate, *candidate]) == expected


def test_count_errors_of_identical_reports_is_zero() -> None:
    for seed in range(300):
        facts = sample_facts(Random(seed))
        assert not any(count_errors(facts, facts).values())


def test_count_errors_tags_equal_criteria_tags() -> None:
    counts = count_errors([], [EFFUSION])
    assert tuple(counts) == RadCliQSignificanceCriteria().tags
    assert tuple(to_radcliq_counts(counts)) == RadCliQCriteria().tags
    assert sum(to_radcliq_counts(counts).values()) == 1


@pytest.mark.parametrize(
    ("reference", "candidate", "matched", "wrong"),
    [
        ([EFFUSION], [EFFUSION], 0.5, 0.0),
        ([EFFUSION], [], 0.0, 0.5),
        ([], [EFFUSION], 0.0, 0.5),
        ([EFFUSION], [EFFUSION._replace(location="right")], 0.25, 0.5),
        ([EFFUSION], [EFFUSION._replace(location="right", severity="mild")], 0.5 * 0.5 / 1.5, 0.5),  # never above 0.5
        ([EFFUSION], [EFFUSION._replace(severity="severe")], 0.5, 0.0),
        ([Fact("pneumothorax")], [Fact("pneumothorax", "uncertain")], 1 / 1.5, 0.5),
        ([Fact("pneumonia")], [Fact("pneumonia", "uncertain")], 0.5, 0.0),
        ([Fact("pneumonia")], [Fact("consolidation")], 0.5, 0.0),
        ([Fact("pneumonia")], [Fact("opacity")], 0.25, 0.25),
        ([Fact("pneumonia", "uncertain")], [Fact("opacity")], 0.5, 0.0),
        ([Fact("effusion")], [Fact("blunting")], 0.25, 0.25),
        ([Fact("pneumothorax")], [Fact("deepsulcus")], 0.5, 0.5),
        ([Fact("pneumothorax")], [Fact("pleuralline")], 1.0, 0.0),
        ([Fact("mass")], [Fact("opacity")], 0.25, 0.25),
        ([Fact("pneumothorax")], [Fact("tension")], 0.5, 0.5),
        ([Fact("ett")], [Fact("ettlow")], 0.25 * 0.25 / 0.75, 0.5),
        ([BILATERAL], SIDES, 0.5, 0.0),
        (SIDES, [BILATERAL], 1.0, 0.0),
        ([BILATERAL], SIDES[:1], 0.25, 0.5),
        ([Fact("scoliosis")], [], 0.0, 0.25),
        ([Fact("effusion", "absent")], [Fact("edema", "absent")], 0.0, 0.0),
        ([Fact("edema", "absent", change="resolved")], [], 0.0, 0.25),
        ([Fact("edema", "absent", change="resolved")], [Fact("edema")], 0.0, 0.5),
        ([Fact("edema")], [Fact("edema", "absent", change="resolved")], 0.0, 0.5),
    ],
)
def test_compare_facts_weights(reference: list[Fact], candidate: list[Fact], matched: float, wrong: float) -> None:
    weights = compare_facts(reference, candidate).weights
    assert list(weights) == pytest.approx([matched, wrong])


def _unrelated_facts(seed: int) -> list[Fact]:
    rng, facts = Random(seed), list[Fact]()
    for key in rng.sample(list(FINDINGS), k=rng.randint(0, 8)):
        if not any(is_related(key, fact.finding) for fact in facts):
            facts.append(sample_fact(key, rng)._replace(polarity="present", change=None))
    return facts


def _naive_weights(reference: list[Fact], candidate: list[Fact]) -> FindingWeights:
    """Compare unrelated findings that both reports name alike and that differ in severity or side only."""
    matched = wrong = 0.0
    stated = {fact.finding: fact for fact in candidate}
    for fact in reference:
        weight = patient_weight(fact)
        if fact.finding not in stated:
            wrong += weight
            continue
        other = stated.pop(fact.finding)
        lost = 0.0
        if {fact.location, other.location} == {"left", "right"}:
            lost += 0.5
        if {fact.severity, other.severity} == {"mild", "severe"}:
            lost += 0.5
        matched += weight * weight / (weight + lost) if weight else 0.0
        wrong += min(lost, max(weight, patient_weight(other)))
    return FindingWeights(matched, wrong + sum(map(patient_weight, stated.values())))


@given(st.integers(0, 10_000))
def test_compare_facts_weights_agree_with_naive_loop(seed: int) -> None:
    rng = Random(seed)
    reference = _unrelated_facts(seed)
    mirror, extremes = {"left": "right", "right": "left"}, {"mild": "severe", "severe": "mild"}
    candidate = [fact for fact in reference if rng.random() < 0.7]
    for index, fact in enumerate(candidate):
        if fact.location in mirror and rng.random() < 0.5:
            candidate[index] = fact = fact._replace(location=mirror[fact.location])
        if fact.severity in extremes and rng.random() < 0.5:
            candidate[index] = fact._replace(severity=extremes[fact.severity])
    stated = [fact.finding for fact in reference]
    added = [fact for fact in _unrelated_facts(seed + 1) if not any(is_related(fact.finding, key) for key in stated)]
    expected = _naive_weights(reference, candidate + added)
    assert list(compare_facts(reference, candidate + added).weights) == pytest.approx(list(expected))


@given(st.integers(0, 10_000))
def test_compare_facts_of_identical_reports_has_full_weight_and_nothing_wrong(seed: int) -> None:
    facts = sample_facts(Random(seed))
    weights = compare_facts(facts, facts).weights
    assert list(weights) == pytest.approx([sum(map(patient_weight, facts)), 0.0])
    assert list(compare_facts(facts, []).weights) == pytest.approx([0.0, weights.matched])


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_partial_match_is_never_worse_than_a_miss(first: int, second: int) -> None:
    keys = [key for key, finding in FINDINGS.items() if finding.has_severity and finding.locations]
    key = keys[first % len(keys)]
    reference, candidate = ([sample_fact(key, Random(seed))] for seed in (first, second))
    partial, missed = compare_facts(reference, candidate).weights, compare_facts(reference, []).weights
    assert partial.matched >= 0.0
    assert partial.wrong <= max(missed.wrong, patient_weight(candidate[0]))
