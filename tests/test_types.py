"""Records that cross layers."""

import json

import pytest

from radreward.types import Side


@pytest.mark.parametrize("side", Side)
def test_side_prints_as_its_string(side: Side) -> None:
    assert f"{side!r} {side} {(side,)}" == f"{side.value!r} {side.value} {(side.value,)}"
    assert json.dumps({side: side}) == json.dumps({side.value: side.value})
    assert side == side.value
    assert side.other.other is side is not side.other
