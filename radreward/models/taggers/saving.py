"""Taggers by name or folder."""

from __future__ import annotations

from pathlib import Path

from radreward.errors import InputError
from radreward.models.taggers.base import Tagger
from radreward.models.taggers.folder import CONFIG, FORMAT, read_config
from radreward.models.taggers.rules import RuleTagger


def load_tagger(name: str | Path) -> Tagger:
    """A tagger: `rules`, or a folder that `save_pretrained` wrote. Nothing in the folder is executed.

    Raises:
        InputError: If there is none; names file and field.

    >>> type(load_tagger("rules")).__name__
    'RuleTagger'
    """
    if name == "rules":
        return RuleTagger()
    config = read_config(name)
    if config.get("format") != FORMAT or config.get("kind") != "rules":
        raise InputError(f"{Path(name) / CONFIG}: Expected `format` {FORMAT} and `kind` rules.")
    return RuleTagger()
