"""Error profiles: how often a candidate has 0, 1, 2, … errors of each kind (RadReason's controlled error profiles)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import isclose
from pathlib import Path
from random import Random

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml
from radreward.synthesis.candidates import CandidateDraft, judge_draft
from radreward.synthesis.error_counting import (
    ERROR_TAGS,
    FALSE_COMPARISON,
    FALSE_PREDICTION,
    OMISSION,
    OMITTED_COMPARISON,
    WRONG_LOCATION,
    WRONG_SEVERITY,
)
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.synthesis.perturbations.report_edits import paraphrase
from radreward.synthesis.tiered_writer import TieredCandidate
from radreward.text.facts import AnnotatedReport

MAX_ERRORS_PER_KIND = 6
MAX_SAMPLES = 1000
MAX_DRAFTS = 4
"""Number of drafts per candidate; one more reference more often allows the errors than one more draft."""


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """Probabilities of the number of errors of each kind, which are independent.

    Args:
        name: Name of the profile.
        probabilities: A tag of RadCliQ's six kinds → probabilities of 0, 1, 2, … errors; a kind left out has none.

    Raises:
        InputError: If a tag is unknown, or the numbers of a tag are no probabilities.

    >>> ErrorProfile("lost", {"omission": (0.0, 0.0, 1.0)}).sample(Random(0))["omission"]
    2
    """

    name: str
    probabilities: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        for tag, shares in self.probabilities.items():
            if tag not in ERROR_TAGS:
                raise InputError(f"Expected a kind of error of {', '.join(ERROR_TAGS)} but got {tag!r}.")
            if not all(share >= 0 for share in shares) or not isclose(sum(shares), 1.0, abs_tol=1e-6):
                raise InputError(f"Expected probabilities of `{tag}` that add up to 1 but got {list(shares)}.")
            if len(shares) > MAX_ERRORS_PER_KIND + 1:
                raise InputError(f"Expected at most {MAX_ERRORS_PER_KIND} errors of `{tag}` but got {len(shares) - 1}.")

    def sample(self, rng: Random) -> dict[str, int]:
        """Return the requested number of errors of each of the six kinds."""
        shares = {tag: self.probabilities.get(tag, (1.0,)) for tag in ERROR_TAGS}
        return {tag: rng.choices(range(len(share)), share)[0] for tag, share in shares.items()}

    def sample_different(self, count: int, rng: Random) -> list[dict[str, int]]:
        """Return requests for candidates of one reference, whose totals are not all equal.

        Raises:
            InputError: If the profile has one total only.
        """
        for _ in range(MAX_SAMPLES):
            requests = [self.sample(rng) for _ in range(count)]
            if len({sum(entry.values()) for entry in requests}) > 1:
                return requests
        raise InputError(f"profile {self.name}: Expected candidates with different totals but all have equal ones.")


_SOME, _MANY, _COMPARISONS = (0.7, 0.25, 0.05), (0.55, 0.35, 0.1), (0.7, 0.3)
PROFILES = {
    "balanced": ErrorProfile("balanced", dict.fromkeys(ERROR_TAGS, (0.5, 0.3, 0.2))),
    "details": ErrorProfile(
        "details",
        {
            FALSE_PREDICTION: _SOME,
            OMISSION: _SOME,
            WRONG_LOCATION: _MANY,
            WRONG_SEVERITY: _MANY,
            FALSE_COMPARISON: _COMPARISONS,
            OMITTED_COMPARISON: _COMPARISONS,
        },
    ),
}
"""Profiles by name. balanced: each kind of error is in half of the candidates, so that no constant answer is often
right. details: wrong places and severities are most frequent, which are rare in other candidates and learned last."""


def load_profile(name_or_path: str) -> ErrorProfile:
    """Return a profile by its name in `PROFILES`, or from a YAML file.

    Args:
        name_or_path: A name, or a file such as `omission: [0.5, 0.3, 0.2]`, one line per kind of error.

    Raises:
        InputError: If there is no such profile, or the file is unusable; names the file.
    """
    if name_or_path in PROFILES:
        return PROFILES[name_or_path]
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"--profile: Expected one of {', '.join(PROFILES)} or a .yaml file but got {name_or_path!r}.")
    values = read_yaml(path)
    try:
        shares = {str(tag): tuple(map(float, numbers)) for tag, numbers in values.items()}
        return ErrorProfile(path.stem, shares)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: Expected lines such as `omission: [0.5, 0.3, 0.2]` but got something else "
            f"({' '.join(str(error).split())})."
        ) from error


def write_profiled(
    reference: AnnotatedReport, profile_name: str, requested: Mapping[str, int], criteria: Criteria, rng: Random
) -> TieredCandidate:
    """Return the reference with the requested errors; the closest of a few drafts if it does not allow them.

    The counts of the candidate are those of the errors made, not of those requested.

    Args:
        reference: The reference.
        profile_name: Name of the profile, in place of a tier.
        requested: Number of errors of each of the six kinds.
        criteria: Criteria of the candidate's counts.
        rng: Source of randomness.
    """
    best: tuple[int, TieredCandidate] | None = None
    for _ in range(MAX_DRAFTS):
        draft = CandidateDraft(_make_errors(reference, requested, rng), "edited")
        judgement = judge_draft(reference, draft)
        distance = sum(abs(judgement.errors[tag] - requested[tag]) for tag in ERROR_TAGS)
        if best is None or distance < best[0]:
            candidate = judgement.candidate(reference, draft, criteria)
            best = distance, TieredCandidate(candidate, profile_name, not distance)
        if not distance:
            break
    if best is None:
        raise AssertionError("MAX_DRAFTS is 0")
    return best[1]


def _make_errors(report: AnnotatedReport, requested: Mapping[str, int], rng: Random) -> AnnotatedReport:
    tags = list(chain.from_iterable([tag] * count for tag, count in requested.items()))
    rng.shuffle(tags)
    for tag in tags:
        report = ERROR_OPERATORS[tag](report, rng) or report
    return paraphrase(report, rng, rng.choice((0.0, 0.3, 1.0)))
