"""Scores in chunks are those of a single call."""

from collections.abc import Iterable
from typing import Any

import pytest
import torch

from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scoring.pairs import Pairs, score_in_chunks
from radreward.text.patient_context import PatientContext
from radreward.types import Scores
from tests.scoring.overlap import Overlap

REFERENCES = ["Small left effusion.", "Clear lungs.", "No edema.", "", "Rib fracture."] * 3


@pytest.mark.parametrize("name", ["rouge-l", "ratescore", "chexpert-f1"])
@pytest.mark.parametrize("number", [0, 1, 4, 15])
def test_chunks_give_the_scores_of_a_single_call(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    monkeypatch.setattr(Scorer, "chunk_size", 4)
    scorer = load(name)
    references, candidates = REFERENCES[:number], REFERENCES[::-1][:number]
    scores, expected = (
        score_in_chunks(scorer, Pairs(references, candidates), progress=False),
        scorer.score(references, candidates),
    )
    for field, value in expected._asdict().items():
        actual = getattr(scores, field)
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(actual, value, equal_nan=True)
        else:
            assert actual == value


class _Recording(Overlap):
    """A scorer that notes the contexts it gets."""

    def __init__(self, uses_context: bool) -> None:
        super().__init__()
        self.uses_context, self.contexts = uses_context, list[Any]()

    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        self.contexts.append(contexts)
        return super().score(references, candidates, contexts)


@pytest.mark.parametrize(("uses_context", "expected"), [(True, [[1, 2], [3]]), (False, [None, None])])
def test_contexts_follow_their_pairs_to_scorers_that_use_them(
    monkeypatch: pytest.MonkeyPatch, uses_context: bool, expected: list[Any]
) -> None:
    monkeypatch.setattr(Scorer, "chunk_size", 2)
    scorer = _Recording(uses_context)
    contexts = [PatientContext(age) for age in (1, 2, 3)]
    score_in_chunks(scorer, Pairs(REFERENCES[:3], REFERENCES[:3], contexts), progress=False)
    assert [part and [context.age for context in part] for part in scorer.contexts] == expected


def test_progress_is_reported_per_chunk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Scorer, "chunk_size", 4)
    score_in_chunks(load("rouge-l"), Pairs(REFERENCES, REFERENCES))
    printed = capsys.readouterr().err
    assert "Scoring with ROUGE-L: 4 of 15 pairs" in printed
    assert "Scoring with ROUGE-L: 15 of 15 pairs" in printed
