"""Names of findings as vectors: the finding whose name is most similar to the words of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
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


NEAR_SIMILARITY, NEAR_MARGIN, NEAR_COUNT = 0.5, 0.1, 6
"""Lowest similarity of names that a statement may mean, the largest distance to the most similar one, and their number.
"""


class SimilarName(NamedTuple):
    """The finding whose name is most similar to a statement, and those that are nearly as similar."""

    finding: str
    """Empty if a statement without a finding is more similar."""
    similarity: float
    """Cosine of the vectors, at most 1."""
    near: tuple[str, ...] = ()
    """Findings that the statement may mean, see `NEAR_SIMILARITY`, the most similar first."""


class FindingNames:
    """Vectors of names, by the frozen encoder of `FindingGate`.

    Statements in words that the vocabulary does not know are often similar to a name: "Gas between the liver and the
    diaphragm" to that of free air. Among the names are statements without a finding, of technique and the like.

    Args:
        vectors: (n, d) of length 1.
        findings: Keys of the findings of the n names; empty for a statement without one.
        version: Hash of the names.
    """

    def __init__(self, vectors: Tensor, findings: Sequence[str], version: str) -> None:
        self.vectors, self.findings, self.version = vectors.float(), tuple(findings), version
        self.keys = sorted(set(findings))
        self._columns = torch.tensor([self.keys.index(finding) for finding in findings])

    def most_similar(self, means: Tensor) -> list[SimilarName]:
        """Return the most similar name of each statement.

        Args:
            means: (m, d) mean vectors of the tokens of m statements, of any length.

        >>> names = FindingNames(torch.eye(2), ["edema", "effusion"], "")
        >>> names.most_similar(torch.tensor([[0.0, 3.0]]))
        [SimilarName(finding='effusion', similarity=1.0, near=('effusion',))]
        """
        similarities = F.normalize(means, dim=1) @ self.vectors.T
        best = similarities.new_full((len(means), len(self.keys)), -1.0)
        best.scatter_reduce_(1, self._columns.expand(len(means), -1), similarities, "amax")  # (m, number of findings)
        values, columns = best.topk(min(NEAR_COUNT, len(self.keys)), dim=1)
        return [self._similar_name(*row) for row in zip(values.tolist(), columns.tolist(), strict=True)]

    def _similar_name(self, values: Sequence[float], columns: Sequence[int]) -> SimilarName:
        lowest = max(NEAR_SIMILARITY, values[0] - NEAR_MARGIN)
        near = (self.keys[column] for value, column in zip(values, columns, strict=True) if value >= lowest)
        return SimilarName(self.keys[columns[0]], values[0], tuple(filter(None, near)))

    def save(self, path: Path) -> None:
        """Write the vectors as float16, and the findings as JSON of the same name beside them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(path, {"vectors": self.vectors.half(), "findings": self._columns.int()})
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
        return cls(state["vectors"], [keys[row] for row in state["findings"].tolist()], config[_VERSION])


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
