"""Reports as the states of an encoder: BERTScore, and the cosine of CheXbert."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.data.tokenizer import load_tokenizer
from radreward.models.backbone import Backbone
from radreward.scorers.base import OK, TRUNCATED
from radreward.scorers.plain import PlainScorer
from radreward.types import Scores

BATCH_TOKENS = 1024
"""Most tokens of one forward pass, which the caches of a CPU hold; a single text may have more."""
WINDOW = 256
"""Pairs whose states are held at a time."""


class States(NamedTuple):
    """A text as an encoder has it."""

    vectors: Tensor
    """(L, D) float32 of length 1, with the tokenizer's own tokens."""
    own: Tensor
    """(L,) bool: which tokens are the text's own."""
    cut: bool
    """Whether its end was left out."""


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
        self._device = torch.device(device)
        model: Any = Backbone(encoder, lora=None, local_files_only=not download).build(packed=False)
        self._model = model.eval().requires_grad_(False).to(self._device)
        layers = int(model.config.num_hidden_layers)
        if layer is not None and not 0 <= layer <= layers:
            raise ValueError(f"Expected `layer` to be in 0 to {layers} but got {layer}.")
        self._tokenizer: Any = load_tokenizer(encoder)
        self.limit = min(int(self._tokenizer.model_max_length), int(model.config.max_position_embeddings))

    @abstractmethod
    def compare(self, reference: States, candidate: States) -> float:
        """The score of two texts; called for each pair."""

    def settings(self) -> dict[str, Any]:
        """See `PlainScorer.settings`."""
        return {"encoder": self.encoder, "layer": self.layer}

    def code(self) -> str:
        """See `PlainScorer.code`; the weights too."""
        return f"{super().code()} {self._weights} {self.too_long}"

    @cached_property
    def _weights(self) -> str:
        digest = hashlib.sha256(self._tokenizer.backend_tokenizer.to_str().encode())
        for name, value in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def values(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `PlainScorer.values`."""
        return self.score_texts(references, candidates).total.tolist()

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        total: list[float] = []
        status: list[str] = []
        for begin in range(0, len(references), WINDOW):
            rows = list(zip(references[begin : begin + WINDOW], candidates[begin : begin + WINDOW], strict=True))
            known = self._encode(list(dict.fromkeys(text for row in rows for text in row)))
            for reference, candidate in rows:
                cut = known[reference].cut or known[candidate].cut
                rejected = cut and self.too_long == "reject"
                total.append(float("nan") if rejected else self.compare(known[reference], known[candidate]))
                over = f"over the limit: Expected reports of at most {self.limit} tokens"
                status.append(over if rejected else TRUNCATED if cut else OK)
        return Scores(torch.tensor(total, dtype=torch.float32), None, None, tuple(status))

    @torch.inference_mode()
    def _encode(self, texts: list[str]) -> dict[str, States]:
        lengths = [len(ids) for ids in self._tokenizer(texts)["input_ids"]] if texts else []
        fitted = self._tokenizer(texts, truncation=True, max_length=self.limit) if texts else {"input_ids": []}
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(fitted["input_ids"]):
            by_length.setdefault(len(ids), []).append(place)
        known: dict[str, States] = {}
        for length, places in by_length.items():
            size = max(1, BATCH_TOKENS // length)
            for batch in (places[begin : begin + size] for begin in range(0, len(places), size)):
                ids = torch.tensor([fitted["input_ids"][place] for place in batch], device=self._device)
                vectors = F.normalize(self._states(ids), dim=-1).cpu()
                for place, row, tokens in zip(batch, vectors, ids.tolist(), strict=True):
                    special = self._tokenizer.get_special_tokens_mask(tokens, already_has_special_tokens=True)
                    own = ~torch.tensor(special, dtype=torch.bool)
                    known[texts[place]] = States(row, own, lengths[place] > self.limit)
        return known

    def _states(self, ids: Tensor) -> Tensor:
        """(B, L) tokens to (B, L, D)."""
        output = self._model(ids, attention_mask=torch.ones_like(ids), output_hidden_states=self.layer is not None)
        states: Tensor = output.last_hidden_state if self.layer is None else output.hidden_states[self.layer]
        return states.float()


class BERTScore(EncodedScorer):
    """BERTScore F1 (Zhang et al., 2020), without idf, by any encoder; in [-1, 1] before rescaling.

    P is the mean, over the candidate's tokens, of the highest cosine with a token of the reference, R the same the
    other way, and 2 P R / (P + R) the score. As in its authors' code the tokenizer's own tokens can be matched and are
    not counted.

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
        cosine = candidate.vectors @ reference.vectors.T
        precision = cosine.max(1).values[candidate.own].mean().item()
        recall = cosine.max(0).values[reference.own].mean().item()
        total = precision + recall
        return self._rescaled(2 * precision * recall / total if total else 0.0)

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
