import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import ERROR_TAGS, compare_facts, tally_errors, to_radcliq_counts
from radreward.errors import InputError
from radreward.synthesis import synthesize, synthesize_files
from radreward.synthesis.candidate_strategies import load_candidate_writer
from radreward.synthesis.error_profiles import PROFILES, ErrorProfile, ProfileWriter
from radreward.synthesis.report_styles import FrequentChoiceRandom
from radreward.text.report_parser import parse_report

BALANCED = PROFILES["balanced"]


@given(
    st.dictionaries(st.sampled_from(ERROR_TAGS), st.lists(st.floats(0.01, 1), min_size=1, max_size=4)), st.integers()
)
def test_sample_is_within_the_profile(weights: dict[str, list[float]], seed: int) -> None:
    shares = {tag: tuple(weight / sum(values) for weight in values) for tag, values in weights.items()}
    requested = ErrorProfile("any", shares).sample(Random(seed))
    assert tuple(requested) == ERROR_TAGS
    assert all(0 <= count < len(shares.get(tag, (1.0,))) for tag, count in requested.items())


def test_sample_has_the_probabilities_of_the_profile() -> None:
    rng = Random(0)
    counts = Counter(BALANCED.sample(rng)["omission"] for _ in range(4000))
    assert [counts[number] / 4000 for number in range(3)] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_candidates_have_the_requested_errors_and_exact_counts(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("omission: [0, 1]\nincorrect_location: [0.5, 0.5]\n")
    groups = list(
        synthesize(RadCliQCriteria(), 12, 2, seed=2, candidates=load_candidate_writer(str(tmp_path / "two.yaml")))
    )
    for group in groups:
        reference = parse_report(group.reference).facts
        for candidate in group.candidates:
            errors = candidate.errors or {}
            comparison = compare_facts(reference, parse_report(candidate.text).facts)
            assert to_radcliq_counts(tally_errors(comparison.errors)) == errors
            assert errors["omission"] == 1
            assert errors["incorrect_location"] in (0, 1)
            assert sum(errors.values()) == 1 + errors["incorrect_location"]
        assert len({sum((candidate.errors or {}).values()) for candidate in group.candidates}) == 2


def test_profile_numbers_keep_their_probabilities_in_plain_reports() -> None:
    profile = ErrorProfile("many", {"omission": (0.4, 0.3, 0.2, 0.1)})
    rng = FrequentChoiceRandom(0)
    counts = Counter(profile.sample(rng)["omission"] for _ in range(4_000))
    assert [counts[number] / 4_000 for number in range(4)] == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.03)


def test_balanced_profile_has_each_kind_in_about_half_of_the_candidates(tmp_path: Path) -> None:
    synthesize_files(tmp_path, RadCliQSignificanceCriteria(), 8, 2, seed=3, candidates=ProfileWriter(BALANCED))
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert card["tiers"]["balanced"]["share in tier"] >= 0.7
    shares = {tag: 0.0 for tag in ERROR_TAGS}
    for tag, row in card["errors"].items():
        shares[tag.split("significant_")[-1]] += row["count"] / 16
    assert all(0.3 <= mean <= 1.2 for mean in shares.values()), shares


def test_profile_with_one_total_raises() -> None:
    writer = ProfileWriter(ErrorProfile("one", {"omission": (0.0, 1.0)}))
    with pytest.raises(InputError, match="profile one: Expected candidates with different totals"):
        next(synthesize(RadCliQCriteria(), 1, candidates=writer))
