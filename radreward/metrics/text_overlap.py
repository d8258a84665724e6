"""Word overlap of two texts, computed with sacrebleu and rouge-score (extra `lexical`), and F1 of two sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


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
    and digits are kept; there is no stemming. A text without words gets 0.

    Args:
        references: (n,) texts.
        candidates: (n,) texts.
        variant: "1" or "2" for n-grams, "l" for the longest common subsequence.

    >>> rouge(["No edema was seen"], ["no edema is seen."])
    [0.75]
    """
    from rouge_score.rouge_scorer import RougeScorer

    name = f"rouge{variant.upper()}"
    scorer = RougeScorer([name])
    pairs = zip(references, candidates, strict=True)
    return [float(scorer.score(reference, candidate)[name].fmeasure) for reference, candidate in pairs]


def set_f1(first: set[Any], second: set[Any], if_empty: float = math.nan) -> float:
    """Return 2 |A ∩ B| / (|A| + |B|), or `if_empty` if both sets are empty.

    >>> set_f1({1, 2}, {2, 3}), set_f1(set(), {1}), set_f1(set(), set())
    (0.5, 0.0, nan)
    """
    size = len(first) + len(second)
    return 2 * len(first & second) / size if size else if_empty
