"""Evidence per token against loops, and what follows from its form."""

import pytest
import torch
from torch.nn import functional as F

from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models import Backbone, RewardModel
from radreward.models.evidence import WINDOW, EvidencePooling

PATHS = [[[1, 2], [3]], [[1, 2], [4, 5, 0]], [[*range(1, 14), 0], [*range(20, 32), 0]]]
PACKED = pack(PATHS)
SIDES = [((0, 2), (2, 3)), ((0, 2), (3, 6)), ((6, 20), (20, 33))]
"""First and last token of each candidate's reference and own segment."""


def _pooling() -> EvidencePooling:
    torch.manual_seed(0)
    pooling = EvidencePooling(8, 3, 4, 2)
    for parameter in pooling.parameters():
        if parameter.ndim > 1 and parameter is not pooling.log_sharpness:
            torch.nn.init.normal_(parameter)
    return pooling


def _loop(pooling: EvidencePooling, own: torch.Tensor, other: torch.Tensor, out: torch.nn.Linear) -> torch.Tensor:
    """Return the (S, K) evidence of (S, H) states of one side, token by token."""
    compared = []
    for state in own:
        parts = []
        for head in range(2):
            part = slice(2 * head, 2 * head + 2)
            key = pooling.key(state)[part]
            cosine = torch.stack([F.cosine_similarity(key, pooling.key(t)[part], dim=0) for t in other])
            weights = (cosine * pooling.log_sharpness[head, 0, 0].exp()).softmax(0)
            parts.append(sum(w * pooling.value(t)[part] for w, t in zip(weights, other, strict=True)))
        x, y = pooling.value(state), torch.cat(parts)
        compared.append(F.gelu(pooling.compare(torch.cat([x, y, (x - y).abs(), x * y]))))
    logits = []
    for index, x in enumerate(compared):
        joined = pooling.neighbours.bias.clone()  # type: ignore[union-attr]
        for offset in range(WINDOW):
            place = index + offset - WINDOW // 2
            if 0 <= place < len(compared):
                joined = joined + pooling.neighbours.weight[:, 0, offset] * compared[place]
        logits.append(out(x + F.gelu(pooling.mix(joined))))
    stacked, values = torch.stack(logits), torch.zeros(len(logits), 3)
    for index in range(len(logits)):
        first = max(0, index - WINDOW // 2)
        largest, peak = stacked[first : index + WINDOW // 2 + 1].max(0)
        for kind in range(3):
            values[first + peak[kind], kind] += F.softplus(largest[kind]) / WINDOW
    return values


def test_located_evidence_equals_a_loop() -> None:
    pooling, hidden = _pooling(), torch.randn(len(PACKED.input_ids), 8)
    found, missed = pooling.locate(hidden, PACKED)
    for row, (reference, candidate) in enumerate(SIDES):
        texts = hidden[slice(*reference)], hidden[slice(*candidate)]
        expected = (
            _loop(pooling, texts[1], texts[0], pooling.candidate_evidence),
            _loop(pooling, texts[0], texts[1], pooling.reference_evidence),
        )
        for side, values in zip((found, missed), expected, strict=True):
            torch.testing.assert_close(side.values[row, : len(values)], values)
            assert not side.values[row, len(values) :].any()
            assert int(side.mask[row].sum()) == len(values)
        total = expected[0].sum(0) + expected[1].sum(0)
        torch.testing.assert_close(pooling(hidden, PACKED)[row], total)


def test_counterpart_is_the_equal_token() -> None:
    pooling = _pooling()
    hidden = 5 * torch.randn(6, 8)
    packed = pack([[[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]])
    found, missed = pooling.locate(torch.cat([hidden, hidden.flip(0)]), packed)
    assert found.counterparts.tolist() == missed.counterparts.tolist() == [[5, 4, 3, 2, 1, 0]]


def test_evidence_is_never_negative_and_rewards_are_minus_its_weighted_sum() -> None:
    torch.manual_seed(0)
    criteria = RadCliQSignificanceCriteria()
    model = RewardModel(Backbone("tiny-bert", lora=None), criteria, "evidence", predicts_findings=True)
    rewards, findings = model(PACKED)
    assert findings is not None
    assert (rewards < 0).all()
    assert (findings > 0).all()
    output, (found, missed) = model.locate(PACKED)
    torch.testing.assert_close(output.rewards, rewards)
    torch.testing.assert_close(output.findings, findings)
    sums = found.values.sum(1) + missed.values.sum(1)
    torch.testing.assert_close(rewards, -sums[:, :12] * criteria.weights)
    torch.testing.assert_close(findings[:, 0], sums[:, 12])
    for row, expected in enumerate(findings[:, 1].tolist()):  # what is wrong counts where errors show
        tokens = [*found.values[row].tolist(), *missed.values[row].tolist()]
        supported = [values[13] * sum(values[:12]) / (sum(values[:12]) + 0.1) for values in tokens]
        assert expected == pytest.approx(sum(supported), rel=1e-4)


def test_locate_without_evidence_pooling_raises() -> None:
    with pytest.raises(TypeError, match="Expected a model with evidence pooling but got matching"):
        RewardModel(Backbone("tiny-bert"), RadCliQSignificanceCriteria()).locate(PACKED)


def test_evidence_with_a_hidden_layer_raises() -> None:
    with pytest.raises(InputError, match="Expected `head_hidden_size` to be 0 with evidence but got 8"):
        RewardModel(Backbone("tiny-bert"), RadCliQSignificanceCriteria(), "evidence", 8)


def test_evidence_pooling_is_small_for_the_embedded_backbone() -> None:
    assert 2 * sum(parameter.numel() for parameter in EvidencePooling(384, 14).parameters()) < 500_000
