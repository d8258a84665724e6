"""Scores in chunks are those of a single call."""

import pytest
import torch

from radreward.scorers import load
from radreward.scoring import chunked_scoring
from radreward.scoring.chunked_scoring import score_in_chunks

REFERENCES = ["Small left effusion.", "Clear lungs.", "No edema.", "", "Rib fracture."] * 3


@pytest.mark.parametrize("name", ["rouge-l", "ratescore", "chexpert-f1"])
@pytest.mark.parametrize("number", [0, 1, 4, 15])
def test_chunks_give_the_scores_of_a_single_call(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    monkeypatch.setattr(chunked_scoring, "CHUNK_SIZE", 4)
    scorer = load(name)
    references, candidates = REFERENCES[:number], REFERENCES[::-1][:number]
    scores, expected = (
        score_in_chunks(scorer, references, candidates, progress=False),
        scorer.score(references, candidates),
    )
    for field, value in expected._asdict().items():
        actual = getattr(scores, field)
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(actual, value, equal_nan=True)
        else:
            assert actual == value


def test_progress_is_reported_per_chunk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(chunked_scoring, "CHUNK_SIZE", 4)
    score_in_chunks(load("rouge-l"), REFERENCES, REFERENCES)
    printed = capsys.readouterr().err
    assert "Scoring with ROUGE-L: 4 of 15 pairs" in printed
    assert "Scoring with ROUGE-L: 15 of 15 pairs" in printed
