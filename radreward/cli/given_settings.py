"""The settings that a user gives to `fit`, in a configuration file or on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from radreward.cli.arguments import normalize_arguments
from radreward.io.yaml_files import read_yaml_mapping
from radreward.modules.hparams import FlatSettings, flatten_settings

_NOT_COMPARED = ("run_dir", "ckpt_path", "overwrite", "checkpoint_every", "trainer.enable_progress_bar")
"""Settings that do not change the results."""


def given_settings(arguments: Sequence[str], settings: Mapping[str, Any]) -> FlatSettings:
    """Return the settings that are in the configuration files or arguments of a run, with their values.

    Args:
        arguments: The command line of `fit`.
        settings: All settings of the run, with defaults.

    >>> settings = {"model": {"init_args": {"pooling": "mean", "head_hidden_size": 0}}, "seed_everything": 0}
    >>> given_settings(["--model.pooling=mean"], settings)
    {'model.pooling': 'mean'}
    """
    given = {name for key, value in _entries(normalize_arguments(arguments)) for name in flat_settings({key: value})}
    flat = flatten_settings(settings)
    return {name: value for name, value in flat.items() if name in given and name not in _NOT_COMPARED}


def flat_settings(entries: Mapping[str, Any]) -> FlatSettings:
    """Return settings by dotted key with the names of `flatten_settings`.

    >>> flat_settings({"model.init_args.objective": {"class_path": "a.Loss", "init_args": {"c": 1}}})
    {'model.objective': 'Loss', 'model.objective.c': 1}
    """
    return flatten_settings({re.sub(r"\.(init_args|class_path)\b", "", key): value for key, value in entries.items()})


def _entries(arguments: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each argument, and of each top-level key of a configuration file."""
    position = 0
    while position < len(arguments):
        key, equals, text = arguments[position].removeprefix("--").partition("=")
        position += 1
        if not equals and position < len(arguments) and not arguments[position].startswith("--"):
            text = arguments[position]
            position += 1
        if key == "config":
            yield from read_yaml_mapping(Path(text)).items()
        else:
            value = yaml.safe_load(text) if text.startswith(("{", "[")) else text
            yield key.removesuffix("+"), value
