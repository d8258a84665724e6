"""RadCliQ: four metrics put together by a linear model that was fitted to radiologists' error counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from radreward.errors import InputError
from radreward.scorers.base import SCORED_STATUSES, STATUS_OK, Scorer
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.scorers.radgraph import RadGraphF1
from radreward.scorers.stateless import FORMAT, StatelessScorer
from radreward.types import Scores

COMPONENTS = ("radgraph", "bertscore", "chexbert", "bleu_2")
CONFIG_NAME = "radcliq.json"
RadCliQVersion = Literal["v0", "v1"]
DISTILROBERTA_BASELINE = 0.8473319
"""Of F1 of distilroberta-base, layer 5, in the bert-score package."""


class LinearCombination(NamedTuple):
    """intercept + Σ_k coefficient_k (x_k - mean_k) / scale_k, the components in the order of `COMPONENTS`."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def __call__(self, values: Sequence[float]) -> float:
        """The predicted number of errors."""
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
"""As published with the paper (Yu et al., 2023)."""


class RadCliQBLEU2(StatelessScorer):
    """BLEU-2 as RadCliQ has it, by nltk, in [0, 1]: lower case, full stops apart, words split at spaces.

    Geometric mean of the shares of words and of pairs of words in common, times the brevity penalty; a count of 0 is
    0.1 (smoothing method 1).

    Raises:
        InputError: If nltk is not there.

    >>> RadCliQBLEU2().score(["No effusion."], ["no effusion ."]).total
    tensor([1.])
    """

    config_name = "bleu_radcliq.json"
    packages = ("nltk",)
    extra = "lexical"
    title = "BLEU-2 of RadCliQ"
    total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smooth = SmoothingFunction().method1
        return [
            float(sentence_bleu([_tokenize(one)], _tokenize(other), (0.5, 0.5), smooth))
            for one, other in zip(references, candidates, strict=True)
        ]


def _tokenize(text: str) -> list[str]:
    return [word for word in text.lower().replace(".", " .").split(" ") if word]


class RadCliQScorer(Scorer):
    """RadCliQ (Yu et al., 2023): the number of errors that four metrics together predict; lower is better.

    The published components are RadGraph F1, BERTScore of distilroberta-base (rescaled), the cosine of CheXbert and
    BLEU-2; others can be given, and the score is then RadCliQ's formula over those. The sub-scores are the components.
    A pair that one of them cannot score has no score.

    Args:
        version: v0 or v1 of the published constants.
        components: A scorer for each of `COMPONENTS`.

    Raises:
        ValueError: If there is no such version, or the components are others.

    >>> round(PUBLISHED["v1"]([1, 1, 1, 1]), 5)
    -1.44069
    """

    higher_is_better = False

    def __init__(self, version: RadCliQVersion, components: Mapping[str, Scorer]) -> None:
        if version not in PUBLISHED_WEIGHTS:
            raise ValueError(f"Expected `version` to be v0 or v1 but got {version!r}.")
        if set(components) != set(COMPONENTS):
            raise ValueError(f"Expected components {', '.join(COMPONENTS)} but got {', '.join(components)}.")
        if worse := [name for name, scorer in components.items() if not scorer.higher_is_better]:
            raise ValueError(f"Expected components of which higher is better but got {worse[0]!r}.")
        self.version = version
        self.components = {name: components[name] for name in COMPONENTS}
        self.title = f"RadCliQ-{version}"
        self.total_range = self._total_bound(1), self._total_bound(0)

    def _total_bound(self, side: int) -> float | None:
        """The score where every component has its lowest (0) or highest (1) value, if all have one."""
        linear = PUBLISHED_WEIGHTS[self.version]
        sides = [side if c < 0 else 1 - side for c in linear.coefficients]
        ends = [scorer.total_range[at] for scorer, at in zip(self.components.values(), sides, strict=True)]
        known = [end for end in ends if end is not None]
        return linear(known) if len(known) == len(ends) else None

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The components."""
        return COMPONENTS

    def fit_references(self, references: Iterable[str]) -> Scorer:
        """With components for the run."""
        texts = list(references)
        fitted = {name: scorer.fit_references(texts) for name, scorer in self.components.items()}
        same = all(fitted[name] is scorer for name, scorer in self.components.items())
        return self if same else RadCliQScorer(self.version, fitted)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        parts = {name: scorer.score(references, candidates) for name, scorer in self.components.items()}
        sub = torch.stack([scores.total.double() for scores in parts.values()], 1)
        total = torch.tensor([PUBLISHED_WEIGHTS[self.version](row) for row in sub.tolist()], dtype=torch.float64)
        status = []
        for row in range(len(references)):
            told = {name: scores.status[row] for name, scores in parts.items()}
            unscored = [f"{name}: {value}" for name, value in told.items() if value not in SCORED_STATUSES]
            cut = [value for value in told.values() if value != STATUS_OK]
            status.append((unscored or cut or [STATUS_OK])[0])
        return Scores(total.float(), sub.float(), None, tuple(status))

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        parts = [self.version, PUBLISHED_WEIGHTS[self.version], [one.fingerprint() for one in self.components.values()]]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`: a folder for each component."""
        folder = Path(folder)
        if folder.exists() and not (folder / CONFIG_NAME).is_file() and (folder.is_file() or any(folder.iterdir())):
            raise InputError(f"{folder}: Expected a folder that is new, empty or holds {CONFIG_NAME}.")
        for name, scorer in self.components.items():
            scorer.save_pretrained(folder / name)
        text = json.dumps({"format": FORMAT, "version": self.version})
        (folder / CONFIG_NAME).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: str = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
        version: RadCliQVersion = "v1",
        chexbert: str = "",
    ) -> RadCliQScorer:
        """What `save_pretrained` wrote; without a folder the published components.

        Args:
            folder: Where it is.
            precision: fp32 only.
            too_long: As of the components.
            device: Where encoders run.
            download: Whether encoders that are not on this machine may be fetched from the hub.
            version: Of the constants, without a folder.
            chexbert: The folder of CheXbert's weights, without a folder.

        Raises:
            InputError: If a component cannot be had, a file is missing or broken, or another precision is asked for.
        """
        settings: dict[str, Any] = {"too_long": on_too_long, "device": device, "download": allow_download}
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for RadCliQ but got {precision}.")
        if folder is None:
            return cls(
                version,
                {
                    "radgraph": RadGraphF1(),
                    "bertscore": BERTScore("distilroberta-base", 5, DISTILROBERTA_BASELINE, **settings),
                    "chexbert": CheXbertSimilarity(chexbert, **settings),
                    "bleu_2": RadCliQBLEU2(),
                },
            )
        from radreward.scorers import load

        path = Path(folder, CONFIG_NAME)
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: Expected the settings of a RadCliQ ({error}).") from error
        if (
            not isinstance(saved, dict)
            or saved.get("format") != FORMAT
            or saved.get("version") not in PUBLISHED_WEIGHTS
        ):
            raise InputError(f"{path}: Expected `format` {FORMAT} and `version` v0 or v1.")
        return cls(saved["version"], {name: load(Path(folder, name), **settings) for name in COMPONENTS})
