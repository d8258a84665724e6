"""The tokens that each token of a tree attends to, by a loop."""

import torch
from torch import Tensor

from radreward.types import PackedBatch


def visible_tokens(packed: PackedBatch, causal: bool, window: int | None = None) -> Tensor:
    """Return (T, T) bool: the tokens that each token attends to, by a loop."""
    lengths, parents, positions = packed.node_lengths, packed.parent_ids, packed.position_ids.tolist()
    node_of = [node for node, length in enumerate(lengths) for _ in range(length)]

    def sees(query: int, key: int) -> bool:
        node, distance = node_of[query], positions[query] - positions[key]
        while node != node_of[key] and node >= 0:
            node = parents[node]
        return node >= 0 and (not causal or distance >= 0) and (window is None or distance < window)

    tokens = range(len(node_of))
    return torch.tensor([[sees(query, key) for key in tokens] for query in tokens])
