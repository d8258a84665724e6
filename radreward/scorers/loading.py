"""Scorers by name, from a saved folder, from the Hub, or from a user's file."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward._lazy_imports import import_object
from radreward.errors import InputError
from radreward.io.hub import download_model, parse_hub_name
from radreward.scorers.registry import CUSTOM, SCORER_SPECS, SCORERS, NamedScorer, ScorerSpec

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer


class ResolvedScorer(NamedTuple):
    """Class, folder and settings of a scorer."""

    spec: ScorerSpec
    folder: Path | None
    """None if the scorer is built from its settings only."""
    settings: dict[str, Any]


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """Load a scorer by its name, from the folder of a saved model or a run, from the Hub, or from a user's file.

    Args:
        name_or_path: A key of `SCORERS`, a folder, `owner/name` or `owner/name@revision` of the Hugging Face Hub, or
            `my_file.py:my_metric` (see `CustomScorer`).
        settings: Arguments of the scorer's `from_pretrained`, such as `on_too_long`. Without `allow_download=True`,
            models of the Hub are only read from the cache of this machine, and nothing is sent.

    Raises:
        InputError: If there is no such scorer or setting, or the scorer needs an extra that is not installed.
    """
    if not isinstance(name_or_path, str | Path):
        raise InputError(f"Expected the name or the folder of a scorer but got {type(name_or_path).__name__}.")
    resolved = resolve(name_or_path, bool(settings.get("allow_download")))  # reports errors before heavy imports
    scorer_class = import_object(resolved.spec.class_path)
    if resolved.spec is not CUSTOM:  # a user's file decides about its own settings
        _check_settings(str(name_or_path), scorer_class, settings)
    scorer: Scorer = scorer_class.from_pretrained(resolved.folder, **{**resolved.settings, **settings})
    if (named := SCORERS.get(str(name_or_path))) and not named.without_argument:
        scorer.title = named.title
    scorer.title = scorer.title or str(name_or_path)
    return scorer


def resolve(name_or_path: str | Path, allow_download: bool = False) -> ResolvedScorer:
    """Return the class, folder and settings of a scorer without importing it.

    Args:
        name_or_path: See `load`.
        allow_download: Allow the download of a model from the Hub.

    Raises:
        InputError: If there is no scorer of that name or in that folder.
    """
    name, _, value = str(name_or_path).partition(":")
    if (named := SCORERS.get(name)) and (named.argument or not value):
        return _resolve_named(name, named, value)
    path = Path(name_or_path).expanduser()
    file, _, metric = str(path).rpartition(":")
    if file.endswith(".py") and metric:
        return ResolvedScorer(CUSTOM, path, {})
    if path.is_dir():
        return _resolve_folder(path)
    if hub_name := parse_hub_name(str(name_or_path)):
        return _resolve_folder(download_model(hub_name, allow_download))
    if str(name_or_path).startswith((".", "~")) or len(path.parts) > 1:
        raise InputError(f"{path}: Expected the folder of a model or of a run but there is no such folder.")
    if "," in str(name_or_path):
        raise InputError(f"{name_or_path}: Expected one scorer but got several. Separate their names by spaces.")
    similar = get_close_matches(str(name_or_path).lower(), SCORERS, n=1)
    if similar:
        raise InputError(
            f"{path}: Expected a scorer but there is none of this name. Did you mean {similar[0]}? "
            "`radreward list` prints all names."
        )
    raise InputError(
        f"{path}: Expected the folder of a model, my_file.py:my_metric, or a name that `radreward list` prints."
    )


def split_name(model: str | Path) -> tuple[str | None, str]:
    """Return name and model of `NAME=MODEL`; the name is None if there is none, also in folders such as `lr=0.1`.

    >>> split_name("mine=runs/first"), split_name("runs/lr=0.1")
    (('mine', 'runs/first'), (None, 'runs/lr=0.1'))
    """
    name, _, rest = str(model).partition("=")
    is_named = name and rest and not set(name) & set("/\\:~") and not Path(model).exists()
    return (name, rest) if is_named else (None, str(model))


def _resolve_named(name: str, named: NamedScorer, value: str) -> ResolvedScorer:
    if named.argument_help and not value:
        raise InputError(
            f"{name}: Expected {named.argument_help} after a colon, as in {name}:{named.argument_example}."
        )
    if named.folder and not (named.folder / named.spec.config_name).is_file():
        raise InputError(f"{name}: Expected the model in {named.folder} but this installation does not contain it.")
    if not value and named.without_argument:
        return ResolvedScorer(named.without_argument, None, {})
    return ResolvedScorer(named.spec, named.folder, named.settings | ({named.argument: value} if value else {}))


def _resolve_folder(path: Path) -> ResolvedScorer:
    for spec in SCORER_SPECS:
        for folder in (path / "model", path):
            if (folder / spec.config_name).is_file():
                return ResolvedScorer(spec, folder, {})
    if (path / "best.yaml").is_file() and (path / "trials").is_dir():
        raise InputError(
            f"{path}: Expected the folder of a model or of a run but it has a study. Name the folder of a trial, such "
            f"as {path / 'trials' / '0'}; the first line of {path / 'best.yaml'} states the best one."
        )
    if (path / "config.yaml").is_file():
        raise InputError(f"{path}: contains a run without a model; {finishing_remedy(path)}.")
    raise InputError(
        f"{path}: Expected the folder of a saved scorer or of a run but it contains no config.json or similar file."
    )


def finishing_remedy(run: Path) -> str:
    """Return how to finish a run that stopped: it resumes from its checkpoint, or it starts again without one."""
    if (run / "checkpoints" / "last.ckpt").exists():  # a folder if the model was sharded
        return "finish it with `radreward fit ... --ckpt-path=last`"
    return "it has no checkpoint: start it again with `radreward fit ... --overwrite`"


def _check_settings(name: str, scorer_class: type, settings: Mapping[str, Any]) -> None:
    """Check that a scorer has these settings, and that this machine has the `device`, if given."""
    known = dict(inspect.signature(scorer_class.from_pretrained).parameters)  # type: ignore[attr-defined]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        known |= inspect.signature(scorer_class).parameters
    names = [name for name in known if name not in ("folder", "settings")]
    for setting in settings:
        if setting not in names:
            similar = get_close_matches(setting, names, n=1)
            hint = f" Did you mean {similar[0]}?" if similar else ""
            raise InputError(f"{name}: Expected settings among {', '.join(names)} but got {setting!r}.{hint}")
    if "device" in settings:
        from radreward.devices import resolve_device  # imports PyTorch

        resolve_device(settings["device"])
