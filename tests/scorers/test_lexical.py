"""Tests of word-overlap scorers against their formulas."""

import math
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.lexical import BLEU, ROUGE, ChrF

WORDS = st.lists(st.sampled_from(["no", "left", "right", "effusion", "edema", "seen", "heart"]), min_size=1, max_size=9)


def ngrams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def naive_bleu(reference: list[str], candidate: list[str], order: int) -> float:
    """Return sentence BLEU with exponential smoothing and effective order."""
    logs, zeros, common = [], 0, 0
    for n in range(1, order + 1):
        candidate_counts, reference_counts = ngrams(candidate, n), ngrams(reference, n)
        total, match = sum(candidate_counts.values()), sum((candidate_counts & reference_counts).values())
        common += match
        if not total:
            break
        zeros += match == 0
        logs.append(math.log(match / total if match else 1 / (2**zeros * total)))
    if not common:
        return 0.0
    return math.exp(min(0, 1 - len(reference) / len(candidate)) + sum(logs) / len(logs))


def subsequence(first: list[str], second: list[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        new = [0]
        for at, second_word in enumerate(second):
            new.append(row[at] + 1 if word == second_word else max(new[-1], row[at + 1]))
        row = new
    return row[-1]


def f1(common: int, reference: int, candidate: int) -> float:
    return 2 * common / (reference + candidate) if common else 0.0


@given(WORDS, WORDS, st.integers(1, 4))
def test_bleu_matches_formula(reference: list[str], candidate: list[str], order: int) -> None:
    total = BLEU(order).score([" ".join(reference)], [" ".join(candidate).upper()]).total
    assert total.item() == pytest.approx(naive_bleu(reference, candidate, order), abs=1e-6)


@given(WORDS, WORDS)
def test_rouge_matches_formula(reference: list[str], candidate: list[str]) -> None:
    texts = [" ".join(reference) + "."], [" ".join(candidate)]
    for order in (1, 2):
        candidate_counts, reference_counts = ngrams(candidate, order), ngrams(reference, order)
        expected = f1(
            sum((candidate_counts & reference_counts).values()),
            sum(reference_counts.values()),
            sum(candidate_counts.values()),
        )
        assert ROUGE(str(order)).score(*texts).total.item() == pytest.approx(expected, abs=1e-6)
    expected = f1(subsequence(reference, candidate), len(reference), len(candidate))
    assert ROUGE("l").score(*texts).total.item() == pytest.approx(expected, abs=1e-6)


@given(WORDS, WORDS)
@settings(max_examples=30)
def test_chrf_matches_formula(reference: list[str], candidate: list[str]) -> None:
    first, second = list("".join(reference)), list("".join(candidate))
    precision, recall = [], []
    for order in range(1, 7):
        candidate_counts, reference_counts = ngrams(second, order), ngrams(first, order)
        if candidate_counts and reference_counts:
            common = sum((candidate_counts & reference_counts).values())
            precision.append(common / sum(candidate_counts.values()))
            recall.append(common / sum(reference_counts.values()))
    p, r = sum(precision) / len(precision), sum(recall) / len(recall)
    expected = 5 * p * r / (4 * p + r) if p + r else 0.0
    total = ChrF().score([" ".join(reference)], [" ".join(candidate)]).total
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_case_and_repetition_handled_as_documented() -> None:
    assert BLEU(1).score(["The heart is large."], ["the heart is large ."]).total.item() == 1
    assert ChrF().score(["The heart is large."], ["the heart is large."]).total.item() < 1
    words = re.findall(r"\w+", "edema edema edema")
    assert all(first == second for first, second in pairwise(words))
    assert ROUGE("1").score(["edema"], [" ".join(words)]).total.item() == pytest.approx(f1(1, 1, 3))


@pytest.mark.parametrize("order", [0, 5, True, "4"])
def test_invalid_settings_raise_value_error(order: int) -> None:
    if order is not True:
        with pytest.raises(ValueError, match="Expected `order` to be 1, 2, 3 or 4 but got"):
            BLEU(order)
    with pytest.raises(ValueError, match="Expected `variant` to be 1, 2 or l but got"):
        ROUGE(str(order))


def test_missing_package_error_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"BLEU-4 needs `sacrebleu`, which is not installed: pip install 'radreward\["):
        load("bleu-4")
