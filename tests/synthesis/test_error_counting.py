from itertools import permutations
from random import Random

import pytest

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.synthesis.error_counting import count_errors, to_radcliq_counts
from radreward.synthesis.fact_sampling import sample_facts
from radreward.text.facts import Change, Fact

EFFUSION = Fact("effusion", location="left", severity="mild")


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
        ([EFFUSION._replace(severity="moderate")], {"insignificant_incorrect_severity": 1}),
        ([EFFUSION._replace(severity="severe")], {"significant_incorrect_severity": 1}),
        ([EFFUSION._replace(severity=None)], {}),
        ([EFFUSION._replace(change="new")], {"significant_incorrect_comparison": 1}),
        ([EFFUSION._replace(change="stable")], {"insignificant_incorrect_comparison": 1}),
        ([EFFUSION, Fact("scoliosis")], {"insignificant_false_prediction": 1}),
        ([EFFUSION, Fact("pneumothorax")], {"significant_false_prediction": 1}),
        ([EFFUSION, Fact("nodule", "absent")], {}),
        ([EFFUSION, EFFUSION._replace(location="right")], {"significant_false_prediction": 1}),
        ([Fact("loculated", location="left")], {}),  # a kind of effusion
        ([EFFUSION._replace(location="right", severity="severe", change="worse")], {
            "significant_incorrect_location": 1,
            "significant_incorrect_severity": 1,
            "significant_incorrect_comparison": 1,
        }),
    ],
)  # fmt: skip
def test_count_errors_of_one_finding(candidate: list[Fact], errors: dict[str, int]) -> None:
    assert nonzero_counts([EFFUSION], candidate) == errors


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
    assert nonzero_counts([resolved], [Fact("edema")]) == {
        "significant_false_prediction": 1,
        "significant_omission_of_comparison": 1,
    }


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
