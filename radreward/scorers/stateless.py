"""Scorers without trained weights: saved as a JSON file of their settings."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

import torch

from radreward.extras import require_packages
from radreward.io.artifacts import file_fingerprint, fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import check_settings, config_errors, read_config
from radreward.models.precision import require_fp32
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores


class StatelessScorer(Scorer):
    """A scorer defined by its settings. Subclasses implement `compute_totals`, or `_score_valid` for more than totals.

    Attributes:
        config_name: Name of the JSON file that identifies a saved scorer.
        packages: Optional packages that the scorer imports.
        source_modules: Modules besides the scorer's own that determine the scores.
        setting_names: Arguments of the constructor that determine the scores. The scorer must have attributes of these
            names.

    Raises:
        InputError: If a package is not installed. The message names the extra.
    """

    config_name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    source_modules: ClassVar[tuple[ModuleType, ...]] = ()
    setting_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        require_packages(self.title, *self.packages)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> Sequence[float]:
        """Return the totals of non-empty texts. There may be no texts."""
        raise NotImplementedError(f"{type(self).__name__} must implement `compute_totals` or `_score_valid`.")

    def settings(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {name: getattr(self, name) for name in self.setting_names}

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        total = torch.tensor(self.compute_totals(references, candidates), dtype=torch.float32)
        return Scores(total, None, None, (STATUS_OK,) * len(references))

    def code_version(self) -> str:
        """Return hashes of the source files and versions of the packages that determine the scores."""
        classes = [c for c in type(self).__mro__ if issubclass(c, StatelessScorer) and c is not StatelessScorer]
        files = [*map(inspect.getfile, classes), *map(inspect.getfile, self.source_modules)]
        hashes = map(file_fingerprint, files)
        return " ".join([*hashes, *(f"{name} {version(name)}" for name in self.packages)])

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`. Rules and weights decide whether a text is a report."""
        if not self.requires_report:
            return fingerprint(type(self).__name__, self.settings(), self.code_version())
        from radreward.models.rules_version import rules_version  # imports the encoder

        return fingerprint(type(self).__name__, self.settings(), self.code_version(), rules_version())

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`."""
        with atomic_folder(folder, {self.config_name}, self.config_name) as scratch:
            write_model_settings(scratch / self.config_name, {"settings": self.settings()})

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: str = "fp32",
        on_too_long: str = "reject",
        device: str = "auto",
        allow_download: bool = False,
        **settings: Any,
    ) -> Self:
        """Load a saved scorer, or build one from settings.

        Args:
            folder: Folder of a saved scorer; None to use `settings`.
            precision: Must be fp32.
            on_too_long: Passed on to scorers with a maximum length: "reject" or "truncate".
            device: Passed on to scorers with a model.
            allow_download: Passed on to scorers with a model from the Hugging Face Hub.
            settings: Constructor arguments.

        Raises:
            InputError: If the file is missing or invalid, or `precision` is not fp32.
        """
        require_fp32(precision, cls.__name__)
        options = {"on_too_long": on_too_long, "device": device, "allow_download": allow_download}
        parameters = inspect.signature(cls).parameters
        options = {name: value for name, value in options.items() if name in parameters}
        if folder is None:
            return cls(**{**options, **settings})
        path = Path(folder, cls.config_name)
        saved = read_config(path, {"settings"})["settings"]
        with config_errors(path):
            check_settings(cls, saved, "settings")
            return cls(**{**options, **saved})
