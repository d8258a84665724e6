"""Things that a scorer needs and this machine lacks, found without a network and without importing its packages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from radreward.extras import install_command_of_package, is_installed
from radreward.scorers.registry import NamedScorer


def missing_needs(entry: NamedScorer) -> list[str]:
    """Return what a scorer lacks on this machine to score by its name alone, with the remedies; empty if it can score.

    Packages, models and environment variables are looked up, not loaded: a damaged file or a server that does not
    answer is found when the scorer is used.

    >>> from radreward.scorers import SCORERS
    >>> missing_needs(SCORERS["er2score"]), missing_needs(SCORERS["chexbert"])
    ([], ["the folder of CheXbert's weights after a colon"])
    """
    needs = [*_packages(entry), *_models(entry), *_variables(entry)]
    if entry.variables and needs:
        needs[-1] += ", or the folder or Hub name of a language model after a colon"
    if entry.argument_help:
        needs.append(f"{entry.argument_help} after a colon")
    return needs


def _packages(entry: NamedScorer) -> Iterator[str]:
    for package in entry.packages:
        if not is_installed(package):
            yield f"`{package}` ({install_command_of_package(package)})"


def _models(entry: NamedScorer) -> Iterator[str]:
    if entry.folder and not (entry.folder / entry.spec.config_name).is_file():
        yield f"its model in {entry.folder}, which this installation does not contain"
    if "radgraph" in entry.packages and is_installed("radgraph") and not _has_radgraph_model():
        yield "RadGraph's model (--allow-download)"
    for model in entry.hub_models:
        if not _is_cached(model):
            yield f"the model {model} of the Hub (--allow-download)"


def _variables(entry: NamedScorer) -> Iterator[str]:
    if missing := [name for name in entry.variables if not os.environ.get(name, "").strip()]:
        yield f"a server ({' and '.join(missing)})"


def _has_radgraph_model() -> bool:
    """Return True if the package `radgraph` has unpacked its default model, which it does at first use."""
    from appdirs import user_cache_dir

    folder = Path(user_cache_dir("radgraph"), "radgraph")
    return folder.is_dir() and any(folder.iterdir())


def _is_cached(model: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, "config.json"), str)
