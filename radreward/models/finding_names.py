"""Names and descriptions of findings as vectors: the finding whose name is most similar to the words of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, load_tensors, save_tensors
from radreward.io.model_config import read_config, write_config
from radreward.text.finding_states import STATES
from radreward.text.findings import FINDINGS
from radreward.text.read_names import READ_NAMES

EMBEDDED_NAMES = Path(__file__).with_name("embedded") / "finding_names.safetensors"
_FINDINGS, _VERSION = "findings", "names"
_TENSORS = ("vectors", "center", "projection")

NAMES_PER_FINDING = 3
"""Number of the most similar names of a finding whose mean cosine is its similarity: one name may be similar by chance.
"""
_BELOW_ANY = -2.0
"""Less than any cosine: of a name that has been counted, or of none."""
NEAR_SIMILARITY, NEAR_MARGIN, NEAR_COUNT = 0.45, 0.1, 6
"""Lowest similarity of names that a statement may mean, the largest distance to the most similar one, and their number.
"""


class SimilarName(NamedTuple):
    """The finding whose names are most similar to a statement, and those that are nearly as similar."""

    finding: str
    """Empty if a statement without a finding is more similar."""
    similarity: float
    """Mean cosine with its most similar names, see `NAMES_PER_FINDING`; at most 1."""
    near: tuple[str, ...] = ()
    """Findings that the statement may mean, see `NEAR_SIMILARITY`, the most similar first."""


class FindingNames:
    """Vectors of names and descriptions, by the frozen encoder of `FindingGate` and a linear projection.

    A statement with the mean vector v of its tokens becomes z = W (v - center) / |W (v - center)|. The projection W is
    fitted so that what names the same finding is similar, whatever else is said about it. Statements in words that the
    vocabulary does not know are then often similar to a name: "Gas between the liver and the diaphragm" to that of free
    air. Among the names are statements without a finding, of technique and the like.

    Args:
        vectors: (n, k) projected vectors, of length 1.
        findings: Keys of the findings of the n names; empty for a statement without one.
        center: (d,) that is subtracted from the vector of a statement.
        projection: (k, d) weights W.
        version: Hash of the names.
    """

    def __init__(
        self, vectors: Tensor, findings: Sequence[str], center: Tensor, projection: Tensor, version: str
    ) -> None:
        self.vectors, self.findings, self.version = vectors.float(), tuple(findings), version
        self.center, self.projection = center.float(), projection.float()
        self.keys = sorted(set(findings))
        self._columns = torch.tensor([self.keys.index(finding) for finding in findings])

    @classmethod
    def of_means(
        cls, means: Tensor, findings: Sequence[str], center: Tensor, projection: Tensor, version: str
    ) -> FindingNames:
        """Return the names with the given mean vectors of their tokens, (n, d)."""
        vectors = F.normalize((means - center) @ projection.T, dim=1)
        return cls(vectors, findings, center, projection, version)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of vectors, findings and projection."""
        return fingerprint(self.vectors, self.center, self.projection, list(self.findings))

    def most_similar(self, means: Tensor) -> list[SimilarName]:
        """Return the finding whose names are most similar to each statement, and those that are nearly as similar.

        Args:
            means: (m, d) mean vectors of the tokens of m statements, of any length.

        >>> names = FindingNames(torch.eye(2), ["edema", "effusion"], torch.zeros(2), torch.eye(2), "")
        >>> names.most_similar(torch.tensor([[0.0, 3.0]]))
        [SimilarName(finding='effusion', similarity=1.0, near=('effusion',))]
        """
        projected = F.normalize((means - self.center) @ self.projection.T, dim=1)
        similarities = self._similarities_of_findings(projected @ self.vectors.T)
        values, columns = similarities.topk(min(NEAR_COUNT, len(self.keys)), dim=1)
        return [self._similar_name(*row) for row in zip(values.tolist(), columns.tolist(), strict=True)]

    def _similarities_of_findings(self, similarities: Tensor) -> Tensor:
        """Return the (m, number of findings) means of the largest similarities among the (m, n) of names.

        Equal similarities of a finding count once: they are those of equal names.
        """
        columns = self._columns.expand(len(similarities), -1)
        empty = similarities.new_full((len(similarities), len(self.keys)), _BELOW_ANY)
        largest = total = empty.scatter_reduce(1, columns, similarities, "amax")
        for _ in range(NAMES_PER_FINDING - 1):
            similarities = similarities.masked_fill(similarities >= largest.gather(1, columns), _BELOW_ANY)
            following = empty.scatter_reduce(1, columns, similarities, "amax")
            largest = torch.where(following > _BELOW_ANY, following, largest)  # a finding may have fewer names
            total = total + largest
        return total / NAMES_PER_FINDING

    def _similar_name(self, values: Sequence[float], columns: Sequence[int]) -> SimilarName:
        lowest = max(NEAR_SIMILARITY, values[0] - NEAR_MARGIN)
        near = (self.keys[column] for value, column in zip(values, columns, strict=True) if value >= lowest)
        return SimilarName(self.keys[columns[0]], values[0], tuple(filter(None, near)))

    def save(self, path: Path) -> None:
        """Write vectors and projection as float16, and the findings as JSON of the same name beside them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        halves = {name: getattr(self, name).half() for name in _TENSORS}
        save_tensors(path, {**halves, "findings": self._columns.int()})
        write_config(path.with_suffix(".json"), {_FINDINGS: self.keys, _VERSION: self.version}, (path.name,))

    @classmethod
    def load(cls, path: Path = EMBEDDED_NAMES) -> FindingNames:
        """Load what `save` wrote.

        Raises:
            InputError: If a file is missing or invalid, or names an unknown finding.
        """
        config = read_config(path.with_suffix(".json"), {_FINDINGS, _VERSION}, files=(path.name,))
        state = load_tensors(path)
        keys = config[_FINDINGS]
        if unknown := [key for key in keys if key and key not in FINDINGS]:
            raise InputError(f"{path}: Expected known findings but got {unknown[0]!r}. Make the vectors again.")
        findings = [keys[row] for row in state["findings"].tolist()]
        return cls(findings=findings, version=config[_VERSION], **{name: state[name] for name in _TENSORS})


@lru_cache(1)
def embedded_names() -> FindingNames:
    """Return the names of the package."""
    return FindingNames.load()


def known_names() -> dict[str, str]:
    """Return the names, and the sentences for states of organs, in lowercase → key of the finding.

    >>> known_names()["pleural effusion"], known_names()["the left lung has collapsed."]
    ('effusion', 'collapse')
    """
    names = {name.lower(): key for key, finding in FINDINGS.items() for name in finding.plain_names}
    names |= {name.removeprefix("*"): key for name, key in READ_NAMES.items()}
    states = ((key, sentence) for key, sentences in STATES.items() for sentence in sentences)
    return names | {
        " ".join(sentence.replace("{side}", "left").replace("{adverb}", "").split()).lower(): key
        for key, sentence in states
    }


def names_version(names: Mapping[str, str]) -> str:
    """Return a hash of names and findings."""
    return fingerprint(dict(sorted(names.items())))
