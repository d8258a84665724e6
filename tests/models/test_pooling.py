"""Pooling against loops over tokens."""

import pytest
import torch
from torch.nn import functional as F

from radreward.criteria import MRScoreCriteria
from radreward.data.packing import pack
from radreward.models import MultiRewardHead
from radreward.models.pooling import CrossMatchingPooling, FirstTokenPooling, LastTokenPooling, MeanPooling, Pooling

PACKED = pack([[[1, 2], [3]], [[1, 2], [4, 5, 0]], [[1, 6, 0], [7, 0]]])
NODES = [slice(0, 2), slice(2, 3), slice(3, 6), slice(6, 9), slice(9, 11)]
CANDIDATES = [(NODES[0], NODES[1]), (NODES[0], NODES[2]), (NODES[3], NODES[4])]
"""Tokens of each candidate's reference and own segment."""


@pytest.mark.parametrize("kind", [LastTokenPooling, MeanPooling, FirstTokenPooling])
def test_pooling_equals_a_loop(kind: type[Pooling]) -> None:
    hidden = torch.randn(len(PACKED.input_ids), 8)
    tokens = [hidden[own] for _, own in CANDIDATES]
    expected = [{LastTokenPooling: x[-1], MeanPooling: x.mean(0), FirstTokenPooling: x[0]}[kind] for x in tokens]
    torch.testing.assert_close(kind(8)(hidden, PACKED), torch.stack(expected))


def test_cross_matching_pooling_equals_a_loop() -> None:
    torch.manual_seed(0)
    matching, hidden = CrossMatchingPooling(8, 4), torch.randn(len(PACKED.input_ids), 8)

    def side(tokens: torch.Tensor, other_tokens: torch.Tensor) -> list[torch.Tensor]:
        rest = []
        for x in tokens:
            weights = (
                torch.stack([F.cosine_similarity(x, t, dim=0) for t in other_tokens]) * matching.log_sharpness.exp()
            )
            y = (weights.softmax(0).unsqueeze(1) * other_tokens).sum(0)
            rest.append(F.gelu(matching.compare(torch.cat([x, y, (x - y).abs(), x * y]))))
        return [torch.stack(rest).sum(0) / 10, torch.stack(rest).amax(0)]

    expected = []
    for first, second in CANDIDATES:
        reference, own = matching.project(hidden[first]), matching.project(hidden[second])
        expected.append(torch.cat(side(own, reference) + side(reference, own)))
    torch.testing.assert_close(matching(hidden, PACKED), torch.stack(expected))


def test_cross_matching_pooling_is_small_for_the_embedded_backbone() -> None:
    assert 2 * sum(parameter.numel() for parameter in CrossMatchingPooling(384).parameters()) < 500_000


def test_reward_head_scales_outputs_by_weights() -> None:
    head = MultiRewardHead(8, MRScoreCriteria())
    x = torch.randn(5, 8)
    torch.testing.assert_close(head(x), (x @ head.out.weight.T + head.out.bias) * MRScoreCriteria().weights)
