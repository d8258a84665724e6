"""CIDEr-D: n-grams in common, those that few reports have counting most."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from radreward.scorers.stateless import PlainScorer

ORDERS = (1, 2, 3, 4)
SIGMA = 6.0
"""How many words more or less take how much off."""
_WORD = re.compile(r"\w+")


class CIDEr(PlainScorer):
    """CIDEr-D (Vedantam et al., 2015, equation 6), with one reference a candidate, in [0, 10].

    10 / 4 · Σ_n exp(-(l_c - l_r)² / 2σ²) · min(g_n(c), g_n(r)) · g_n(r) / (|g_n(c)| |g_n(r)|) over n = 1 … 4, with
    l the number of words, σ = 6 and g_n the counts of the n-grams, each times log(D / max(1, d)): d of D references
    have it. Lower case, letters and digits only, no stemming.

    D and d are those of the references that are scored together; `for_run` takes them from all references of a run, as
    `radreward score` and `radreward benchmark` do. With one reference alone every n-gram has log 1 = 0, and so every
    score is 0.

    Args:
        documents: D, where the frequencies are given.
        frequencies: d of each n-gram, its words joined by spaces; nothing where each call finds its own.

    Raises:
        ValueError: If frequencies are given and `documents` is less than 1.

    >>> scorer = CIDEr().for_run(["No effusion.", "Left effusion.", "Clear lungs."])
    >>> scorer.score(["Left effusion."] * 2, ["Left effusion.", "No effusion."]).total
    tensor([5.0000, 0.2997])
    """

    file = "cider.json"
    title = "CIDEr-D"
    range = (0.0, 10.0)

    def __init__(self, documents: int = 0, frequencies: Mapping[str, int] | None = None) -> None:
        if frequencies is not None and documents < 1:
            raise ValueError(f"Expected `documents` to be >= 1 with `frequencies` but got {documents}.")
        self.documents = documents
        self.frequencies = None if frequencies is None else dict(frequencies)
        super().__init__()

    def for_run(self, references: Iterable[str]) -> CIDEr:
        """With the frequencies of these references, unless it has some already."""
        return self if self.frequencies is not None else CIDEr(*_frequencies(references))

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {"documents": self.documents, "frequencies": self.frequencies}

    def values(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `PlainScorer.values`."""
        documents, frequencies = self.documents, self.frequencies
        if frequencies is None:
            documents, frequencies = _frequencies(references)
        known = {text: _vectors(text, documents, frequencies) for text in {*references, *candidates}}
        return [
            _similarity(known[one], known[other], len(_words(one)) - len(_words(other)))
            for one, other in zip(references, candidates, strict=True)
        ]


_Vectors = list[dict[str, float]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(text: str, order: int) -> Counter[str]:
    words = _words(text)
    return Counter(" ".join(words[at : at + order]) for at in range(len(words) - order + 1))


def _frequencies(references: Iterable[str]) -> tuple[int, dict[str, int]]:
    """How many references there are, and in how many each n-gram stands."""
    found: Counter[str] = Counter()
    documents = 0
    for text in references:
        documents += 1
        found.update(gram for order in ORDERS for gram in _grams(text, order))
    return documents, dict(found)


def _vectors(text: str, documents: int, frequencies: Mapping[str, int]) -> _Vectors:
    """Of each order, the weighed counts."""
    return [
        {
            gram: count * math.log(documents / max(1, frequencies.get(gram, 0)))
            for gram, count in _grams(text, order).items()
        }
        for order in ORDERS
    ]


def _similarity(reference: _Vectors, candidate: _Vectors, difference: int) -> float:
    total = 0.0
    for one, other in zip(reference, candidate, strict=True):
        size = math.hypot(*one.values()) * math.hypot(*other.values())
        if size:
            total += sum(min(other[gram], weight) * weight for gram, weight in one.items() if gram in other) / size
    return 10 / len(ORDERS) * total * math.exp(-(difference**2) / (2 * SIGMA**2))
