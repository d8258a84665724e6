"""Tiny backbones are equal at every call."""

import pytest
import torch
from transformers import AutoModel

from radreward.models.tiny_backbones import FAMILIES, tiny_config, tiny_model


@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_config_copies_are_independent(family: str) -> None:
    before = tiny_model(family)
    AutoModel.from_config(tiny_config(family), dtype=torch.bfloat16, attn_implementation="eager")
    after = tiny_model(family)
    assert after.config._attn_implementation == before.config._attn_implementation
    torch.testing.assert_close(after.state_dict(), before.state_dict(), rtol=0, atol=0)
