"""Limits in batches mean the same, whatever types other packages wrote before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Optional, Union

import pytest
import yaml

from radreward.cli.training import build
from tests.tiny_run import settings

LIMITS = {
    "limit_train_batches": 1,
    "limit_val_batches": 1.0,
    "limit_test_batches": 0.5,
    "limit_predict_batches": None,
}


def _empty_cache_of_types() -> None:
    for number in range(1000):  # more than typing keeps, which caches `Optional` only, not `|`
        _ = Optional[Literal[number]]  # type: ignore[valid-type]  # noqa: UP045


@pytest.fixture
def _float_first() -> Iterator[None]:
    """Let typing answer with float first when the union of both numbers is asked for, as after some imports."""
    _empty_cache_of_types()
    _ = Optional[Union[float, int, None]]  # noqa: UP007, UP045
    yield
    _empty_cache_of_types()


@pytest.mark.usefixtures("_float_first")
def test_limit_without_a_point_is_a_number_of_batches(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(settings(tmp_path, **LIMITS)))
    run = build(config, "trainer.limit_test_batches=1")
    expected = {name: repr(value) for name, value in {**LIMITS, "limit_test_batches": 1}.items()}
    assert {name: repr(run.settings["trainer"][name]) for name in LIMITS} == expected
    assert {name: repr(getattr(run.trainer, name)) for name in LIMITS} == {**expected, "limit_predict_batches": "1.0"}
