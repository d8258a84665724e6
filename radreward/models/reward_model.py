"""Reward models: packed prompts to one reward per candidate and criterion, and to finding weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.packing import to_rows
from radreward.errors import InputError, check_choice
from radreward.io.artifacts import load_into
from radreward.models.backbone import Backbone
from radreward.models.evidence import PairEvidence, TokenComparison, sum_evidence
from radreward.models.heads import FeatureHead, MultiRewardHead
from radreward.models.pooling import POOLINGS
from radreward.models.transformers_attention import is_encoder, packed_inputs
from radreward.types import PackedBatch

ArchitectureName = Literal["pooled", "evidence"]
PoolingName = Literal["auto", "last", "mean", "first", "matching"]


class RewardOutput(NamedTuple):
    """Outputs of a reward model for C candidates."""

    rewards: Tensor
    """(C, N) float32."""
    finding_weights: Tensor | None = None
    """(C, 2) float32 matched and wrong weight, before calibration; None if not predicted."""
    evidence: PairEvidence | None = None
    """Evidence per token; None of a pooled model."""


class RewardModel(nn.Module, ABC):
    """Rewards of packed candidates (ER²Score, section 3.2), and optionally their finding weights.

    Args:
        backbone: The pretrained model.
        criteria: N criteria, one reward each.
    """

    criterion_weights: Tensor

    def __init__(self, backbone: Backbone, criteria: Criteria) -> None:
        super().__init__()
        self.backbone = backbone
        self.criteria = criteria
        self.config = backbone.config()
        self.encoder = backbone.build()
        self.register_buffer("criterion_weights", criteria.weights, persistent=False)

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Settings of `build_reward_model` other than backbone and criteria."""

    @property
    @abstractmethod
    def predicts_findings(self) -> bool:
        """True if the outputs include finding weights; the name in saved models."""

    @abstractmethod
    def new_modules(self) -> list[nn.Module]:
        """Return the randomly initialized parts."""

    @abstractmethod
    def read_out(self, states: Tensor, packed: PackedBatch) -> RewardOutput:
        """Return the outputs from (T, H) float32 states of the tokens, in the order of `packed.candidate_nodes`."""

    def forward(self, packed: PackedBatch) -> RewardOutput:
        """Return the outputs in the order of `packed.candidate_nodes`."""
        states: Tensor = self.encoder(**packed_inputs(self.encoder, packed)).last_hidden_state[0]
        with torch.autocast(states.device.type, enabled=False):
            return self.read_out(states.to(self.criterion_weights.dtype), packed)

    def trained_names(self) -> set[str]:
        """Return the names of trainable parameters: adapters, pooling and heads, or all."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}

    def trained_state(self) -> dict[str, Tensor]:
        """Return the trainable weights by name, as checkpoints and saved models hold them."""
        names = self.trained_names()
        return {name: value for name, value in self.state_dict().items() if name in names}

    def load_trained_state(self, state: dict[str, Tensor]) -> None:
        """Load the result of `trained_state`.

        Raises:
            InputError: If a name is missing or unknown, or a shape differs.
        """
        load_into(self, state, self.trained_names())


class PooledRewardModel(RewardModel):
    """Pools the states to one vector per candidate, and maps it to rewards by a head (ER²Score, section 3.2).

    Args:
        backbone: The pretrained model.
        criteria: One reward per criterion.
        pooling: Token states to one vector per candidate; "auto" is "last" for decoders and "matching" for encoders.
        head_hidden_size: Size of the heads' hidden layer; 0 for linear heads.
        predicts_findings: Add a head for the two finding weights, see `radreward.criteria.finding_quality`.

    >>> model = PooledRewardModel(Backbone("tiny-llama"), Criteria("one", [{"name": "tone", "description": "Rude."}]))
    >>> from radreward.data.packing import pack
    >>> model(pack([[[1, 2], [3]], [[1, 2], [4, 5]]], "tree")).rewards.shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        backbone: Backbone,
        criteria: Criteria,
        pooling: PoolingName = "auto",
        head_hidden_size: int = 0,
        predicts_findings: bool = False,
    ) -> None:
        super().__init__(backbone, criteria)
        check_choice("pooling", pooling, get_args(PoolingName))
        if pooling == "auto":
            pooling = "matching" if is_encoder(self.config) else "last"
        self.pooling_name = pooling
        self.head_hidden_size = head_hidden_size
        self.pooling = POOLINGS[pooling](self.config.hidden_size)
        size = self.pooling.output_size
        self.head = MultiRewardHead(size, criteria, head_hidden_size)
        self.finding_head = FeatureHead(size, 2, head_hidden_size) if predicts_findings else None

    @property
    def settings(self) -> dict[str, Any]:
        """See `RewardModel.settings`."""
        return {
            "architecture": "pooled",
            "pooling": self.pooling_name,
            "head_hidden_size": self.head_hidden_size,
            "predicts_findings": self.predicts_findings,
        }

    @property
    def predicts_findings(self) -> bool:
        """See `RewardModel.predicts_findings`."""
        return self.finding_head is not None

    def new_modules(self) -> list[nn.Module]:
        """Return pooling and heads."""
        heads = [self.head] if self.finding_head is None else [self.head, self.finding_head]
        return [self.pooling, *heads]

    def read_out(self, states: Tensor, packed: PackedBatch) -> RewardOutput:
        """See `RewardModel.read_out`."""
        features = self.pooling(states, packed)
        return RewardOutput(self.head(features), None if self.finding_head is None else self.finding_head(features))


