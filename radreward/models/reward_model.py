"""Reward model: packed prompts to one reward per candidate and criterion, and to the weights of its findings."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.packing import to_rows
from radreward.errors import InputError
from radreward.io.artifacts import load_into
from radreward.models.attention import is_encoder, packed_inputs
from radreward.models.backbone import Backbone
from radreward.models.evidence import EvidencePooling, TokenEvidence, concentrated
from radreward.models.heads import EvidenceHead, FeatureHead, MultiRewardHead
from radreward.models.pooling import POOLINGS, Pooling
from radreward.types import PackedBatch

PoolingName = Literal["auto", "last", "mean", "first", "matching", "evidence"]


class RewardOutput(NamedTuple):
    """Outputs of a reward model for C candidates."""

    rewards: Tensor
    """(C, N) float32."""
    findings: Tensor | None
    """(C, 2) float32 matched and wrong weight of the findings, before calibration; None if not predicted."""


class RewardModel(nn.Module):
    """Rewards of packed candidates (ER²Score, section 3.2), and what is right and wrong in them.

    Args:
        backbone: The pretrained model.
        criteria: One reward per criterion.
        pooling: Token states to one vector per candidate; "auto" is "last" for decoders and "matching" for encoders.
            "evidence" sums evidence of errors over the tokens, which then is the output, without heads.
        head_hidden_size: Size of the heads' hidden layer; 0 for linear heads, and for "evidence".
        predicts_findings: Predict the matched and the wrong weight of the findings too, see
            `radreward.criteria.finding_quality`.

    >>> model = RewardModel(Backbone("tiny-llama"), Criteria("one", [{"name": "tone", "description": "Rude."}]))
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
        super().__init__()
        config = backbone.config()
        if pooling == "auto":
            pooling = "matching" if is_encoder(config) else "last"
        self.backbone = backbone
        self.criteria = criteria
        self.pooling_name = pooling
        self.head_hidden_size = head_hidden_size
        self.encoder = backbone.build()
        self.config = config
        self.pooling: Pooling
        self.head: MultiRewardHead | EvidenceHead
        self.findings_head: FeatureHead | EvidenceHead | None = None
        if pooling == "evidence":
            if head_hidden_size:
                raise InputError(f"Expected `head_hidden_size` to be 0 with evidence but got {head_hidden_size}.")
            self.pooling = EvidencePooling(config.hidden_size, len(criteria) + 2 * predicts_findings)
            self.head = EvidenceHead(0, -criteria.weights)
            if predicts_findings:
                self.findings_head = EvidenceHead(len(criteria), torch.ones(2))
            return
        self.pooling = POOLINGS[pooling](config.hidden_size)
        size = self.pooling.output_size
        self.head = MultiRewardHead(size, criteria, head_hidden_size)
        if predicts_findings:
            self.findings_head = FeatureHead(size, 2, head_hidden_size)

    def forward(self, packed: PackedBatch) -> RewardOutput:
        """Return the outputs in the order of `packed.candidate_nodes`."""
        if isinstance(self.pooling, EvidencePooling):
            return self.locate(packed)[0]
        states = self.encode(packed)
        with torch.autocast(states.device.type, enabled=False):
            return self._read_out(self.pooling(states, packed))

    def locate(self, packed: PackedBatch) -> tuple[RewardOutput, tuple[TokenEvidence, TokenEvidence]]:
        """Return the outputs, and the evidence of the tokens of candidates and references; of evidence pooling only."""
        if not isinstance(self.pooling, EvidencePooling):
            raise TypeError(f"Expected a model with evidence pooling but got {self.pooling_name}.")
        states = self.encode(packed)
        with torch.autocast(states.device.type, enabled=False):
            sides = self.pooling.locate(states, packed)
            return self._read_out(self._sum_evidence(sides[0].values) + self._sum_evidence(sides[1].values)), sides

    def _sum_evidence(self, values: Tensor) -> Tensor:
        """Return the (C, K) features of the (C, S, K) evidence of one side."""
        if self.findings_head is None:
            return values.sum(1)
        wrong = concentrated(values[..., -1], values[..., : len(self.criteria)].sum(-1))
        return torch.cat([values[..., :-1], wrong.unsqueeze(-1)], -1).sum(1)

    def _read_out(self, features: Tensor) -> RewardOutput:
        findings = None if self.findings_head is None else self.findings_head(features)
        return RewardOutput(self.head(features), findings)

    def encode(self, packed: PackedBatch) -> Tensor:
        """Return the (T, H) states of the tokens in the precision of the heads."""
        states: Tensor = self.encoder(**packed_inputs(self.encoder, packed)).last_hidden_state[0]
        return states.to(self.head.scale.dtype)

    def trained_names(self) -> set[str]:
        """Return the names of trainable parameters: adapters, pooling and head, or all."""
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


class PackingError(InputError):
    """Packed and separate sequences give different rewards: the backbone requires packing `rows`."""


def check_packing(model: RewardModel, packed: PackedBatch, tolerance: float) -> None:
    """Compare the rewards of a packed batch with those of the same candidates in separate rows.

    Args:
        model: Any model.
        packed: A batch; a few rows suffice.
        tolerance: Maximum difference due to rounding, relative to the largest reward.

    Raises:
        PackingError: If they differ by more.
    """
    with torch.no_grad():
        rewards, row_rewards = model(packed).rewards, model(to_rows(packed)).rewards
    scale = max(1e-3, float(row_rewards.abs().max()))
    difference = float((rewards - row_rewards).abs().max()) / scale
    if not difference <= tolerance:
        raise PackingError(
            f"Expected packed and separate rewards of {model.backbone.name} to differ by at most {tolerance:.0e} of "
            f"their size but got {difference:.1e}. Use `packing: rows` with this backbone."
        )
