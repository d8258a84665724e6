"""Error profiles: the distribution of the number of errors of each kind (RadReason's controlled error profiles)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isclose
from random import Random
from typing import Any

from radreward.criteria import Criteria
from radreward.criteria.error_counting import ERROR_TAGS
from radreward.errors import InputError
from radreward.synthesis.candidate_writer import CandidateWriter, GroupRequest, Reference, WrittenCandidate
from radreward.synthesis.candidates import CandidateDraft, DraftJudgement, judge_draft
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.synthesis.perturbations.report_edits import paraphrase
from radreward.text.facts import AnnotatedReport

_MAX_ERRORS_PER_KIND = 6
_MAX_SAMPLES = 1000
_MAX_PROFILE_TRIES = 60
"""Maximum number of references without the requested errors; then the closest candidates are taken."""
MAX_DRAFTS = 4
"""Maximum number of drafts per candidate; few, because a new reference helps more often than a new draft."""


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """Probabilities of the number of errors of each kind; the kinds are independent.

    Args:
        name: Name of the profile.
        probabilities: Tags of RadCliQ's error types → probabilities of 0, 1, 2, … errors. Types without an entry have
            no errors.

    Raises:
        InputError: If a tag is unknown, or its numbers are not probabilities.

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
            if len(shares) > _MAX_ERRORS_PER_KIND + 1:
                raise InputError(
                    f"Expected at most {_MAX_ERRORS_PER_KIND} errors of `{tag}` but got {len(shares) - 1}."
                )

    def sample(self, rng: Random) -> dict[str, int]:
        """Return the requested number of errors of each of the six kinds."""
        shares = {tag: self.probabilities.get(tag, (1.0,)) for tag in ERROR_TAGS}
        # A `FrequentChoiceRandom` would leave out rare numbers.
        return {tag: Random.choices(rng, range(len(share)), share)[0] for tag, share in shares.items()}

    def sample_different(self, count: int, rng: Random) -> list[dict[str, int]]:
        """Return requests for the candidates of one reference; their totals are not all equal.

        Raises:
            InputError: If all samples of the profile have the same total.
        """
        for _ in range(_MAX_SAMPLES):
            requests = [self.sample(rng) for _ in range(count)]
            if len({sum(entry.values()) for entry in requests}) > 1:
                return requests
        raise InputError(f"profile {self.name}: Expected candidates with different totals but all have equal ones.")


PROFILES = {
    "balanced": ErrorProfile("balanced", dict.fromkeys(ERROR_TAGS, (0.5, 0.3, 0.2))),
    "details": ErrorProfile(
        "details",
        {
            "false_prediction": (0.7, 0.25, 0.05),
            "omission": (0.7, 0.25, 0.05),
            "incorrect_location": (0.55, 0.35, 0.1),
            "incorrect_severity": (0.55, 0.35, 0.1),
            "incorrect_comparison": (0.7, 0.3),
            "omission_of_comparison": (0.7, 0.3),
        },
    ),
}
"""Profiles by name. `balanced`: each kind of error is in half of the candidates, so that a constant answer is rarely
right. `details`: most errors are wrong locations and severities, which other strategies rarely make."""


def parse_profile(name: str, values: Any) -> ErrorProfile:
    """Return a profile from the values of a YAML file.

    Args:
        name: Name of the profile.
        values: Mapping of error types to lists of probabilities, such as `omission: [0.5, 0.3, 0.2]`.

    Raises:
        InputError: If the values are not a profile.
    """
    try:
        shares = {str(tag): tuple(map(float, numbers)) for tag, numbers in values.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            "Expected lines such as `omission: [0.5, 0.3, 0.2]` but got something else "
            f"({' '.join(str(error).split())})."
        ) from error
    return ErrorProfile(name, shares)


class ProfileWriter(CandidateWriter):
    """Writer of candidates with the error counts of a profile; replaces a reference that does not allow them.

    A candidate's counts are those of its actual errors.

    Args:
        profile: Requested number of errors of each kind.
    """

    def __init__(self, profile: ErrorProfile) -> None:
        self.profile = profile

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        requested = self.profile.sample_different(request.num_candidates, rng)
        for number, reference in enumerate(request.references):
            candidates = [self._write_closest(reference, counts, request.criteria, rng) for counts in requested]
            if number >= _MAX_PROFILE_TRIES or all(entry.outcome == "in tier" for entry in candidates):
                yield reference, candidates

    def _write_closest(
        self, reference: Reference, requested: Mapping[str, int], criteria: Criteria, rng: Random
    ) -> WrittenCandidate:
        """Return a candidate with the requested errors, or the closest of a few drafts."""
        drafts: list[tuple[int, CandidateDraft, DraftJudgement]] = []
        for _ in range(MAX_DRAFTS):
            draft = CandidateDraft(_make_errors(reference.report, requested, rng), "edited")
            judgement = judge_draft(reference.report, draft)
            distance = sum(abs(judgement.errors[tag] - requested[tag]) for tag in ERROR_TAGS)
            drafts.append((distance, draft, judgement))
            if not distance:
                break
        distance, draft, judgement = min(drafts, key=lambda entry: entry[0])
        candidate = judgement.candidate(reference.report, draft, criteria)
        return WrittenCandidate(candidate, self.profile.name, "outside" if distance else "in tier")


def _make_errors(report: AnnotatedReport, requested: Mapping[str, int], rng: Random) -> AnnotatedReport:
    tags = list(chain.from_iterable([tag] * count for tag, count in requested.items()))
    rng.shuffle(tags)
    for tag in tags:
        report = ERROR_OPERATORS[tag](report, rng) or report
    return paraphrase(report, rng, rng.choice((0.0, 0.3, 1.0)))
