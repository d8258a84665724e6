"""Reports as the states of an encoder: BERTScore, and the cosine of CheXbert."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import torch

from radreward.models import text_encoder as text_states
from radreward.models.text_encoder import TextEncoder, TokenEmbeddings, bertscore
from radreward.scorers.base import STATUS_OK, STATUS_TRUNCATED
from radreward.scorers.stateless import StatelessScorer
from radreward.types import Scores

CHUNK_SIZE = 256
"""Pairs whose states are held at a time."""


class EmbeddingScorer(StatelessScorer):
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

    source_modules = (text_states,)

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
    ) -> None:
        super().__init__()
        if on_too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {on_too_long!r}.")
        self.encoder, self.layer, self.on_too_long = encoder, layer, on_too_long
        self._encoder = TextEncoder(encoder, layer, device, allow_download)
        self.max_tokens = self._encoder.max_length

    @abstractmethod
    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """The score of two texts; called for each pair."""

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {"encoder": self.encoder, "layer": self.layer}

    def code_version(self) -> str:
        """See `StatelessScorer.code`; the weights too."""
        return f"{super().code_version()} {self._encoder.fingerprint} {self.on_too_long}"

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        return self._score_valid(references, candidates).total.tolist()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        total: list[float] = []
        status: list[str] = []
        for begin in range(0, len(references), CHUNK_SIZE):
            rows = list(
                zip(references[begin : begin + CHUNK_SIZE], candidates[begin : begin + CHUNK_SIZE], strict=True)
            )
            known = self._encoder.encode([text for row in rows for text in row])
            for reference, candidate in rows:
                cut = known[reference].truncated or known[candidate].truncated
                rejected = cut and self.on_too_long == "reject"
                total.append(float("nan") if rejected else self.similarity(known[reference], known[candidate]))
                over = f"over the limit: Expected reports of at most {self.max_tokens} tokens"
                status.append(over if rejected else STATUS_TRUNCATED if cut else STATUS_OK)
        return Scores(torch.tensor(total, dtype=torch.float32), None, None, tuple(status))


class BERTScore(EmbeddingScorer):
    """BERTScore F1 (Zhang et al., 2020), without idf, by any encoder; in [-1, 1] before rescaling, see `bertscore`.

    Args:
        encoder: See `EmbeddingScorer`.
        layer: See `EmbeddingScorer`.
        baseline: b of the rescaling (F - b) / (1 - b); none where nothing is given.
        too_long: See `EmbeddingScorer`.
        device: See `EmbeddingScorer`.
        download: See `EmbeddingScorer`.

    Raises:
        ValueError: If `baseline` is not in [0, 1), or as of `EmbeddingScorer`.
        InputError: If there is no such encoder.
    """

    config_name = "bertscore.json"

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        baseline: float | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
    ) -> None:
        if baseline is not None and not 0 <= baseline < 1:
            raise ValueError(f"Expected `baseline` to be in [0, 1) but got {baseline}.")
        self.title = f"BERTScore ({'MiniLM' if encoder == 'embedded' else encoder.rstrip('/').rsplit('/', 1)[-1]})"
        super().__init__(encoder, layer, on_too_long, device, allow_download)
        self.baseline = baseline
        self.total_range = (self._rescale(-1.0), 1.0)

    def settings(self) -> dict[str, Any]:
        """See `StatelessScorer.settings`."""
        return {**super().settings(), "baseline": self.baseline}

    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """See `EmbeddingScorer.compare`."""
        return self._rescale(bertscore(reference, candidate))

    def _rescale(self, value: float) -> float:
        return value if self.baseline is None else (value - self.baseline) / (1 - self.baseline)


class CheXbertSimilarity(EmbeddingScorer):
    """Cosine of the first tokens' states of two reports, in [-1, 1]; with the weights of CheXbert its similarity.

    Args:
        encoder: The folder of the weights, as transformers saves them, or as of `EmbeddingScorer`.
        layer: See `EmbeddingScorer`.
        too_long: See `EmbeddingScorer`.
        device: See `EmbeddingScorer`.
        download: See `EmbeddingScorer`.
    """

    config_name = "chexbert.json"
    title = "CheXbert cosine"
    total_range = (-1.0, 1.0)

    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """See `EmbeddingScorer.compare`."""
        return min(1.0, float(reference.vectors[0] @ candidate.vectors[0]))
