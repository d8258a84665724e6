"""Word overlap: BLEU, ROUGE and chrF, computed by sacrebleu and rouge-score."""

from __future__ import annotations

from collections.abc import Sequence

from radreward.errors import check_choice
from radreward.metrics import text_overlap
from radreward.scorers.stateless import StatelessScorer

_ROUGE_VARIANTS = ("1", "2", "l")


class BLEU(StatelessScorer):
    """Sentence BLEU (Papineni et al., 2002) by sacrebleu, in [0, 1]; see `text_overlap.bleu`.

    Args:
        order: Maximum n-gram order N.

    Raises:
        ValueError: If `order` is not in 1 to 4.
        InputError: If sacrebleu is not installed.

    >>> scores = BLEU(2).score(["No pleural effusion."] * 2, ["no pleural effusion.", "Clear lungs."])
    >>> [round(total, 3) for total in scores.total.tolist()]
    [1.0, 0.207]
    """

    config_name = "bleu.json"
    packages = ("sacrebleu",)
    total_range = (0.0, 1.0)
    source_modules = (text_overlap,)
    setting_names = ("order",)

    def __init__(self, order: int = 4) -> None:
        if order not in (1, 2, 3, 4):
            raise ValueError(f"Expected `order` to be 1, 2, 3 or 4 but got {order!r}.")
        self.order = order
        self.title = f"BLEU-{order}"
        super().__init__()

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        return text_overlap.bleu(references, candidates, self.order)


class ROUGE(StatelessScorer):
    """ROUGE F1 (Lin, 2004) by rouge-score, in [0, 1]; see `text_overlap.rouge`.

    Args:
        variant: "1" or "2" for n-grams, "l" for the longest common subsequence.

    Raises:
        ValueError: If `variant` is unknown.
        InputError: If rouge-score is not installed.

    >>> ROUGE("l").score(["Small left effusion."], ["Left effusion, large."]).total
    tensor([0.6667])
    """

    config_name = "rouge.json"
    packages = ("rouge_score",)
    total_range = (0.0, 1.0)
    source_modules = (text_overlap,)
    setting_names = ("variant",)

    def __init__(self, variant: str = "l") -> None:
        check_choice("variant", variant, _ROUGE_VARIANTS)
        self.variant = variant
        self.title = f"ROUGE-{variant.upper()}"
        super().__init__()

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        return text_overlap.rouge(references, candidates, self.variant)


class ChrF(StatelessScorer):
    """chrF2, F-score of character n-grams up to 6, recall counted twice (Popović, 2015), by sacrebleu, in [0, 1].

    With sacrebleu's defaults: whitespace is ignored, case matters.

    Raises:
        InputError: If sacrebleu is not installed.

    >>> ChrF().score(["Clear lungs."], ["Clear  lungs."]).total
    tensor([1.])
    """

    config_name = "chrf.json"
    packages = ("sacrebleu",)
    title = "chrF"
    total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        from sacrebleu.metrics.chrf import CHRF

        metric = CHRF()
        pairs = zip(references, candidates, strict=True)
        return [min(metric.sentence_score(candidate, [reference]).score / 100, 1.0) for reference, candidate in pairs]
