"""Arguments of `fit` as jsonargparse reads them."""

from __future__ import annotations

from collections.abc import Sequence

OPTIONS = {"seed_everything": "seed"}
"""Settings of Lightning whose option has the name that other commands use."""
_SETTINGS = {option: setting for setting, option in OPTIONS.items()}


def normalize_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the options in `OPTIONS` replaced by the settings that they stand for.

    jsonargparse reads null as the text None if its key is nested, so such a null is moved into the value of the parent.

    >>> normalize_arguments(["--run-dir=a-b", "--model.backbone.lora=null"])
    ['--run_dir=a-b', '--model.backbone={"init_args": {"lora": null}}']
    >>> normalize_arguments(["--seed", "1", "--model.backbone.lora", "null"])
    ['--seed_everything', '1', '--model.backbone={"init_args": {"lora": null}}']
    """
    joined: list[str] = []
    for argument in arguments:
        if argument == "null" and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += "=null"
        else:
            joined.append(argument)
    return [_normalize(argument) for argument in joined]


def _normalize(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("-", "_")
    name = _SETTINGS.get(name, name)
    parent, _, field = name.replace(".init_args", "").rpartition(".")
    if value == "null" and "." in parent:
        return f'--{parent}={{"init_args": {{"{field}": null}}}}'
    return f"--{name}{equals}{value}"
