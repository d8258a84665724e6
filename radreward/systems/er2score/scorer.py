"""A trained reward model as a scorer."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from radreward.data.collators.reward import PromptEncoder, PromptTooLongError
from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models import RewardModel, RewardModelArtifact, load_reward_model, save_reward_model
from radreward.models import node_attention as nodewise
from radreward.models.int8 import quantize_linear_layers
from radreward.scorers.base import STATUS_OK, STATUS_TRUNCATED, Scorer
from radreward.types import PackedBatch, Scores

TokenPath = tuple[tuple[int, ...], ...]  # token pieces of one candidate, from the root to its own
Precision = Literal["fp32", "int8"]
SORT_WINDOW = 4096


class RewardModelScorer(Scorer):
    """Totals, rewards and expected errors of candidates; candidates of one reference share its pass.

    Adapters are merged, equal pairs are scored once, and an encoder on the CPU is run without padding (`nodewise`).

    total = offset + Σ_j reward_j, the ranking total that training shapes; sub = rewards (n, N); counts = calibrated
    errors (n, N), or None where the model was saved without a calibration.

    Args:
        saved: The model, its template, limit and calibration. It is left as it is.
        precision: fp32 computes in the precision in which the backbone is held; int8 (CPU) its linear layers in 8 bits.
        too_long: Reject reports over the limit with a status, or cut both, with the status "truncated".
        packing: Whether candidates share a row with their reference.
        batch_tokens: Most tokens, padding counted, of one forward pass; where none is given 1,024 on the CPU, whose
            caches hold no more, and 16,384 elsewhere.

    Raises:
        ValueError: If `batch_tokens` is not positive, or `precision` or `too_long` is unknown.
        InputError: If int8 is asked for a model that is quantised already or is not on the CPU.
    """

    def __init__(
        self,
        artifact: RewardModelArtifact,
        precision: Precision = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        packing: Literal["tree", "rows"] = "tree",
        max_batch_tokens: int | None = None,
    ) -> None:
        if max_batch_tokens is not None and max_batch_tokens < 1:
            raise ValueError(f"Expected `batch_tokens` to be >= 1 but got {max_batch_tokens}.")
        if precision not in ("fp32", "int8"):
            raise ValueError(f"Expected `precision` to be fp32 or int8 but got {precision!r}.")
        if on_too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {on_too_long!r}.")
        self.artifact = artifact
        self.criteria = artifact.model.criteria
        self.precision, self.on_too_long, self.packing = precision, on_too_long, packing
        self._prompt_encoder = PromptEncoder(
            artifact.model.backbone.name, self.criteria, artifact.template, artifact.max_length
        )
        self._model = for_inference(artifact.model, precision)
        self._device = next(self._model.parameters()).device
        self.max_batch_tokens = max_batch_tokens or (1024 if self._device.type == "cpu" else 16_384)
        self._encoder = nodewise.enable_node_attention(self._model.encoder)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        precision: Precision = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
    ) -> RewardModelScorer:
        """The scorer of a saved model; `download` allows a missing backbone to be fetched from the hub."""
        return cls(load_reward_model(folder, device, allow_download, merge_adapters=True), precision, on_too_long)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; weights are written in full precision."""
        save_reward_model(self.artifact, folder)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        saved = self.artifact
        calibration = saved.calibration.to_dict() if saved.calibration else None
        settings = (saved.max_length, type(saved.template).__name__, self.precision, self.on_too_long, calibration)
        digest = hashlib.sha256(json.dumps([*settings, self.criteria and self.criteria.to_dict()]).encode())
        digest.update(f"{saved.model.backbone.name} {saved.model.pooling_name}".encode())
        for name, value in sorted(saved.weights_to_save().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().float().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        criteria, calibration = self.artifact.model.criteria, self.artifact.calibration
        rewards = torch.full((len(references), len(criteria)), torch.nan)
        status: list[str] = []
        for begin in range(0, len(references), SORT_WINDOW):  # as many as are held as tokens and sorted by length
            window = slice(begin, begin + SORT_WINDOW)
            paths, told = self._encode_pairs(references[window], candidates[window])
            known = self._compute_rewards(list(dict.fromkeys(path for path in paths if path)))
            for row, path in enumerate(paths, begin):
                if path:
                    rewards[row] = known[path]
            status += told
        return Scores(
            criteria.total_quality(rewards),
            rewards,
            calibration.predict_counts(rewards) if calibration else None,
            tuple(status),
        )

    def _encode_pairs(
        self, references: Sequence[str], candidates: Sequence[str]
    ) -> tuple[list[TokenPath | None], list[str]]:
        paths: list[TokenPath | None] = []
        status = []
        for reference, candidate in zip(references, candidates, strict=True):
            try:
                pieces, cut = self._prompt_encoder.encode(reference, candidate, self.on_too_long == "truncate")
            except PromptTooLongError as error:
                paths.append(None)
                status.append(f"over the limit: {error}")
                continue
            paths.append(tuple(map(tuple, pieces)))
            status.append(STATUS_TRUNCATED if cut else STATUS_OK)
        return paths, status

    @torch.inference_mode()
    def _compute_rewards(self, paths: list[TokenPath]) -> dict[TokenPath, Tensor]:
        """(N,) rewards of each path."""
        known: dict[TokenPath, Tensor] = {}
        for batch in _length_batches(paths, self.packing, self.max_batch_tokens):
            packed = pack(batch, self.packing)
            rewards = self._forward(type(packed)(*(value.to(self._device) for value in packed)))
            known.update(zip(batch, rewards.float().cpu(), strict=True))
        return known

    def _forward(self, packed: PackedBatch) -> Tensor:
        """(C, N) rewards: those of the model's own forward pass, by the shorter way where there is one."""
        model = self._model
        if self._encoder is None:
            rewards: Tensor = model(packed)
        else:
            states = nodewise.encode_packed(self._encoder, packed)
            rewards = model.head(model.pooling(states.to(model.head.scale.dtype), packed))
        return rewards


def for_inference(model: RewardModel, precision: Precision) -> RewardModel:
    """A copy with adapters merged into the weights they adapt, in 8 bits if wanted."""
    if precision == "int8" and (model.backbone.quantization or next(model.parameters()).device.type != "cpu"):
        raise InputError("precision: Expected fp32 for a model that is quantised already or is not on the CPU.")
    model = copy.deepcopy(model).eval()
    encoder: Any = model.encoder
    if not isinstance(encoder, PreTrainedModel) and not model.backbone.quantization:  # adapters of peft
        model.encoder = encoder.merge_and_unload()
    if precision == "int8":
        model.encoder.float()
        model.mask_dtype = torch.float32
        quantize_linear_layers(model.encoder)
    return model


def _length_batches(paths: list[TokenPath], packing: str, max_tokens: int) -> Iterator[list[TokenPath]]:
    """Rows of like length together, at most `budget` tokens with padding (a single row may have more)."""
    rows = sorted(_build_rows(paths, packing, max_tokens), key=lambda row: row[0])
    batch: list[TokenPath] = []
    count = 0
    for length, members in rows:  # rising: the newest row is the longest
        if batch and length * (count + 1) > max_tokens:
            yield batch
            batch, count = [], 0
        batch += members
        count += 1
    if batch:
        yield batch


def _build_rows(paths: list[TokenPath], packing: str, max_tokens: int) -> Iterator[tuple[int, list[TokenPath]]]:
    """Length and candidates of each row; a reference with very many candidates gets several rows, in batches apart."""
    groups: dict[object, list[TokenPath]] = {}
    for path in paths:
        groups.setdefault(path[:-1] if packing == "tree" else path, []).append(path)
    for members in groups.values():
        prefix = sum(map(len, members[0][:-1]))
        row: list[TokenPath] = []
        length = prefix
        for path in members:
            if row and length + len(path[-1]) > max_tokens:
                yield length, row
                row, length = [], prefix
            row.append(path)
            length += len(path[-1])
        yield length, row
