"""Words that two texts have in common, counted by sacrebleu and rouge-score, of the extra `lexical`."""

from __future__ import annotations

from collections.abc import Sequence


def bleu(references: Sequence[str], candidates: Sequence[str], order: int = 4) -> list[float]:
    """BLEU of each pair (Papineni et al., 2002), in [0, 1].

    BP · exp(Σ_n log p_n / N) over n = 1 … N; BP = min(1, exp(1 - |reference| / |candidate|)). Lower case, tokens "13a",
    exponential smoothing of counts that are 0, and the effective order, so that a text of three words can equal its
    reference. Two texts without a word in common have 0.

    Args:
        references: (n,) texts.
        candidates: (n,) texts.
        order: N, the longest n-gram, 1 to 4.

    >>> [round(value, 3) for value in bleu(["No effusion."] * 2, ["no effusion.", "Clear lungs."], 2)]
    [1.0, 0.289]
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(lowercase=True, effective_order=True, max_ngram_order=order)
    pairs = zip(references, candidates, strict=True)
    return [min(metric.sentence_score(candidate, [reference]).score / 100, 1.0) for reference, candidate in pairs]


def rouge(references: Sequence[str], candidates: Sequence[str], variant: str = "l") -> list[float]:
    """F1 of the words in common of each pair (Lin, 2004), in [0, 1]: words, pairs of words, or a subsequence.

    2 P R / (P + R) with P = common / |candidate| and R = common / |reference|. Lower case, letters and digits only, no
    stemming. A text without words has 0.

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
