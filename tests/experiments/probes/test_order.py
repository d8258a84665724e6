"""The probes: their format, and the table of scorers on them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from experiments.probes.order import FOLDER, PROBES, main, normal_reports, ordered
from radreward.meta_evaluation.preferences import Preference, read_preferences
from radreward.scorers.stateless import StatelessScorer
from radreward.types import Scores

RANKING_TESTS = FOLDER.parent / "ranking_tests"


class _LengthScorer(StatelessScorer):
    """Longer candidates are better; a candidate of one word has no score."""

    title = "length"
    config_name = "length.json"
    higher_is_better = False
    has_quality = True

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        lengths = torch.tensor([float(len(text)) if " " in text else torch.nan for text in candidates])
        return Scores(
            total=-lengths, quality=lengths / 1000, sub_scores=None, error_counts=None, status=("ok",) * len(candidates)
        )


def _preference(candidate_a: str, candidate_b: str) -> Preference:
    return Preference(
        id=candidate_a,
        reference="r",
        candidate_a=candidate_a,
        candidate_b=candidate_b,
        preferred="a",
        group=candidate_a,
    )


@pytest.mark.parametrize("name", PROBES)
def test_each_file_has_at_least_40_cases_that_no_ranking_test_has(name: str) -> None:
    probes = read_preferences(FOLDER / f"{name}.jsonl")
    assert len({entry.group for entry in probes}) == len(probes) >= 40
    texts = {(entry.reference, entry.candidate_a, entry.candidate_b) for entry in probes}
    assert len(texts) == len(probes)
    for path in RANKING_TESTS.glob("*.jsonl"):
        assert not texts & {(row.reference, row.candidate_a, row.candidate_b) for row in read_preferences(path)}


def test_ordered_counts_unscored_preferences_as_wrong_and_respects_the_direction_of_the_total() -> None:
    preferences = [_preference("a b c", "a b"), _preference("a b", "a b c"), _preference("a b c", "word")]
    assert ordered(_LengthScorer(), preferences) == {"quality": 1, "total": 1}


@pytest.mark.parametrize(
    ("part", "count"), [("", 24), ("second/", 48), ("third/", 48), ("fourth/", 50), ("fifth/", 50), ("sixth/", 50)]
)
def test_normal_reports_are_scored(part: str, count: int) -> None:
    qualities = normal_reports(_LengthScorer(), part)
    assert qualities is not None
    assert len(qualities) == count
    assert qualities.isfinite().all()


def test_main_prints_every_file_and_rejects_an_unknown_scorer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(scorers=["rouge-l"]) == 0
    printed = capsys.readouterr().out
    assert all(f"| {name.replace('_', chr(92) + '_')} (total) | " in printed for name in PROBES)
    assert main(scorers=["no-such-scorer"]) == 2
    assert "no-such-scorer" in capsys.readouterr().err


def test_probes_are_named_by_no_code_that_trains_or_writes_data() -> None:
    package = Path(__file__).parents[3] / "radreward"
    assert not [path for path in package.rglob("*.py") if "experiments.probes" in path.read_text(encoding="utf-8")]
