"""What every scorer with a quality owes to its base class, and what texts that are no report get."""

from collections.abc import Sequence

import torch

from radreward.scorers.base import Scorer
from radreward.scorers.lexical import ROUGE
from radreward.scorers.status import STATUS_NO_REPORT
from radreward.types import Scores

REPORT = "Small left effusion. No edema."


class WithQuality(ROUGE):
    """A scorer that takes every quality for one half."""

    has_quality = True

    def __init__(self) -> None:
        super().__init__("1")

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        total = [float("nan") if "unreadable" in candidate else 0.5 for candidate in candidates]
        return Scores(
            torch.tensor(total),
            None,
            None,
            tuple("ok" if value == value else "cannot be read" for value in total),
            quality=torch.full((len(total),), 0.5),
        )


class ReadsReports(WithQuality):
    """The same scorer, of reports only."""

    requires_report = True


def quality(scorer: Scorer, references: Sequence[str], candidates: Sequence[str]) -> list[float | None]:
    values = scorer.score(references, candidates).quality
    assert values is not None
    return [None if value != value else value for value in values.tolist()]


def test_a_report_that_is_its_own_reference_has_quality_one() -> None:
    same = " Small  left\neffusion.\tNo edema.\n"
    assert quality(WithQuality(), [REPORT] * 3, [REPORT, same, "Small left effusion."]) == [1.0, 1.0, 0.5]


def test_rows_without_a_score_have_no_quality() -> None:
    assert quality(WithQuality(), [REPORT] * 4, ["", REPORT, "unreadable", "edema"]) == [None, 1.0, None, 0.5]
    assert quality(WithQuality(), ["unreadable"], ["unreadable"]) == [None]


def test_a_scorer_without_a_quality_gives_none() -> None:
    assert ROUGE("1").score([REPORT], [REPORT]).quality is None


def test_a_text_that_is_no_report_has_a_status_and_no_score() -> None:
    text = "The cat sat on the mat."
    scores = ReadsReports().score([REPORT, text, REPORT, text], [text, REPORT, REPORT, text])
    assert scores.status == (
        f"{STATUS_NO_REPORT} in the candidate",
        f"{STATUS_NO_REPORT} in the reference",
        "ok",
        f"{STATUS_NO_REPORT} in the reference",
    )
    assert scores.total.isnan().tolist() == [True, True, False, True]
    assert WithQuality().score([REPORT], [text]).status == ("ok",)
