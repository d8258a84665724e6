"""Pairs in everyday words: their files, and the probability that equal ones score higher."""

import itertools
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.everyday.measure import COMPARISONS, FILES, main, read_labelled_pairs, separation, separation_table


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_every_pair_has_a_known_label_and_stands_once(file: Path) -> None:
    data = read_labelled_pairs(file)
    assert {*data.labels} == set(itertools.chain.from_iterable(COMPARISONS))
    assert len({*zip(data.pairs.references, data.pairs.candidates, strict=True)}) == len(data.labels) == 320


@given(st.lists(st.tuples(st.sampled_from([math.nan, 0.0, 0.5, 1.0]), st.booleans()), min_size=2))
def test_separation_is_the_share_of_pairs_in_order(rows: list[tuple[float, bool]]) -> None:
    equal, other = ([value for value, own in rows if own is is_equal] for is_equal in (True, False))
    if not (equal and other):
        return
    ranks = [[-1.0 if math.isnan(value) else value for value in values] for values in (equal, other)]
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(*ranks)]
    labels = ["same" if own else "diff" for _, own in rows]
    values = torch.tensor([value for value, _ in rows])
    assert separation(values, labels, "same", "diff") == pytest.approx(sum(wins) / len(wins))


def test_words_do_not_separate_the_pairs() -> None:
    [row] = separation_table(["rouge-l"]).to_numpy().tolist()
    assert row[:2] == ["rouge-l (total)", "0.000"]


def test_unknown_scorer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(scorers=["nope"]) == 2
    assert "nope: Expected" in capsys.readouterr().err
