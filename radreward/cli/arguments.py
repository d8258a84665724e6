"""Arguments of `fit` as jsonargparse reads them."""

from __future__ import annotations


def normalize_argument(argument: str) -> str:
    """Return an argument with its option as the name of a setting.

    A nested null, which jsonargparse reads as the text None, becomes a part of its parent.

    Args:
        argument: The argument.

    >>> normalize_argument("--run-dir=a-b"), normalize_argument("--model.backbone.lora=null")
    ('--run_dir=a-b', '--model.backbone={"init_args": {"lora": null}}')
    """
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("-", "_")
    parent, _, field = name.replace(".init_args", "").rpartition(".")
    if value == "null" and "." in parent:
        return f'--{parent}={{"init_args": {{"{field}": null}}}}'
    return f"--{name}{equals}{value}"
