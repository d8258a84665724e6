"""DeBERTa with the needed positions against all positions."""

import copy
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel, DebertaV2Config, DebertaV2ForTokenClassification

from radreward.systems.ratescore.taggers.deberta import limit_relative_positions

SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
POSITIONS: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 64}


@pytest.mark.parametrize("buckets", [16, -1])
@pytest.mark.parametrize("share_att_key", [True, False])
@pytest.mark.parametrize("norm_rel_ebd", ["layer_norm", "none"])
def test_results_are_those_of_all_positions(buckets: int, share_att_key: bool, norm_rel_ebd: str) -> None:
    torch.manual_seed(0)
    settings: dict[str, Any] = {
        "position_buckets": buckets,
        "share_att_key": share_att_key,
        "norm_rel_ebd": norm_rel_ebd,
    }
    model = DebertaV2ForTokenClassification(DebertaV2Config(vocab_size=50, **SIZES, **POSITIONS, **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 5)
    limited = copy.deepcopy(model)
    limit_relative_positions(limited)
    for length in (1, 2, 7, 8, 9, 16, 17, 40, 3):
        tokens = torch.randint(1, 50, (3, length))
        mask = torch.ones_like(tokens)
        mask[1, length // 2 + 1 :] = 0
        with torch.no_grad():
            expected = model(tokens, attention_mask=mask).logits
            actual = limited(tokens, attention_mask=mask).logits
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
        assert expected.std() > 0.01


def test_other_models_remain() -> None:
    model = BertModel(BertConfig(vocab_size=50, **SIZES))
    limit_relative_positions(model)
    absolute: Any = DebertaV2ForTokenClassification(DebertaV2Config(vocab_size=50, **SIZES))
    limit_relative_positions(absolute)
    assert not absolute.base_model.encoder._forward_pre_hooks
