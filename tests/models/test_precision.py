"""Precisions that a machine computes fast."""

import pytest
import torch

from radreward.errors import InputError
from radreward.models.precision import check_precision


@pytest.mark.parametrize("capability", ["amx_bf16", "avx512_bf16", "bf16", "sve_bf16"])
def test_bf16_needs_one_of_the_capabilities(capability: str) -> None:
    check_precision("bf16", torch.device("cpu"), {capability: True})
    with pytest.raises(InputError, match=r"this CPU has no bfloat16 products .* Use --precision fp32\.$"):
        check_precision("bf16", torch.device("cpu"), {capability: False, "avx2": True})


def test_bf16_of_other_devices_and_fp32_are_always_possible() -> None:
    check_precision("bf16", torch.device("meta"), {})
    check_precision("fp32", None, {})


def test_unknown_precision_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expected `precision` to be fp32 or bf16 but got 'int8'"):
        check_precision("int8")
