"""A classifier of statements on a frozen encoder: the probability that one reports a finding, and which finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, load_tensors, save_tensors
from radreward.io.lru_cache import BatchLRUCache
from radreward.io.model_config import read_config, write_config
from radreward.models.precision import Precision
from radreward.models.text_encoder import TextEncoder
from radreward.text.entities import FINDING_TYPES, rule_entities
from radreward.text.findings import FINDINGS
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.text.standard_wording import may_report_finding
from radreward.text.unstated import is_normal_or_past, reports_nothing

EMBEDDED_CLASSIFIER = Path(__file__).with_name("embedded") / "finding_classifier.safetensors"
DATA_CARD, KEYS = "data_card", "findings"
OTHER = "other"
"""In place of the key of a finding: one without a key, or an abnormality that a statement does not specify."""
LAYERS = (0, 6)
"""Layers of the embedded encoder whose vectors are read: the embeddings know words, the last layer their sense."""
HIDDEN_SIZE = 1024
INPUT_DROPOUT, HIDDEN_DROPOUT = 0.1, 0.3
NEAR_RATIO, NEAR_COUNT = 0.1, 6
"""Lowest share of a finding that a statement may mean, relative to the largest one, and their largest number."""
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
"""To take a statement for the most probable finding; statements of technique and limits may name one."""


class Reading(NamedTuple):
    """Answer of the classifier for one statement."""

    probability: float
    """Probability that it reports a finding, in [0, 1]."""
    finding: str
    """The most probable finding, `OTHER` excluded."""
    share: float
    """Its part of the probability of all findings, `OTHER` included, in (0, 1]."""
    near: tuple[str, ...]
    """Findings that it may mean, see `NEAR_RATIO`, if more probable than `OTHER`; the most probable one is first."""


class FindingClassifier:
    """Probability that a statement reports a finding, rather than naming one or describing the examination, and which.

    p = softmax(W2 gelu(W1 v + b1) + b2) over no finding, the findings and `OTHER`, where v is the mean of the vectors
    of the tokens of a statement, special tokens excluded, by the `LAYERS` of a frozen encoder. The probability that a
    statement reports a finding is 1 - p[0], and 0 for a statement without known words.

    Statements of denials, normal states, technique, image quality, limits, artefacts, advice and indications have low
    probabilities. Statements in words that the vocabulary does not know are recognized by their sense: "Gas between the
    liver and the diaphragm" as free air. Each distinct statement is encoded once; what the last `CACHED_SENTENCES`
    statements report is kept.

    Args:
        network: A `classifier_network`.
        findings: Keys of the findings and `OTHER`, in the order of the outputs after that of no finding.
        encoder: The encoder.
        data_card: Metadata of the fit, stored for information only.

    >>> classifier = FindingClassifier.load()
    >>> (classifier.probabilities(["Nodule in the left upper lobe.", "The image is of good quality."]) > 0.5).tolist()
    [True, False]
    """

    def __init__(
        self, network: nn.Sequential, findings: Sequence[str], encoder: TextEncoder, data_card: dict[str, Any]
    ) -> None:
        self.network, self.findings = network.eval().requires_grad_(False), tuple(findings)
        self.encoder, self.data_card = encoder, data_card
        self._cache = BatchLRUCache[Reading](CACHED_SENTENCES)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of weights, findings and encoder."""
        return fingerprint(self.network.state_dict(), list(self.findings), self.encoder.fingerprint)

    def readings(self, statements: Iterable[str]) -> dict[str, Reading]:
        """Return what each distinct statement reports.

        >>> text = "Gas between the liver and the right diaphragmatic dome."
        >>> FindingClassifier.load().readings([text])[text].finding
        'freeair'
        """
        return self._cache.get_or_compute(statements, self._compute)

    def probabilities(self, statements: Sequence[str]) -> Tensor:
        """Return the (n,) float32 probabilities that n statements report a finding, in [0, 1]."""
        found = self.readings(statements)
        return torch.tensor([found[text].probability for text in statements], dtype=torch.float32)

    def reporting(self, statements: Iterable[str], limits: Limits = PROBABLE) -> frozenset[str]:
        """Return the statements that report a finding, by the vocabulary or by the encoder.

        A statement reports a finding if the vocabulary reads one in it: present, uncertain or resolved. Of the others,
        those that only deny findings or call body parts normal report none, see `may_report_finding`. The rest is
        encoded, and reports one if its probability is within the limits.

        >>> texts = ("No effusion.", "Mild effusion.", "Tree-in-bud pattern in the left base.", "Rotated film.")
        >>> sorted(FindingClassifier.load().reporting(texts))
        ['Mild effusion.', 'Tree-in-bud pattern in the left base.']
        """
        distinct = dict.fromkeys(statements)
        return frozenset(filter(states_finding, distinct)) | self.in_other_words(distinct, limits)

    def in_other_words(self, statements: Iterable[str], limits: Limits = PROBABLE) -> frozenset[str]:
        """Return the statements that report a finding by the encoder alone, in words that the vocabulary does not know.

        >>> sorted(FindingClassifier.load().in_other_words(("Mild effusion.", "Feathery strands at the left base.")))
        ['Feathery strands at the left base.']
        """
        unread = unread_statements(statements)
        return frozenset(unread) - self.dismissed(unread, limits)

    def dismissed(self, unread: Sequence[str], limits: Limits) -> frozenset[str]:
        """Return those statements, such as the `unread_statements`, whose probability is below the limits.

        The limits of a statement that calls something normal are at least `PROBABLE`. One of advice or image quality is
        always among them.
        """
        return frozenset(
            text for text, found in self.readings(unread).items() if found.probability < _limit(text, limits)
        )

    def _compute(self, statements: list[str]) -> dict[str, Reading]:
        vectors = statement_vectors(self.encoder, statements)
        logits = self.network(vectors)
        probabilities = -logits.log_softmax(1)[:, 0].expm1() * vectors.any(1)
        shares, columns = logits[:, 1:].softmax(1).topk(min(NEAR_COUNT + 1, len(self.findings)), dim=1)
        rows = zip(probabilities.tolist(), shares.tolist(), columns.tolist(), strict=True)
        return dict(zip(statements, starmap(self._reading, rows), strict=True))

    def _reading(self, probability: float, shares: Sequence[float], columns: Sequence[int]) -> Reading:
        parts = dict(zip((self.findings[column] for column in columns), shares, strict=True))
        other = parts.pop(OTHER, 0.0)
        (finding, share), *_ = largest = list(parts.items())[:NEAR_COUNT]
        near = (key for key, part in largest if part >= NEAR_RATIO * share and part > other)
        return Reading(probability, finding, share, tuple(near))

    def save(self, path: str | Path) -> None:
        """Write the weights as float16, and findings and data card with their SHA-256 as JSON of the same name."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(path, {name: value.half() for name, value in self.network.state_dict().items()})
        config = {DATA_CARD: self.data_card, KEYS: list(self.findings)}
        write_config(path.with_suffix(".json"), config, (path.name,))

    @classmethod
    def load(
        cls, path: str | Path = EMBEDDED_CLASSIFIER, device: str | torch.device = "cpu", precision: Precision = "fp32"
    ) -> FindingClassifier:
        """Load a classifier on the embedded encoder that `save` wrote.

        Raises:
            InputError: If a file is missing or invalid, or names an unknown finding.
        """
        config = read_config(Path(path).with_suffix(".json"), {DATA_CARD, KEYS}, files=(Path(path).name,))
        keys, state = config[KEYS], load_tensors(path)
        if unknown := [key for key in keys if key != OTHER and key not in FINDINGS]:
            raise InputError(f"{path}: Expected known findings but got {unknown[0]!r}. Fit the classifier again.")
        encoder = TextEncoder(layer=LAYERS, device=device, precision=precision)
        network = classifier_network(encoder.embedding_dim, len(keys))
        expected, shapes = (
            {name: tuple(value.shape) for name, value in tensors.items()} for tensors in (network.state_dict(), state)
        )
        if shapes != expected:
            raise InputError(
                f"{path}: Expected tensors of the shapes {expected} but got {shapes}. Fit the classifier again."
            )
        network.load_state_dict({name: value.float() for name, value in state.items()})
        return cls(network, keys, encoder, config[DATA_CARD])


def classifier_network(input_size: int, findings: int) -> nn.Sequential:
    """Return the layers of a `FindingClassifier`: (n, input_size) vectors → (n, 1 + findings) logits.

    >>> classifier_network(8, 3)(torch.zeros(2, 8)).shape
    torch.Size([2, 4])
    """
    return nn.Sequential(
        nn.Dropout(INPUT_DROPOUT),
        nn.Linear(input_size, HIDDEN_SIZE),
        nn.GELU(),
        nn.Dropout(HIDDEN_DROPOUT),
        nn.Linear(HIDDEN_SIZE, 1 + findings),
    )


def embedded_classifier(device: str = "cpu", precision: Precision = "fp32") -> FindingClassifier:
    """Return the classifier of the package, which all scorers of a device and a precision share."""
    return _embedded_classifier(device, precision)


@lru_cache(4)
def _embedded_classifier(device: str, precision: Precision) -> FindingClassifier:
    return FindingClassifier.load(device=device, precision=precision)


def _limit(statement: str, limits: Limits) -> float:
    """Return the lowest probability at which a statement counts."""
    if reports_nothing(statement):
        return math.inf
    if is_normal_or_past(statement):
        limits = Limits(*map(max, limits, PROBABLE))
    return limits.named if names_finding(statement) else limits.unknown


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
    """Return the (n, d) mean vectors of the tokens of n statements; 0 without tokens. A long statement is truncated.

    >>> statement_vectors(TextEncoder(), ["Edema.", ""]).shape
    torch.Size([2, 384])
    """
    vectors = [torch.empty(0, encoder.embedding_dim)]
    for start in range(0, len(statements), _STATEMENTS_PER_BATCH):
        batch = statements[start : start + _STATEMENTS_PER_BATCH]
        encoded = encoder.encode(batch)
        content = (encoded[text].vectors[encoded[text].content_mask] for text in batch)
        vectors.append(torch.stack([rows.sum(0) / max(len(rows), 1) for rows in content]))
    return torch.cat(vectors)
