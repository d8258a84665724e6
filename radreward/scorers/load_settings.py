"""Checks of the settings with which a scorer is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from radreward.errors import InputError


def check_load_settings(name: str, scorer_class: type, settings: Mapping[str, Any]) -> None:
    """Check that a scorer has these settings, and this machine the device among them.

    Args:
        name: Name of the scorer, for the message.
        scorer_class: Its class.
        settings: Arguments of its `from_pretrained`, or of its constructor if it passes them on.

    Raises:
        InputError: If there is no such setting or device.
    """
    known = dict(inspect.signature(scorer_class.from_pretrained).parameters)  # type: ignore[attr-defined]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        known |= inspect.signature(scorer_class).parameters
    names = [name for name in known if name not in ("folder", "settings")]
    for setting in settings:
        if setting not in names:
            similar = get_close_matches(setting, names, n=1)
            hint = f" Did you mean {similar[0]}?" if similar else ""
            raise InputError(f"{name}: Expected settings among {', '.join(names)} but got {setting!r}.{hint}")
    if settings.get("device", "cpu") != "cpu":
        _check_device(settings["device"])


def _check_device(device: Any) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (AssertionError, RuntimeError, TypeError) as error:  # AssertionError: PyTorch without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"device: Expected a device of this machine, such as cpu, but got {device!r}: {reason}."
        ) from error
