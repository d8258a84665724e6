"""Word overlap of two texts, computed with sacrebleu and rouge-score (extra `lexical`), and F1 of two sets."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

_LCS_BLOCK = 4096
"""Entries that `lcs_length` processes in one number."""


def bleu(references: Sequence[str], candidates: Sequence[str], order: int = 4) -> list[float]:
    """Return the sentence BLEU of each pair (Papineni et al., 2002), in [0, 1].

    BP · exp(Σ_n log p_n / N) over n = 1 … N; BP = min(1, exp(1 - |reference| / |candidate|)). Texts are lowercased and
    tokenized with "13a". Zero counts are smoothed exponentially. The effective order is used, so that a text of three
    words can reach 1. Two texts without a common word get 0.

    Args:
        references: (n,) texts.
        candidates: (n,) texts.
        order: Maximum n-gram order N, 1 to 4.

    >>> [round(value, 3) for value in bleu(["No effusion."] * 2, ["no effusion.", "Clear lungs."], 2)]
    [1.0, 0.289]
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(lowercase=True, effective_order=True, max_ngram_order=order)
    pairs = zip(references, candidates, strict=True)
    return [min(metric.sentence_score(candidate, [reference]).score / 100, 1.0) for reference, candidate in pairs]


def rouge(references: Sequence[str], candidates: Sequence[str], variant: str = "l") -> list[float]:
    """Return the ROUGE F1 of each pair (Lin, 2004), in [0, 1].

    2 P R / (P + R) with P = common / |candidate| and R = common / |reference|. Texts are lowercased, and only letters
    and digits are kept; there is no stemming. A text without words gets 0. The longest common subsequence is computed
    by `lcs_length`, with the numbers of rouge-score, whose table of |reference| × |candidate| takes seconds for texts
    of 20,000 characters.

    Args:
        references: (n,) texts.
        candidates: (n,) texts.
        variant: "1" or "2" for n-grams, "l" for the longest common subsequence.

    >>> rouge(["No edema was seen"], ["no edema is seen."])
    [0.75]
    """
    from rouge_score.rouge_scorer import RougeScorer

    pairs = zip(references, candidates, strict=True)
    if variant == "l":
        return [_rouge_l(*pair) for pair in pairs]
    name = f"rouge{variant}"
    scorer = RougeScorer([name])
    return [float(scorer.score(reference, candidate)[name].fmeasure) for reference, candidate in pairs]


def _rouge_l(reference: str, candidate: str) -> float:
    from rouge_score.scoring import fmeasure
    from rouge_score.tokenize import tokenize

    references, candidates = (tokenize(text, stemmer=None) for text in (reference, candidate))
    if not references or not candidates:
        return 0.0
    common = lcs_length(references, candidates)
    return float(fmeasure(common / len(candidates), common / len(references)))


def lcs_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of two sequences.

    The bit-parallel algorithm of Hyyrö (2004, "Bit-parallel LCS-length computation revisited"): bit i of `row` is 0 if
    the subsequence grows at `first[i]`. Blocks of `first` are processed one after the other, with one carry per entry
    of `second` between them, so that memory is linear. Time is proportional to the product of both lengths, with
    thousands of entries per operation.

    >>> lcs_length("small left effusion".split(), "left pleural effusion".split())
    2
    """
    carries = bytearray(len(second))
    length = 0
    for start in range(0, len(first), _LCS_BLOCK):
        block = first[start : start + _LCS_BLOCK]
        positions: dict[Hashable, int] = {}
        for index, entry in enumerate(block):
            positions[entry] = positions.get(entry, 0) | 1 << index
        row = full = (1 << len(block)) - 1
        for index, entry in enumerate(second):
            matches = row & positions.get(entry, 0)
            total = row + matches + carries[index]
            carries[index] = total >> len(block)
            row = (total | (row - matches)) & full
        length += len(block) - row.bit_count()
    return length


def set_f1(first: set[Any], second: set[Any], if_empty: float = math.nan) -> float:
    """Return 2 |A ∩ B| / (|A| + |B|), or `if_empty` if both sets are empty.

    >>> set_f1({1, 2}, {2, 3}), set_f1(set(), {1}), set_f1(set(), set())
    (0.5, 0.0, nan)
    """
    size = len(first) + len(second)
    return 2 * len(first & second) / size if size else if_empty
