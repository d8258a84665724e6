"""Tests of the validation of reported errors by quotes, entities and rule-based counts."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.synthesis import synthesize
from radreward.synthesis.llm.parser import ReportedError
from radreward.synthesis.llm.validation import CHECK_LEVELS, check_reported_errors

NONE = dict.fromkeys(RadCliQCriteria().tags, 0)
SMALL, NO_EDEMA = "There is a small left pleural effusion.", "There is no pulmonary edema."
OWN = "The gadget shows a zig of the zag."


def check(reference: str, candidate: str, *errors: ReportedError, criteria: Criteria | None = None) -> tuple[str, str]:
    used_criteria = criteria or RadCliQCriteria()
    counts = dict.fromkeys(used_criteria.tags, 0)
    for error in errors:
        counts[error.tag] += 1
    level, problem = check_reported_errors(used_criteria, reference, candidate, counts, errors)
    assert (problem is None) == (level in CHECK_LEVELS)
    return level, (problem or "").split(":")[0]


def test_check_reported_errors_exact_level() -> None:
    error = ReportedError("omission", SMALL, None, "")
    assert check(f"{SMALL} {NO_EDEMA}", NO_EDEMA, error) == ("exact", "")
    assert check(f"{SMALL} {NO_EDEMA}", f"{NO_EDEMA} Pleural effusion.") == ("exact", "")
    wrong = ReportedError("false_prediction", None, "is no pulmonary", "")
    assert check(SMALL, NO_EDEMA, wrong)[1] == "not an error by the rules"


def test_check_reported_errors_ignores_significance() -> None:
    for tag in ("significant_omission", "insignificant_omission"):
        error = ReportedError(tag, SMALL, None, "")
        assert check(f"{SMALL} {NO_EDEMA}", NO_EDEMA, error, criteria=RadCliQSignificanceCriteria()) == ("exact", "")


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (ReportedError("omission", None, None, ""), "nothing quoted"),
        (ReportedError("omission", "a zag of", None, ""), "quote not in the reference"),
        (ReportedError("false_prediction", None, "a zag of", ""), "quote not in the candidate"),
        (ReportedError("omission", "of the zag", None, ""), "quote in both reports"),
        (ReportedError("false_prediction", None, "THE  zag.", ""), "quote in both reports"),
        (ReportedError("incorrect_severity", "the zag", "The zag.", ""), "quote in both reports"),
    ],
)
def test_check_reported_errors_misquote(error: ReportedError, problem: str) -> None:
    assert check(OWN, "A zog of the zag, and nothing more.", error)[1] == problem


def test_check_reported_errors_uses_entities() -> None:
    reference = f"{OWN} Mild pulmonary edema, as the gadget says."
    missing = ReportedError("omission", "Mild pulmonary edema, as", None, "")
    assert check(reference, "The gadget is silent.", missing) == ("entities", "")
    # The wording differs, but the finding is stated.
    assert check(reference, "The gadget sees mild pulmonary edema.", missing)[1] == "not an error by its entities"
    added = ReportedError("false_prediction", None, "a pneumothorax here", "")
    assert check(OWN, "The gadget says a pneumothorax here.", added) == ("entities", "")


def test_check_reported_errors_quotes_level() -> None:
    german = "Kein Erguss. Herz normal gross."
    error = ReportedError("false_prediction", None, "Kleiner Erguss", "")
    assert check(german, "Kleiner Erguss. Herz normal gross.", error) == ("quotes", "")
    language = ReportedError("grammar", "The gadget shows", "The gadget show", "")
    assert check(OWN, "The gadget show a zig of the zag.", language, criteria=MRScoreCriteria()) == ("quotes", "")
    own = Criteria("own", [Criterion("tone", "Rude.")])
    assert check(OWN, "Bah.", ReportedError("tone", None, "Bah.", ""), criteria=own) == ("quotes", "")


def test_check_reported_errors_long_report_uses_quotes() -> None:
    long = f"{SMALL} " + "word " * 5_000
    assert check(long, "Clear.", ReportedError("omission", SMALL, None, "")) == ("entities", "")


def test_check_reported_errors_of_synthetic_candidates() -> None:
    """Check counts of synthetic candidates against the counts of their parsed texts."""
    levels = []
    for group in synthesize(RadCliQCriteria(), 40, seed=3, granularity="statement"):
        for candidate in group.candidates:
            counts = {tag: int(count) for tag, count in (candidate.errors or {}).items()}
            levels.append(check_reported_errors(RadCliQCriteria(), group.reference, candidate.text, counts, []).level)
            wrong = counts | {"omission": counts["omission"] + 1}
            report = check_reported_errors(RadCliQCriteria(), group.reference, candidate.text, wrong, [])
            assert report.level != "exact"
            assert report.error is not None or levels[-1] != "exact"
    assert set(levels) == {"exact", "quotes"}  # the lexicon does not cover every sentence of the grammar
    assert levels.count("exact") > 0.6 * len(levels)


@given(st.text(max_size=200), st.text(max_size=200), st.integers(0, 10_000))
def test_check_reported_errors_accepts_any_texts(reference: str, candidate: str, seed: int) -> None:
    rng = Random(seed)
    tags = RadCliQCriteria().tags
    errors = [
        ReportedError(
            rng.choice(tags),
            rng.choice([None, reference[: rng.randint(0, 20)]]),
            rng.choice([None, candidate[: rng.randint(0, 20)]]),
            "",
        )
        for _ in range(3)
    ]
    check(reference, candidate, *errors)
