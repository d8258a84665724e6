"""RadCliQ: a linear combination of four metrics, fitted to radiologists' error counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import read_config
from radreward.models.precision import require_fp32
from radreward.scorers.base import Scorer
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.scorers.loading import load
from radreward.scorers.radgraph import RadGraphF1
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import SCORED_STATUSES, STATUS_OK
from radreward.types import Scores

COMPONENTS = ("radgraph", "bertscore", "chexbert", "bleu_2")
_CONFIG_NAME = "radcliq.json"
RadCliQVersion = Literal["v0", "v1"]
_DISTILROBERTA_BASELINE = 0.8473319
"""BERTScore baseline of F1 with distilroberta-base, layer 5, from the bert-score package."""


class LinearCombination(NamedTuple):
    """intercept + Σ_k coefficient_k (x_k - mean_k) / scale_k, with components in the order of `COMPONENTS`."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def __call__(self, values: Sequence[float]) -> float:
        """Return the predicted number of errors."""
        parts = zip(values, self.mean, self.scale, self.coefficients, strict=True)
        return self.intercept + sum(c * (value - mean) / scale for value, mean, scale, c in parts)


PUBLISHED_WEIGHTS: dict[RadCliQVersion, LinearCombination] = {
    "v0": LinearCombination(
        (0.5398376019082272, 0.6312549595000001, 0.7716797866672277, 0.4607372064809605),
        (0.3018344440559102, 0.22466950746141123, 0.24750333805236252, 0.30336670936092264),
        (-0.4796252644863446, -0.6762170542369337, -0.46366575161751994, 0.2165861905287535),
        1.641666666666666,
    ),
    "v1": LinearCombination(
        (0.5379231241355762, 0.6175725628125001, 0.7647942121140658, 0.44738335396242174),
        (0.3028258411486429, 0.22430938459304575, 0.2539439110169773, 0.2989271671041838),
        (-0.37708368261038905, -0.37030009974480316, -0.25261621789593225, 4.315048405024756e-12),
        2.466552561323256e-10,
    ),
}
"""Weights published with the paper (Yu et al., 2023)."""


