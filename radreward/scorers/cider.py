"""CIDEr-D: n-grams in common, those that few reports have counting most."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from radreward.scorers.stateless import StatelessScorer

NGRAM_ORDERS = (1, 2, 3, 4)
LENGTH_SIGMA = 6.0
"""How many words more or less take how much off."""
_WORD = re.compile(r"\w+")


class CIDEr(StatelessScorer):
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

    config_name = "cider.json"
    title = "CIDEr-D"
    total_range = (0.0, 10.0)

    def __init__(self, n_documents: int = 0, frequencies: Mapping[str, int] | None = None) -> None:
        if frequencies is not None and n_documents < 1:
            raise ValueError(f"Expected `documents` to be >= 1 with `frequencies` but got {n_documents}.")
        self.n_documents = n_documents
        self.frequencies = None if frequencies is None else dict(frequencies)
        super().__init__()

    def fit_references(self, references: Iterable[str]) -> CIDEr:
        """With the frequencies of these references, unless it has some already."""
        return self if self.frequencies is not None else CIDEr(*_document_frequencies(references))

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"documents": self.n_documents, "frequencies": self.frequencies}

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        documents, frequencies = self.n_documents, self.frequencies
        if frequencies is None:
            documents, frequencies = _document_frequencies(references)
        known = {text: _tfidf_vectors(text, documents, frequencies) for text in {*references, *candidates}}
        return [
            _similarity(known[one], known[other], len(_words(one)) - len(_words(other)))
            for one, other in zip(references, candidates, strict=True)
        ]


_NgramVectors = list[dict[str, float]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _ngrams(text: str, order: int) -> Counter[str]:
    words = _words(text)
    return Counter(" ".join(words[at : at + order]) for at in range(len(words) - order + 1))


def _document_frequencies(references: Iterable[str]) -> tuple[int, dict[str, int]]:
    """How many references there are, and in how many each n-gram stands."""
    found: Counter[str] = Counter()
    documents = 0
    for text in references:
        documents += 1
        found.update(gram for order in NGRAM_ORDERS for gram in _ngrams(text, order))
    return documents, dict(found)


def _tfidf_vectors(text: str, n_documents: int, frequencies: Mapping[str, int]) -> _NgramVectors:
    """Of each order, the weighed counts."""
    return [
        {
            gram: count * math.log(n_documents / max(1, frequencies.get(gram, 0)))
            for gram, count in _ngrams(text, order).items()
        }
        for order in NGRAM_ORDERS
    ]


def _similarity(reference: _NgramVectors, candidate: _NgramVectors, length_difference: int) -> float:
    total = 0.0
    for one, other in zip(reference, candidate, strict=True):
        size = math.hypot(*one.values()) * math.hypot(*other.values())
        if size:
            total += sum(min(other[gram], weight) * weight for gram, weight in one.items() if gram in other) / size
    return 10 / len(NGRAM_ORDERS) * total * math.exp(-(length_difference**2) / (2 * LENGTH_SIGMA**2))
