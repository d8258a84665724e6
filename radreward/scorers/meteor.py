"""METEOR by nltk, with exact and stem matches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from radreward.scorers.stateless import StatelessScorer

_WORD = re.compile(r"\w+")


class _NoWordNet:
    """Replacement for WordNet, whose data are not part of nltk."""

    def synsets(self, word: str) -> tuple[()]:
        """Return no synonyms."""
        return ()


class METEOR(StatelessScorer):
    """METEOR (Banerjee and Lavie, 2005) with exact and stem matches but no synonyms, computed by nltk; in [0, 1].

    F (1 - 0.5 (chunks / matches)³) with F = P R / (0.9 P + 0.1 R). Lowercase, letters and digits only, Porter stems.
    Published values, which use WordNet's synonyms, are slightly higher. Identical reports of n words get 1 - 0.5 / n³.

    Raises:
        InputError: If nltk is not installed.

    >>> METEOR().score(["Left pleural effusions."], ["left pleural effusion"]).total
    tensor([0.9815])
    """

    config_name = "meteor.json"
    packages = ("nltk",)
    title = "METEOR (exact and stem)"
    total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        from nltk.stem.porter import PorterStemmer
        from nltk.translate.meteor_score import single_meteor_score

        stemmer, wordnet = PorterStemmer(), _NoWordNet()
        return [
            single_meteor_score(_WORD.findall(reference), _WORD.findall(candidate), stemmer=stemmer, wordnet=wordnet)
            for reference, candidate in zip(references, candidates, strict=True)
        ]
