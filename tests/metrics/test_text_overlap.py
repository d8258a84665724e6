"""ROUGE-L and longest common subsequences against rouge-score and a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from radreward.metrics import text_overlap
from radreward.metrics.text_overlap import lcs_length, rouge

_WORDS = st.lists(st.sampled_from(["no", "No", "effusion", "edema.", "İ", "5", "–", "left/right"]), max_size=30)


def table_length(first: list[int], second: list[int]) -> int:
    """Return the length of the longest common subsequence by the textbook's table."""
    row = [0] * (len(second) + 1)
    for entry in first:
        above, row = row, [0]
        for index, other in enumerate(second):
            row.append(above[index] + 1 if entry == other else max(above[index + 1], row[index]))
    return row[-1]


@pytest.mark.parametrize("block", [1, 3, 64, 4096])
@given(first=st.lists(st.integers(0, 3), max_size=40), second=st.lists(st.integers(0, 3), max_size=40))
def test_lcs_length_is_that_of_the_table(block: int, first: list[int], second: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_overlap, "_LCS_BLOCK", block)
        assert lcs_length(first, second) == table_length(first, second)


@given(reference=_WORDS, candidate=_WORDS)
def test_rouge_l_is_that_of_rouge_score(reference: list[str], candidate: list[str]) -> None:
    texts = " ".join(reference), " ".join(candidate)
    expected = RougeScorer(["rougeL"]).score(*texts)["rougeL"].fmeasure
    assert rouge([texts[0]], [texts[1]]) == [expected]


def test_rouge_l_of_the_longest_reports_is_exact() -> None:
    left, right = "no effusion " * 1600, "effusion edema " * 1300  # 5,800 words, in two blocks
    assert rouge([left], [right]) == [2 * 1300 / (3200 + 2600)]
