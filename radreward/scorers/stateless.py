"""Scorers that a few settings make: what they share."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
from abc import abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

import torch

from radreward.errors import InputError
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.types import Scores

FORMAT = 1


class StatelessScorer(Scorer):
    """One number a pair, by a scorer without weights of its own: saved, it is a small JSON of its settings.

    Attributes:
        file: What that JSON is called; by it a saved one is known.
        packages: What it imports that may not be there.
        extra: The extra of this package that installs them.
        uses: Modules whose code, beside its own, decides the scores.

    Raises:
        InputError: If a package is not there; names the extra.
    """

    config_name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""
    source_modules: ClassVar[tuple[ModuleType, ...]] = ()

    def __init__(self) -> None:
        if missing := [name for name in self.packages if importlib.util.find_spec(name) is None]:
            how = f"pip install 'radreward[{self.extra}]'"
            raise InputError(f"{self.title} needs `{missing[0]}`, of the extra `{self.extra}`: {how}.")

    @abstractmethod
    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> Sequence[float]:
        """The totals of texts that are not empty; called by `score_texts`, maybe with none."""

    def settings(self) -> dict[str, Any]:
        """The arguments of the constructor, as JSON holds them."""
        return {}

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        total = torch.tensor(self.compute_totals(references, candidates), dtype=torch.float32)
        return Scores(total, None, None, (STATUS_OK,) * len(references))

    def code_version(self) -> str:
        """What scores depend on beside the settings: this code and the versions of the packages."""
        kinds = [
            kind for kind in type(self).__mro__ if issubclass(kind, StatelessScorer) and kind is not StatelessScorer
        ]
        files = [*map(inspect.getfile, kinds), *map(inspect.getfile, self.source_modules)]
        parts = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
        return " ".join([*parts, *(f"{name} {version(name)}" for name in self.packages)])

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        told = json.dumps([type(self).__name__, self.settings(), self.code_version()], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; refuses a folder that holds something else."""
        folder = Path(folder)
        if (
            folder.exists()
            and not (folder / self.config_name).is_file()
            and (folder.is_file() or any(folder.iterdir()))
        ):
            raise InputError(f"{folder}: Expected a folder that is new, empty or holds {self.config_name}.")
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": FORMAT, "settings": self.settings()}, indent=2)
        (folder / self.config_name).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: str = "fp32",
        on_too_long: str = "reject",
        device: str = "cpu",
        allow_download: bool = False,
        **settings: Any,
    ) -> Self:
        """What `save_pretrained` wrote, or one with the given settings.

        Args:
            folder: Where it is; without one, `settings` say what it is.
            precision: fp32 only.
            too_long: What a scorer with a limit does; others read everything.
            device: Where a scorer with a model runs.
            download: Whether a scorer with a model may fetch it from the hub.
            settings: The constructor's arguments.

        Raises:
            InputError: If the file is missing or broken, or another precision is asked for.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for {cls.__name__} but got {precision}.")
        given = settings if folder is None else _read_settings(Path(folder, cls.config_name))
        here = {"too_long": on_too_long, "device": device, "download": allow_download}
        known = inspect.signature(cls).parameters
        given = {**{name: value for name, value in here.items() if name in known}, **given}
        if folder is None:
            return cls(**given)
        try:
            return cls(**given)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"{Path(folder, cls.config_name)}: {error}") from error


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: Expected the settings of a scorer ({error}).") from error
    if not isinstance(saved, dict) or set(saved) != {"format", "settings"} or saved["format"] != FORMAT:
        raise InputError(f"{path}: Expected `format` {FORMAT} and `settings`.")
    if not isinstance(saved["settings"], dict):
        raise InputError(f"{path}: Expected `settings` to be a mapping but got {type(saved['settings']).__name__}.")
    return saved["settings"]
