"""Reward model: backbone, pooling and head map packed prompts to one reward per candidate and criterion."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.packing import to_rows
from radreward.errors import InputError
from radreward.io.artifacts import load_into
from radreward.models.attention import is_encoder, model_inputs
from radreward.models.backbone import Backbone
from radreward.models.heads import MultiRewardHead
from radreward.models.pooling import POOLINGS
from radreward.types import PackedBatch

PoolingName = Literal["auto", "last", "mean", "first", "matching"]


class RewardModel(nn.Module):
    """Rewards of packed candidates (ER²Score, section 3.2).

    Args:
        backbone: The pretrained model.
        criteria: One reward per criterion.
        pooling: Token states to one vector per candidate; "auto" is "last" for decoders and "matching" for encoders.
        head_hidden_size: Size of the head's hidden layer; 0 for a linear head.

    >>> model = RewardModel(Backbone("tiny-llama"), Criteria("one", [{"name": "tone", "description": "Rude."}]))
    >>> from radreward.data.packing import pack
    >>> model(pack([[[1, 2], [3]], [[1, 2], [4, 5]]], "tree")).shape
    torch.Size([2, 1])
    """

    def __init__(
        self, backbone: Backbone, criteria: Criteria, pooling: PoolingName = "auto", head_hidden_size: int = 0
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
        self.mask_dtype = getattr(torch, backbone.dtype)
        self.pooling = POOLINGS[pooling](config.hidden_size)
        self.head = MultiRewardHead(self.pooling.output_size, criteria, head_hidden_size)

    def forward(self, packed: PackedBatch) -> Tensor:
        """Return (C, N) float32 rewards, in the order of `packed.candidate_nodes`."""
        inputs = model_inputs(packed, self.config, self.mask_dtype)
        states = self.encoder(**inputs).last_hidden_state
        with torch.autocast(states.device.type, enabled=False):
            rewards: Tensor = self.head(self.pooling(states.to(self.head.scale.dtype), packed))
        return rewards

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
        rewards, row_rewards = model(packed), model(to_rows(packed))
    scale = max(1e-3, float(row_rewards.abs().max()))
    difference = float((rewards - row_rewards).abs().max()) / scale
    if not difference <= tolerance:
        raise PackingError(
            f"Expected packed and separate rewards of {model.backbone.name} to differ by at most {tolerance:.0e} of "
            f"their size but got {difference:.1e}. Use `packing: rows` with this backbone."
        )
