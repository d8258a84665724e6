"""Scorers on token embeddings: BERTScore and CheXbert similarity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch

from radreward.errors import check_choice
from radreward.models import text_encoder
from radreward.models.text_encoder import TextEncoder, TokenEmbeddings, bertscore
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK, STATUS_TRUNCATED
from radreward.types import Scores


class EmbeddingScorer(StatelessScorer):
    """Similarity of the token embeddings of two texts. Equal texts are encoded once.

    Args:
        encoder: `embedded` (MiniLM), `tiny-bert`, a local folder or a name on the Hugging Face Hub.
        layer: Hidden layer, 0 for the input embeddings; defaults to the last.
        on_too_long: "reject" texts over the encoder's maximum length with a status, or "truncate" them.
        device: Device of the encoder.
        allow_download: Download the encoder if it is not on this machine.

    Raises:
        ValueError: If `layer` or `on_too_long` is invalid.
        InputError: If the encoder cannot be loaded.
    """

    source_modules = (text_encoder,)
    pairs_per_window = 256  # their embeddings are in memory together
    setting_names: ClassVar[tuple[str, ...]] = ("encoder", "layer")

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
    ) -> None:
        super().__init__()
        check_choice("on_too_long", on_too_long, ("reject", "truncate"))
        self.encoder, self.layer, self.on_too_long = encoder, layer, on_too_long
        self._encoder = TextEncoder(encoder, layer, device, allow_download)
        self.max_tokens, self.device = self._encoder.max_length, self._encoder.device

    @abstractmethod
    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """Return the score of two texts."""

    def code_version(self) -> str:
        """See `StatelessScorer.code_version`. The version includes the weights."""
        return f"{super().code_version()} {self._encoder.fingerprint} {self.on_too_long}"

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        total: list[float] = []
        status: list[str] = []
        pairs = list(zip(references, candidates, strict=True))
        texts = [text for pair in pairs for text in pair]
        embeddings = self._encoder.encode(texts, truncate=self.on_too_long == "truncate")
        for reference, candidate in ((embeddings.get(r), embeddings.get(c)) for r, c in pairs):
            if reference is None or candidate is None:
                total.append(float("nan"))
                status.append(f"over the limit: Expected reports of at most {self.max_tokens} tokens")
            else:
                total.append(self.similarity(reference, candidate))
                status.append(STATUS_TRUNCATED if reference.truncated or candidate.truncated else STATUS_OK)
        return Scores(torch.tensor(total, dtype=torch.float32), None, None, tuple(status))


class BERTScore(EmbeddingScorer):
    """BERTScore F1 (Zhang et al., 2020) without idf, with any encoder; in [-1, 1] before rescaling, see `bertscore`.

    Args:
        baseline: Baseline b of the rescaling (F - b) / (1 - b); None for no rescaling. For other arguments see
            `EmbeddingScorer`.

    Raises:
        ValueError: If `baseline` is not in [0, 1), or another argument is invalid.
        InputError: If the encoder cannot be loaded.
    """

    config_name = "bertscore.json"
    setting_names = ("encoder", "layer", "baseline")

    def __init__(
        self,
        encoder: str = "embedded",
        layer: int | None = None,
        baseline: float | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
    ) -> None:
        if baseline is not None and not 0 <= baseline < 1:
            raise ValueError(f"Expected `baseline` to be in [0, 1) but got {baseline}.")
        self.title = f"BERTScore ({'MiniLM' if encoder == 'embedded' else encoder.rstrip('/').rsplit('/', 1)[-1]})"
        super().__init__(encoder, layer, on_too_long, device, allow_download)
        self.baseline = baseline
        self.total_range = (self._rescale(-1.0), 1.0)

    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """See `EmbeddingScorer.similarity`."""
        return self._rescale(bertscore(reference, candidate))

    def _rescale(self, value: float) -> float:
        return value if self.baseline is None else (value - self.baseline) / (1 - self.baseline)


class CheXbertSimilarity(EmbeddingScorer):
    """Cosine similarity of the first token's embeddings, in [-1, 1]; with CheXbert's weights, CheXbert similarity.

    `encoder` is the folder of the weights in the format of transformers; for other arguments see `EmbeddingScorer`.
    """

    config_name = "chexbert.json"
    title = "CheXbert similarity"
    total_range = (-1.0, 1.0)

    def similarity(self, reference: TokenEmbeddings, candidate: TokenEmbeddings) -> float:
        """See `EmbeddingScorer.similarity`."""
        return min(1.0, float(reference.vectors[0] @ candidate.vectors[0]))
