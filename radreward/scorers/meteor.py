"""METEOR, counted by nltk, with equal words and equal stems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from radreward.scorers.stateless import StatelessScorer

_WORD = re.compile(r"\w+")


class _NoWordNet:
    """In place of WordNet, whose data do not come with nltk."""

    def synsets(self, word: str) -> tuple[()]:
        """None."""
        return ()


class METEOR(StatelessScorer):
    """METEOR (Banerjee and Lavie, 2005) of equal words and equal stems, by nltk, in [0, 1]; without synonyms.

    F (1 - 0.5 (chunks / matches)³) with F = P R / (0.9 P + 0.1 R). Lower case, letters and digits only, Porter stems.
    Synonyms would need the data of WordNet, so published figures, which have them, are a little higher. Identical
    reports of n words have 1 - 0.5 / n³, the highest that there is for them.

    Raises:
        InputError: If nltk is not there.

    >>> METEOR().score(["Left pleural effusions."], ["left pleural effusion"]).total
    tensor([0.9815])
    """

    config_name = "meteor.json"
    packages = ("nltk",)
    extra = "lexical"
    title = "METEOR (exact and stem)"
    total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        from nltk.stem.porter import PorterStemmer
        from nltk.translate.meteor_score import single_meteor_score

        stemmer, synonyms = PorterStemmer(), _NoWordNet()
        return [
            single_meteor_score(_WORD.findall(one), _WORD.findall(other), stemmer=stemmer, wordnet=synonyms)
            for one, other in zip(references, candidates, strict=True)
        ]
