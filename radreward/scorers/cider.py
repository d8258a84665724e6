"""CIDEr-D: similarity of n-grams weighted by their rarity in the references."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from radreward.scorers.stateless import StatelessScorer
from radreward.text.normalization import normalize_report

_NGRAM_ORDERS = (1, 2, 3, 4)
_LENGTH_SIGMA = 6.0
"""Standard deviation of the Gaussian length penalty, in words (σ)."""
_WORD = re.compile(r"\w+")


class CIDEr(StatelessScorer):
    """CIDEr-D (Vedantam et al., 2015, equation 6) with one reference per candidate, in [0, 10].

    10 / 4 · Σ_n exp(-(l_c - l_r)² / 2σ²) · min(g_n(c), g_n(r)) · g_n(r) / (|g_n(c)| |g_n(r)|) over n = 1 … 4, with
    l the number of words, σ = 6 and g_n the n-gram counts, each times log(D / max(1, d)), where d of D references
    contain the n-gram. Lowercase, letters and digits only, no stemming.

    D and d come from the references scored together; `fit_references` takes them from all references of a run, as
    `radreward score` and `radreward benchmark` do. With a single reference, log 1 = 0 and every score is 0.

    Args:
        n_documents: D, if `frequencies` are given.
        frequencies: d of each n-gram, its words joined by spaces; None to compute them in each call.

    Raises:
        ValueError: If `frequencies` are given and `n_documents` is below 1.

    >>> scorer = CIDEr().fit_references(["No effusion.", "Left effusion.", "Clear lungs."])
    >>> scorer.score(["Left effusion."] * 2, ["Left effusion.", "No effusion."]).total
    tensor([5.0000, 0.2997])
    """

    config_name = "cider.json"
    title = "CIDEr-D"
    total_range = (0.0, 10.0)
    setting_names = ("n_documents", "frequencies")

    def __init__(self, n_documents: int = 0, frequencies: Mapping[str, int] | None = None) -> None:
        if frequencies is not None and n_documents < 1:
            raise ValueError(f"Expected `n_documents` to be >= 1 with `frequencies` but got {n_documents}.")
        self.n_documents = n_documents
        self.frequencies = None if frequencies is None else dict(frequencies)
        super().__init__()

    def fit_references(self, references: Iterable[str]) -> CIDEr:
        """Return a scorer with the frequencies of these references, unless it has frequencies already."""
        if self.frequencies is not None:
            return self
        return CIDEr(*_document_frequencies(map(normalize_report, references)))

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        n_documents, frequencies = self.n_documents, self.frequencies
        if frequencies is None:
            n_documents, frequencies = _document_frequencies(references)
        vectors = {text: _tfidf_vectors(text, n_documents, frequencies) for text in {*references, *candidates}}
        return [
            _similarity(vectors[reference], vectors[candidate], len(_words(reference)) - len(_words(candidate)))
            for reference, candidate in zip(references, candidates, strict=True)
        ]


_NgramVectors = list[dict[str, float]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _ngrams(text: str, order: int) -> Counter[str]:
    words = _words(text)
    return Counter(" ".join(words[start : start + order]) for start in range(len(words) - order + 1))


def _document_frequencies(references: Iterable[str]) -> tuple[int, dict[str, int]]:
    """Return the number of references and the number of references with each n-gram."""
    frequencies: Counter[str] = Counter()
    n_documents = 0
    for text in references:
        n_documents += 1
        frequencies.update(ngram for order in _NGRAM_ORDERS for ngram in _ngrams(text, order))
    return n_documents, dict(frequencies)


def _tfidf_vectors(text: str, n_documents: int, frequencies: Mapping[str, int]) -> _NgramVectors:
    """Return the weighted n-gram counts of each order."""
    return [
        {
            ngram: count * math.log(n_documents / max(1, frequencies.get(ngram, 0)))
            for ngram, count in _ngrams(text, order).items()
        }
        for order in _NGRAM_ORDERS
    ]


def _similarity(reference: _NgramVectors, candidate: _NgramVectors, length_difference: int) -> float:
    total = 0.0
    for r, c in zip(reference, candidate, strict=True):
        norm = math.hypot(*r.values()) * math.hypot(*c.values())
        if norm:
            total += sum(min(c[ngram], weight) * weight for ngram, weight in r.items() if ngram in c) / norm
    return 10 / len(_NGRAM_ORDERS) * total * math.exp(-(length_difference**2) / (2 * _LENGTH_SIGMA**2))
