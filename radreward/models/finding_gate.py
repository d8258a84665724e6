"""A gate of statements: the probability that a statement reports a finding, by a frozen encoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, load_tensors, save_tensors
from radreward.io.lru_cache import BatchLRUCache
from radreward.io.model_config import read_config, write_config
from radreward.models.finding_names import SimilarName, embedded_names
from radreward.models.precision import Precision
from radreward.models.text_encoder import TextEncoder, TokenEmbeddings
from radreward.text.entities import FINDING_TYPES, rule_entities
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.text.standard_wording import may_report_finding

EMBEDDED_GATE = Path(__file__).with_name("embedded") / "finding_gate.safetensors"
DATA_CARD = "data_card"
_STATEMENTS_PER_BATCH = 256
"""Statements whose vectors of tokens are in memory together."""


class Limits(NamedTuple):
    """Lowest probability of a statement that reports a finding."""

    unknown: float
    """If the lexicon has no word for an abnormality in it."""
    named: float
    """If it has one."""


PROBABLE = Limits(0.8, 0.2)
"""For scorers that take every statement that passes for a finding."""
POSSIBLE = Limits(0.3, 0.05)
"""For a scorer that reads statements by itself: only those that surely report none are left out."""
LIKELY = Limits(PROBABLE.unknown, 0.5)
"""To take a statement for the finding of similar names; statements of technique and limits may be similar to some."""


class _Reading(NamedTuple):
    probability: float
    similar: SimilarName


class FindingGate:
    """Probability that a statement reports a finding, rather than naming one or describing the examination.

    p = sigmoid(w · v + b), where v (2 d,) is the mean and the largest values of the unit-length vectors of the tokens
    of a statement, special tokens excluded, by the last layer of a frozen encoder; without tokens, v = 0.

    Statements of denials, normal states, technique, image quality, limits, artefacts, advice and indications have low
    probabilities. Each distinct statement is encoded once; the probabilities of the last `CACHED_SENTENCES` statements
    are kept.

    Args:
        weight: (2 d,) weights w.
        bias: The bias b.
        encoder: The encoder, with vectors of size d.
        data_card: Metadata of the fit, stored for information only.

    >>> gate = FindingGate.load()
    >>> (gate.probabilities(["Nodule in the left upper lobe.", "The image is of good quality."]) >= 0.5).tolist()
    [True, False]
    """

    def __init__(
        self, weight: Tensor, bias: float, encoder: TextEncoder, data_card: dict[str, Any] | None = None
    ) -> None:
        self.weight, self.bias, self.encoder = weight.float(), float(bias), encoder
        self.data_card = dict(data_card or {})
        self.names = embedded_names()
        self._cache = BatchLRUCache[_Reading](CACHED_SENTENCES)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of weights, encoder and names."""
        return fingerprint(self.weight, self.bias, self.encoder.fingerprint, self.names.fingerprint)

    def probabilities(self, statements: Sequence[str]) -> Tensor:
        """Return the (n,) float32 probabilities of n statements, in [0, 1]."""
        found = self._cache.get_or_compute(statements, self._compute)
        return torch.tensor([found[text].probability for text in statements], dtype=torch.float32)

    def similar_names(self, statements: Iterable[str]) -> dict[str, SimilarName]:
        """Return the finding whose names are most similar to each statement, see `FindingNames`.

        >>> text = "Gas between the liver and the right diaphragmatic dome."
        >>> FindingGate.load().similar_names([text])[text].finding
        'freeair'
        """
        found = self._cache.get_or_compute(statements, self._compute)
        return {text: reading.similar for text, reading in found.items()}

    def reporting(self, statements: Iterable[str], limits: Limits = PROBABLE) -> frozenset[str]:
        """Return the statements that report a finding, by the vocabulary or by the encoder.

        A statement reports a finding if the vocabulary reads one in it: present, uncertain or resolved. Of the others,
        those that only deny findings or call body parts normal report none, see `may_report_finding`. The rest is
        encoded, and reports one if its probability is within the limits.

        >>> texts = ("No effusion.", "Mild effusion.", "Tree-in-bud pattern in the left base.", "Rotated film.")
        >>> sorted(FindingGate.load().reporting(texts))
        ['Mild effusion.', 'Tree-in-bud pattern in the left base.']
        """
        distinct = dict.fromkeys(statements)
        return frozenset(filter(states_finding, distinct)) | self.in_other_words(distinct, limits)

    def in_other_words(self, statements: Iterable[str], limits: Limits = PROBABLE) -> frozenset[str]:
        """Return the statements that report a finding by the encoder alone, in words that the vocabulary does not know.

        >>> sorted(FindingGate.load().in_other_words(("Mild effusion.", "Feathery strands at the left base.")))
        ['Feathery strands at the left base.']
        """
        unread = unread_statements(statements)
        return frozenset(unread) - self.dismissed(unread, limits)

    def dismissed(self, unread: Sequence[str], limits: Limits) -> frozenset[str]:
        """Return those statements, such as the `unread_statements`, whose probability is below the limits."""
        found = self._cache.get_or_compute(unread, self._compute)
        return frozenset(
            text
            for text, (probability, _) in found.items()
            if probability < (limits.named if names_finding(text) else limits.unknown)
        )

    def _compute(self, statements: list[str]) -> dict[str, _Reading]:
        vectors = statement_vectors(self.encoder, statements)
        probabilities = (vectors @ self.weight + self.bias).sigmoid().tolist()
        similar = self.names.most_similar(vectors[:, : self.encoder.embedding_dim])
        return {text: _Reading(*entry) for text, *entry in zip(statements, probabilities, similar, strict=True)}

    def save(self, path: str | Path) -> None:
        """Write the weights as float32, and the data card with their SHA-256 as JSON of the same name beside them."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(path, {"weight": self.weight, "bias": torch.tensor([self.bias])})
        write_config(path.with_suffix(".json"), {DATA_CARD: self.data_card}, (path.name,))

    @classmethod
    def load(
        cls, path: str | Path = EMBEDDED_GATE, device: str | torch.device = "cpu", precision: Precision = "fp32"
    ) -> FindingGate:
        """Load a gate of the embedded encoder that `save` wrote.

        Raises:
            InputError: If a file is missing or invalid.
        """
        card = read_config(Path(path).with_suffix(".json"), {DATA_CARD}, files=(Path(path).name,))[DATA_CARD]
        state = load_tensors(path)
        shapes = {name: tuple(value.shape) for name, value in state.items()}
        encoder = TextEncoder(device=device, precision=precision)
        expected = {"weight": (2 * encoder.embedding_dim,), "bias": (1,)}
        if shapes != expected:
            raise InputError(f"{path}: Expected tensors of the shapes {expected} but got {shapes}. Fit the gate again.")
        return cls(state["weight"], state["bias"].item(), encoder, card)


@lru_cache(4)  # one per device and precision
def embedded_gate(device: str = "cpu", precision: Precision = "fp32") -> FindingGate:
    """Return the gate of the package, which all scorers share."""
    return FindingGate.load(device=device, precision=precision)


def states_finding(statement: str) -> bool:
    """Return True if the vocabulary reads a finding in a statement: present, uncertain or resolved.

    >>> [states_finding(text) for text in ("Possible nodule.", "The effusion has resolved.", "No effusion.")]
    [True, True, False]
    """
    return any(fact.is_stated for fact in sentence_facts(statement))


def unread_statements(statements: Iterable[str]) -> list[str]:
    """Return the distinct statements in which the vocabulary reads no finding although they may report one.

    >>> unread_statements(("No effusion.", "Mild effusion.", "Rotated film.", "Rotated film."))
    ['Rotated film.']
    """
    return [text for text in dict.fromkeys(statements) if may_report_finding(text) and not states_finding(text)]


def names_finding(statement: str) -> bool:
    """Return True if the lexicon has a word for an abnormality in a statement that does not deny it.

    >>> names_finding("Irregular contour of a rib."), names_finding("The patient was rotated.")
    (True, False)
    """
    return any(entity.type in FINDING_TYPES for entity in rule_entities(statement))


def statement_vectors(encoder: TextEncoder, statements: Sequence[str]) -> Tensor:
    """Return the (n, 2 d) vectors of n statements, see `FindingGate`. A long statement is truncated.

    >>> statement_vectors(TextEncoder(), ["Edema.", ""]).shape
    torch.Size([2, 768])
    """
    vectors = [torch.empty(0, 2 * encoder.embedding_dim)]
    for start in range(0, len(statements), _STATEMENTS_PER_BATCH):
        batch = statements[start : start + _STATEMENTS_PER_BATCH]
        encoded = encoder.encode(batch)
        vectors.append(torch.stack([_statement_vector(encoded[text]) for text in batch]))
    return torch.cat(vectors)


def _statement_vector(tokens: TokenEmbeddings) -> Tensor:
    content = tokens.vectors[tokens.content_mask]
    if not len(content):
        return tokens.vectors.new_zeros(2 * tokens.vectors.shape[1])
    return torch.cat([content.mean(0), content.amax(0)])
