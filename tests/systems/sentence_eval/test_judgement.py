"""Mean of repeated judgements and rounding of scores, against their definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.relation_io import RELATION_SCORES
from radreward.systems.sentence_eval.judgement import (
    SentenceJudgement,
    SentenceScore,
    average_judgements,
    round_to_score,
)

sentence_scores = st.none() | st.builds(
    SentenceScore, st.sampled_from(RELATION_SCORES), st.sets(st.integers(0, 3)).map(tuple), st.none()
)


@given(st.lists(st.tuples(sentence_scores, st.none() | st.floats(0, 5)), min_size=1, max_size=5))
def test_average_judgements_is_the_mean_of_available_scores(
    repetitions: list[tuple[SentenceScore | None, float | None]],
) -> None:
    mean = average_judgements(
        [SentenceJudgement((score,), (), overall, "", {}, "ok") for score, overall in repetitions]
    )
    scores = [score for score, _ in repetitions if score is not None]
    if scores:
        assert mean.reference_scores[0] is not None
        assert mean.reference_scores[0].score == pytest.approx(sum(score.score for score in scores) / len(scores))
        for index in range(4):
            count = sum(index in score.matches for score in scores)
            assert (index in mean.reference_scores[0].matches) == (count > len(scores) / 2)
    else:
        assert mean.reference_scores == (None,)
    rated = [overall for _, overall in repetitions if overall is not None]
    assert mean.overall == (pytest.approx(sum(rated) / len(rated)) if rated else None)


def test_average_judgements_of_different_reports_raises() -> None:
    judgement = SentenceJudgement((None,), (), None, "", {}, "ok")
    for judgements in ([], [judgement, judgement._replace(reference_scores=())]):
        with pytest.raises(ValueError, match="all of the same report pair"):
            average_judgements(judgements)


@given(st.floats(-1, 1))
def test_round_to_score_returns_the_closest(value: float) -> None:
    rounded = round_to_score(value)
    assert rounded in RELATION_SCORES
    assert all(abs(rounded - value) <= abs(score - value) for score in RELATION_SCORES)
