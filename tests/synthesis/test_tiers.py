"""Tests of the tiers by errors and by points."""

import pytest

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.synthesis.tiers import error_severity, severity_tiers


def test_severity_tiers_of_counts_and_points() -> None:
    counts = {tier.name: tier for tier in severity_tiers(RadCliQSignificanceCriteria())}
    assert [[name for name, tier in counts.items() if tier.contains(errors)] for errors in range(8)] == [
        *[["good"]] * 3,
        *[["fair"]] * 2,
        *[["bad"]] * 2,
        [],
    ]
    points = {tier.name: tier for tier in severity_tiers(MRScoreCriteria())}
    for deduction in range(0, 101, 5):
        expected = "good" if 100 - deduction >= 70 else "fair" if 100 - deduction >= 40 else "bad"
        assert [name for name, tier in points.items() if tier.contains(deduction)] == [expected]


def test_severity_tiers_excludes_unreachable_tier() -> None:
    criteria = Criteria("one", [Criterion("grammar", "Bad.", "binary", 5)])
    assert [tier.name for tier in severity_tiers(criteria)] == ["good", "bad"]
    with pytest.raises(InputError, match="weights that separate"):
        severity_tiers(Criteria("none", [Criterion("grammar", "Bad.", "binary", 0)]))


def test_severity_tiers_of_many_criteria() -> None:
    criteria = Criteria("many", [Criterion(f"c{place}", "Bad.", "binary", 1 + place / 7) for place in range(40)])
    assert [tier.name for tier in severity_tiers(criteria)] == ["good", "fair", "bad"]


def test_error_severity() -> None:
    counts, points = RadCliQSignificanceCriteria(), MRScoreCriteria()
    errors = dict.fromkeys(counts.tags, 0.0) | {"insignificant_omission": 2, "significant_omission": 1}
    assert error_severity(counts, errors) == 3
    assert error_severity(points, dict.fromkeys(points.tags, 0.0) | {"grammar": 1, "completeness": 1}) == 15
