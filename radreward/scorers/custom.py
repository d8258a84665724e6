"""Metrics defined in a user's Python file: `my_file.py:my_metric`."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores

_CUSTOM_METRIC = re.compile(r"(?P<file>.*\.py):(?P<name>\w+)")
"""Syntax of a custom metric's name."""
_MetricFunction = Callable[[str, str], float]


class CustomScorer(Scorer):
    """A function from a reference and a candidate to a number.

    If the function raises or returns no finite number, the pair has no score and a status with the reason. The function
    gets the texts without normalization.

    Args:
        metric: The function, called with the reference and the candidate in this order, unless its two parameters are
            named `candidate` and `reference`. Its attributes `title`, `higher_is_better` and `total_range`, if any,
            become the scorer's.
        source_code: Content of its file, for the fingerprint.

    >>> def common_words(reference, candidate):
    ...     return len(set(reference.split()) & set(candidate.split()))
    >>> CustomScorer(common_words).score(["Clear lungs."], ["Clear heart."]).total
    tensor([1.])
    """

    normalizes_text = False
    chunk_size = 32  # the function may be slow

    def __init__(self, metric: _MetricFunction, source_code: str = "") -> None:
        self.metric, self.source_code = metric, source_code
        self._candidate_first = _parameter_names(metric)[:2] == ["candidate", "reference"]
        self.title = getattr(metric, "title", getattr(metric, "__name__", type(metric).__name__))
        self.higher_is_better = getattr(metric, "higher_is_better", True)
        self.total_range = getattr(metric, "total_range", (None, None))

    @classmethod
    def from_pretrained(cls, folder: str | Path | None, **settings: Any) -> Scorer:
        """Load the metric `file.py:name`: a function, a `Scorer`, or a `Scorer` class without arguments.

        The file is executed. `settings` of saved scorers are ignored.

        Raises:
            InputError: If file or name do not exist, the file cannot be imported, or the object is unsuitable.
        """
        match = _CUSTOM_METRIC.fullmatch(str(folder))
        if match is None:
            raise InputError(f"{folder}: Expected a metric as my_file.py:my_metric.")
        path = Path(match["file"]).expanduser()
        value: Any = getattr(_import_file(path), match["name"], None)
        if isinstance(value, type) and issubclass(value, Scorer):
            try:
                scorer: Scorer = value()
                return scorer
            except Exception as error:
                raise InputError(f"{folder}: cannot be constructed ({type(error).__name__}: {error}).") from error
        if isinstance(value, Scorer):
            return value
        if isinstance(value, type) or not callable(value):
            actual = "there is no such name" if value is None else f"got an object of type {type(value).__name__}"
            actual = "got another class" if isinstance(value, type) else actual
            raise InputError(f"{folder}: Expected a function or a Scorer of that name but {actual}.")
        return cls(value, path.read_text(encoding="utf-8"))

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        rows = [self._score_row(*pair) for pair in zip(references, candidates, strict=True)]
        total = torch.tensor([value for value, _ in rows], dtype=torch.float32)
        return Scores(total, None, None, tuple(status for _, status in rows))

    def _score_row(self, reference: str, candidate: str) -> tuple[float, str]:
        """Return score and status of a pair."""
        try:
            value = self.metric(*((candidate, reference) if self._candidate_first else (reference, candidate)))
        except Exception as error:  # an error of the user's function affects its row only
            return math.nan, f"{self.title} raised {type(error).__name__}: {error}"
        try:
            return float(value), STATUS_OK
        except (TypeError, ValueError):
            return math.nan, f"Expected a number from {self.title} but got {type(value).__name__}"

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`. The hash covers the file, but not its imports."""
        return fingerprint(self.title, self.source_code)

    def save_pretrained(self, folder: str | Path) -> None:
        """Raise, because a folder contains settings and weights, never code.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{self.title} cannot be saved because it is code; load it from its file.")


def _parameter_names(metric: _MetricFunction) -> list[str]:
    """Return the names of a function's parameters; empty for built-in functions without a signature."""
    try:
        return list(inspect.signature(metric).parameters)
    except ValueError:
        return []


def _import_file(path: Path) -> Any:
    """Execute a Python file and return it as a module."""
    if not path.is_file():
        raise InputError(f"{path}: Expected a Python file with a metric but there is no such file.")
    name = "radreward_custom_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: Expected a Python file but its name does not end in .py. Rename it.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: cannot be imported ({type(error).__name__}: {error}).") from error
    return module
