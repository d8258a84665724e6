"""A backbone, a pooling and a head: packed prompts in, one reward per candidate and criterion out."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.packing import to_rows
from radreward.errors import InputError
from radreward.models.attention import is_encoder, model_inputs
from radreward.models.backbone import Backbone
from radreward.models.heads import MultiRewardHead
from radreward.models.pooling import POOLINGS
from radreward.types import PackedBatch

PoolingName = Literal["auto", "last", "mean", "first", "matching"]


class RewardModel(nn.Module):
    """Rewards of packed candidates (ER²Score, section 3.2).

    Args:
        backbone: What reads the reports.
        criteria: What is judged: as many rewards.
        pooling: From token states to a vector per candidate; "auto" is the last token for decoders and matching for
            encoders.
        hidden: Width of the head's hidden layer; 0 for a linear head.

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
        """(C, N) float32 rewards, in the order of `packed.leaves`."""
        inputs = model_inputs(packed, self.config, self.mask_dtype)
        states = self.encoder(**inputs).last_hidden_state
        with torch.autocast(states.device.type, enabled=False):
            rewards: Tensor = self.head(self.pooling(states.to(self.head.scale.dtype), packed))
        return rewards

    def trained_names(self) -> set[str]:
        """The entries of the state dict that training changes: adapters, pooling, head; or everything."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}

    def trained_state(self) -> dict[str, Tensor]:
        """What training changes, by name: what a checkpoint and a saved model hold."""
        names = self.trained_names()
        return {name: value for name, value in self.state_dict().items() if name in names}

    def load_trained_state(self, state: dict[str, Tensor]) -> None:
        """Take what `trained_state` gave.

        Raises:
            ValueError: If a name is missing or unknown, or a shape differs.
        """
        names = self.trained_names()
        if set(state) != names:
            wrong = sorted(set(state) ^ names)[0]
            raise ValueError(f"Expected the weights of this model but {wrong!r} is missing or unknown.")
        own = self.state_dict()
        for name, value in state.items():
            if own[name].shape != value.shape:
                raise ValueError(f"Expected {name!r} of shape {tuple(own[name].shape)} but got {tuple(value.shape)}.")
        self.load_state_dict(state, strict=False)


class PackingError(InputError):
    """Packed and separate sequences give different rewards: this backbone must be used with packing `rows`."""


def check_packing(model: RewardModel, packed: PackedBatch, tolerance: float) -> None:
    """Compare the rewards of a packed batch with those of the same candidates in rows of their own.

    Args:
        model: Any model.
        packed: A batch; its first rows are enough.
        tolerance: Largest difference, relative to the largest reward, that rounding explains.

    Raises:
        PackingError: If they differ by more.
    """
    with torch.no_grad():
        together, apart = model(packed), model(to_rows(packed))
    scale = max(1e-3, float(apart.abs().max()))
    difference = float((together - apart).abs().max()) / scale
    if not difference <= tolerance:
        raise PackingError(
            f"Packed and separate rewards of {model.backbone.name} differ by {difference:.1e} of their size "
            f"(at most {tolerance:.0e} expected). Use `packing: rows` with this backbone."
        )
