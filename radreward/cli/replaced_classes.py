"""A class that is newly named in the settings starts from its own defaults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jsonargparse import Namespace, _typehints


@contextmanager
def discard_settings_of_replaced_classes() -> Iterator[None]:
    """Give a class none of the settings of the class that it replaces, while a command line is parsed.

    jsonargparse keeps the settings that both classes have: BradleyTerry would inherit `lambda_` from
    MarginRewardEnforcement. It has no option for this, but it calls one function wherever a class may be replaced.
    """
    original = _typehints.discard_init_args_on_class_path_change
    _typehints.discard_init_args_on_class_path_change = _discard_settings
    try:
        yield
    finally:
        _typehints.discard_init_args_on_class_path_change = original


def _discard_settings(_parser: Any, previous: Any, value: Any) -> None:
    """Discard all settings of a previous class if the new value names another class."""
    if previous and "init_args" in previous and previous["class_path"] != value["class_path"]:
        previous["init_args"] = Namespace()  # type: ignore[no-untyped-call]
