"""Scores in text files, scorers given as objects, and the description of a scorer."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import radreward
from radreward.errors import InputError
from radreward.scorers.custom import CustomScorer
from radreward.scoring import score_file


def fifth(reference: str, candidate: str) -> float:
    return len(candidate) / 5


PAIRS = [{"reference": "Clear lungs.", "candidate": "a" * length} for length in range(1, 12)]


def test_scores_in_text_have_shortest_float32(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    for suffix in (".csv", ".jsonl"):
        score_file(CustomScorer(fifth), source, tmp_path / f"out{suffix}", progress=False)
    cells = [row["total"] for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    assert cells[:3] == ["0.2", "0.4", "0.6"]
    lines = [json.loads(line)["total"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    expected = [np.float32(length / 5) for length in range(1, 12)]
    assert [np.float32(cell) for cell in cells] == [np.float32(value) for value in lines] == expected
    assert '"total": 0.2,' in (tmp_path / "out.jsonl").read_text()


def test_score_frame_takes_sequence_of_scorers() -> None:
    frame, scorer = pd.DataFrame(PAIRS), CustomScorer(fifth)
    one = radreward.score_frame(frame, [scorer], progress=False)
    pd.testing.assert_frame_equal(one, radreward.score_frame(frame, scorer, progress=False))
    two = radreward.score_frame(frame, [scorer, "rouge-l"], progress=False)
    assert {"fifth_total", "rouge-l_total"} <= set(two.columns)


def test_repr_of_scorer_states_device_precision_and_outputs() -> None:
    assert repr(CustomScorer(fifth)) == "<fifth (CustomScorer): device cpu, precision fp32, outputs total>"
    assert repr(radreward.load("er2score", device="cpu")).startswith(
        "<ER²Score (RewardModelScorer): device cpu, precision fp32, outputs total, quality, "
    )


def test_misspelt_name_of_scorer_gets_suggestion_first() -> None:
    with pytest.raises(InputError, match="^er2scor: Expected a scorer .* Did you mean er2score"):
        radreward.load("er2scor")