class EvidenceRewardModel(RewardModel):
    """Sums the evidence of errors over the tokens of both reports; the sums are the outputs, without a head.

    reward_j = -weight_j · Σ evidence of criterion j over the tokens of candidate and reference.

    Args:
        backbone: The pretrained model.
        criteria: One reward and one kind of evidence per criterion.
        predicts_findings: Add two kinds of evidence: the matched and the wrong weight.
    """

    def __init__(self, backbone: Backbone, criteria: Criteria, predicts_findings: bool = False) -> None:
        super().__init__(backbone, criteria)
        self._predicts_findings = predicts_findings
        self.evidence = TokenComparison(
            self.config.hidden_size, len(criteria) + 2 * predicts_findings, predicts_findings
        )

    @property
    def settings(self) -> dict[str, Any]:
        """See `RewardModel.settings`."""
        settings = {"architecture": "evidence", "pooling": "auto", "head_hidden_size": 0}
        return {**settings, "predicts_findings": self.predicts_findings}

    @property
    def predicts_findings(self) -> bool:
        """See `RewardModel.predicts_findings`."""
        return self._predicts_findings

    def new_modules(self) -> list[nn.Module]:
        """Return the comparison of tokens."""
        return [self.evidence]

    def read_out(self, states: Tensor, packed: PackedBatch) -> RewardOutput:
        """See `RewardModel.read_out`."""
        evidence, size = self.evidence(states, packed), len(self.criteria)
        totals = sum_evidence(evidence.candidate.values, size) + sum_evidence(evidence.reference.values, size)
        finding_weights = totals[:, size:] if self.predicts_findings else None
        return RewardOutput(totals[:, :size] * -self.criterion_weights, finding_weights, evidence)


def build_reward_model(
    backbone: Backbone,
    criteria: Criteria,
    architecture: ArchitectureName = "pooled",
    pooling: PoolingName = "auto",
    head_hidden_size: int = 0,
    predicts_findings: bool = False,
) -> RewardModel:
    """Return an untrained reward model; see `PooledRewardModel` and `EvidenceRewardModel`.

    Raises:
        InputError: If pooling or a hidden layer is requested of an evidence model, which has neither.
    """
    check_choice("architecture", architecture, get_args(ArchitectureName))
    if architecture == "pooled":
        return PooledRewardModel(backbone, criteria, pooling, head_hidden_size, predicts_findings)
    if pooling != "auto" or head_hidden_size:
        setting = f"`pooling` {pooling!r}" if pooling != "auto" else f"`head_hidden_size` {head_hidden_size}"
        raise InputError(f"Expected `architecture` to be pooled with {setting} but got 'evidence'.")
    return EvidenceRewardModel(backbone, criteria, predicts_findings)


def check_packing(model: RewardModel, packed: PackedBatch, tolerance: float) -> None:
    """Compare the rewards of a packed batch with those of the same candidates in separate rows.

    Raises:
        InputError: If the largest difference exceeds `tolerance` times the largest reward.
    """
    with torch.no_grad():
        rewards, row_rewards = model(packed).rewards, model(to_rows(packed)).rewards
    scale = max(1e-3, float(row_rewards.abs().max()))
    difference = float((rewards - row_rewards).abs().max()) / scale
    if not difference <= tolerance:
        raise InputError(
            f"Expected packed and separate rewards of {model.backbone.name} to differ by at most {tolerance:.0e} of "
            f"their size but got {difference:.1e}. Use `packing: rows` with this backbone."
        )
