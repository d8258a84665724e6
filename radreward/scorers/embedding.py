"""Reports as the states of an encoder: BERTScore, and the cosine of CheXbert."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import torch

from radreward.models import text_encoder as text_states
from radreward.models.text_encoder import States, TextEncoder, bertscore
from radreward.scorers.base import OK, TRUNCATED
from radreward.scorers.stateless import PlainScorer
from radreward.types import Scores

WINDOW = 256
"""Pairs whose states are held at a time."""


class EncodedScorer(PlainScorer):
    """Scores two texts by their states; equal texts are encoded once, and texts of equal length together.

    Args:
        encoder: `embedded` (MiniLM), `tiny-bert`, a local folder or a hub name.
        layer: Whose states are taken, 0 those of the embeddings; the last where none is given.
        too_long: Reject texts over the encoder's limit with a status, or read their beginning.
        device: Where it runs.
        download: Whether an encoder that is not on this machine may be fetched from the hub.

    Raises:
        ValueError: If there is no such layer, or `too_long` is unknown.
        InputError: If there is no such encoder.
    """

    uses = (text_states,)

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        download: bool = False,
    ) -> None:
        super().__init__()
        if too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {too_long!r}.")
        self.encoder, self.layer, self.too_long = encoder, layer, too_long
        self._encoder = TextEncoder(encoder, layer, device, download)
        self.limit = self._encoder.limit

    @abstractmethod
    def compare(self, reference: States, candidate: States) -> float:
        """The score of two texts; called for each pair."""

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {"encoder": self.encoder, "layer": self.layer}

    def code(self) -> str:
        """See `PlainScorer.code`; the weights too."""
        return f"{super().code()} {self._encoder.fingerprint} {self.too_long}"

    def values(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `PlainScorer.values`."""
        return self.score_texts(references, candidates).total.tolist()

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        total: list[float] = []
        status: list[str] = []
        for begin in range(0, len(references), WINDOW):
            rows = list(zip(references[begin : begin + WINDOW], candidates[begin : begin + WINDOW], strict=True))
            known = self._encoder.encode([text for row in rows for text in row])
            for reference, candidate in rows:
                cut = known[reference].cut or known[candidate].cut
                rejected = cut and self.too_long == "reject"
                total.append(float("nan") if rejected else self.compare(known[reference], known[candidate]))
                over = f"over the limit: Expected reports of at most {self.limit} tokens"
                status.append(over if rejected else TRUNCATED if cut else OK)
        return Scores(torch.tensor(total, dtype=torch.float32), None, None, tuple(status))


class BERTScore(EncodedScorer):
    """BERTScore F1 (Zhang et al., 2020), without idf, by any encoder; in [-1, 1] before rescaling, see `bertscore`.

    Args:
        encoder: See `EncodedScorer`.
        layer: See `EncodedScorer`.
        baseline: b of the rescaling (F - b) / (1 - b); none where nothing is given.
        too_long: See `EncodedScorer`.
        device: See `EncodedScorer`.
        download: See `EncodedScorer`.

    Raises:
        ValueError: If `baseline` is not in [0, 1), or as of `EncodedScorer`.
        InputError: If there is no such encoder.
    """

    file = "bertscore.json"

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        baseline: float | None = None,
        too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        download: bool = False,
    ) -> None:
        if baseline is not None and not 0 <= baseline < 1:
            raise ValueError(f"Expected `baseline` to be in [0, 1) but got {baseline}.")
        self.title = f"BERTScore ({'MiniLM' if encoder == 'embedded' else encoder.rstrip('/').rsplit('/', 1)[-1]})"
        super().__init__(encoder, layer, too_long, device, download)
        self.baseline = baseline
        self.range = (self._rescaled(-1.0), 1.0)

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {**super().settings(), "baseline": self.baseline}

    def compare(self, reference: States, candidate: States) -> float:
        """See `EncodedScorer.compare`."""
        return self._rescaled(bertscore(reference, candidate))

    def _rescaled(self, value: float) -> float:
        return value if self.baseline is None else (value - self.baseline) / (1 - self.baseline)


class EmbeddingCosine(EncodedScorer):
    """Cosine of the first tokens' states of two reports, in [-1, 1]; with the weights of CheXbert its similarity.

    Args:
        encoder: The folder of the weights, as transformers saves them, or as of `EncodedScorer`.
        layer: See `EncodedScorer`.
        too_long: See `EncodedScorer`.
        device: See `EncodedScorer`.
        download: See `EncodedScorer`.
    """

    file = "chexbert.json"
    title = "CheXbert cosine"
    range = (-1.0, 1.0)

    def compare(self, reference: States, candidate: States) -> float:
        """See `EncodedScorer.compare`."""
        return min(1.0, float(reference.vectors[0] @ candidate.vectors[0]))