class RadCliQBLEU2(StatelessScorer):
    """BLEU-2 as used by RadCliQ, by nltk, in [0, 1]: lowercase, full stops separated, words split at spaces.

    Geometric mean of the precisions of words and word pairs, times the brevity penalty; a count of 0 becomes 0.1
    (smoothing method 1).

    Raises:
        InputError: If nltk is not installed.

    >>> RadCliQBLEU2().score(["No effusion."], ["no effusion ."]).total
    tensor([1.])
    """

    config_name = "radcliq_bleu.json"
    packages = ("nltk",)
    title = "BLEU-2 of RadCliQ"
    total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.compute_totals`."""
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smoothing = SmoothingFunction().method1
        return [
            float(sentence_bleu([_tokenize(reference)], _tokenize(candidate), (0.5, 0.5), smoothing))
            for reference, candidate in zip(references, candidates, strict=True)
        ]


def _tokenize(text: str) -> list[str]:
    return [word for word in text.lower().replace(".", " .").split(" ") if word]


class RadCliQScorer(Scorer):
    """RadCliQ (Yu et al., 2023): number of errors predicted from four metrics; lower is better.

    The published components are RadGraph F1, BERTScore of distilroberta-base (rescaled), CheXbert similarity and
    BLEU-2; the published weights are also applied to other components. Sub-scores are the components. A pair without a
    score in one component has no score. The combination is tested against published values. Scores of reports are not
    tested, because the weights of RadGraph and CheXbert were not available.

    Args:
        version: Version of the published weights, v0 or v1.
        components: A scorer for each of `COMPONENTS`.

    Raises:
        ValueError: If the version is unknown, or the components differ from `COMPONENTS`.

    >>> round(PUBLISHED_WEIGHTS["v1"]([1, 1, 1, 1]), 5)
    -1.44069
    """

    higher_is_better = False

    def __init__(self, version: RadCliQVersion, components: Mapping[str, Scorer]) -> None:
        if version not in PUBLISHED_WEIGHTS:
            raise ValueError(f"Expected `version` to be v0 or v1 but got {version!r}.")
        if set(components) != set(COMPONENTS):
            raise ValueError(f"Expected components {', '.join(COMPONENTS)} but got {', '.join(components)}.")
        if inverted := [name for name, scorer in components.items() if not scorer.higher_is_better]:
            raise ValueError(f"Expected higher to be better for every component but got {inverted[0]!r}.")
        self.version = version
        self.components = {name: components[name] for name in COMPONENTS}
        self.title = f"RadCliQ-{version}"
        self.total_range = self._total_bound(1), self._total_bound(0)

    def _total_bound(self, side: int) -> float | None:
        """Return the score for the worst (0) or best (1) value of every component; None if one is unbounded."""
        linear = PUBLISHED_WEIGHTS[self.version]
        sides = [side if c < 0 else 1 - side for c in linear.coefficients]
        ends = [scorer.total_range[end] for scorer, end in zip(self.components.values(), sides, strict=True)]
        bounded = [end for end in ends if end is not None]
        return linear(bounded) if len(bounded) == len(ends) else None

    @property
    def sub_names(self) -> tuple[str, ...]:
        """See `Scorer.sub_names`: the components."""
        return COMPONENTS

    @property
    def chunk_size(self) -> int:
        """See `Scorer.chunk_size`: that of the slowest component."""
        return min(scorer.chunk_size for scorer in self.components.values())

    def fit_references(self, references: Iterable[str]) -> Scorer:
        """See `Scorer.fit_references`: fits the components."""
        texts = list(references)
        fitted = {name: scorer.fit_references(texts) for name, scorer in self.components.items()}
        unchanged = all(fitted[name] is scorer for name, scorer in self.components.items())
        return self if unchanged else RadCliQScorer(self.version, fitted)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        parts = {name: scorer.score(references, candidates) for name, scorer in self.components.items()}
        sub_scores = torch.stack([scores.total.double() for scores in parts.values()], 1)
        linear = PUBLISHED_WEIGHTS[self.version]
        total = torch.tensor([linear(row) for row in sub_scores.tolist()], dtype=torch.float64)
        rows = [_joint_status(parts, row) for row in range(len(references))]
        status, fields = tuple(status for status, _ in rows), tuple(field for _, field in rows)
        return Scores(total.float(), sub_scores.float(), None, status, status_fields=fields)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        parts = [scorer.fingerprint() for scorer in self.components.values()]
        return fingerprint(self.version, PUBLISHED_WEIGHTS[self.version], parts)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`: one subfolder per component."""
        with atomic_folder(folder, {_CONFIG_NAME}, _CONFIG_NAME) as scratch:
            for name, scorer in self.components.items():
                scorer.save_pretrained(scratch / name)
            write_model_settings(scratch / _CONFIG_NAME, {"version": self.version})

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: str = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
        version: RadCliQVersion = "v1",
        chexbert: str = "",
    ) -> RadCliQScorer:
        """Load a saved scorer, or build one with the published components.

        Args:
            folder: Folder of a saved scorer; None for the published components.
            precision: Must be fp32.
            on_too_long: "reject" or "truncate", see the components.
            device: Device of the encoders.
            allow_download: Download encoders that are not on this machine.
            version: Version of the weights, without a folder.
            chexbert: Folder of CheXbert's weights, without a folder.

        Raises:
            InputError: If a component cannot be loaded, a file is missing or invalid, or `precision` is not fp32.
        """
        settings: dict[str, Any] = {"on_too_long": on_too_long, "device": device, "allow_download": allow_download}
        require_fp32(precision, "RadCliQ")
        if folder is None:
            return cls(
                version,
                {
                    "radgraph": RadGraphF1(device=device, allow_download=allow_download),
                    "bertscore": published_bertscore(**settings),
                    "chexbert": CheXbertSimilarity(chexbert, **settings),
                    "bleu_2": RadCliQBLEU2(),
                },
            )
        path = Path(folder, _CONFIG_NAME)
        saved = read_config(path, {"version"})["version"]
        if not isinstance(saved, str) or saved not in PUBLISHED_WEIGHTS:
            raise InputError(f"{path}: Expected `version` to be v0 or v1 but got {saved!r}.")
        return cls(saved, {name: load(Path(folder, name), **settings) for name in COMPONENTS})


def published_bertscore(**settings: Any) -> BERTScore:
    """Return the BERTScore of RadCliQ: distilroberta-base, layer 5, rescaled; for `settings` see `EmbeddingScorer`.

    Raises:
        InputError: If the encoder cannot be loaded.
    """
    return BERTScore("distilroberta-base", 5, _DISTILROBERTA_BASELINE, **settings)


def _joint_status(parts: Mapping[str, Scores], row: int) -> tuple[str, str | None]:
    """Return status and field of the first component without a score, else of the first whose status is not ok."""
    remarks = [
        (name, scores.status[row], scores.status_fields[row] if scores.status_fields else None)
        for name, scores in parts.items()
        if scores.status[row] != STATUS_OK
    ]
    for name, status, field in remarks:
        if status not in SCORED_STATUSES:
            return f"{name}: {status}", field
    return remarks[0][1:] if remarks else (STATUS_OK, None)
