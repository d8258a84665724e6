"""A metric in a file of one's own, as a scorer: `my_file.py:my_metric`."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from radreward.errors import InputError
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.types import Scores

CUSTOM_METRIC = re.compile(r"(?P<file>.*\.py):(?P<name>\w+)")
"""How such a metric is named."""
MetricFunction = Callable[[str, str], float]


class CustomScorer(Scorer):
    """A function that takes a reference and a candidate and gives a number.

    A pair for which it raises, or gives no finite number, has no score, and its status says why.

    Args:
        metric: The function. Its attributes `title`, `higher_is_better` and `range`, where it has them, are the
            scorer's.
        source: What its scores depend on: the text of its file.

    >>> def shared(reference, candidate):
    ...     return len(set(reference.split()) & set(candidate.split()))
    >>> CustomScorer(shared).score(["Clear lungs."], ["Clear heart."]).total
    tensor([1.])
    """

    def __init__(self, metric: MetricFunction, source_code: str = "") -> None:
        self.metric, self.source_code = metric, source_code
        self.title = getattr(metric, "title", getattr(metric, "__name__", type(metric).__name__))
        self.higher_is_better = getattr(metric, "higher_is_better", True)
        self.total_range = getattr(metric, "range", (None, None))

    @classmethod
    def from_pretrained(cls, folder: str | Path | None, **settings: Any) -> Scorer:
        """The metric `file.py:name`: a function, or a `Scorer` or a class of it that needs no arguments.

        The file is run. `settings`, which saved scorers take, do not concern it.

        Raises:
            InputError: If there is no such file or name, it cannot be imported, or it is nothing of these.
        """
        found = CUSTOM_METRIC.fullmatch(str(folder))
        if found is None:
            raise InputError(f"{folder}: Expected a metric as my_file.py:my_metric.")
        path = Path(found["file"]).expanduser()
        value: Any = getattr(_import_file(path), found["name"], None)
        if isinstance(value, type) and issubclass(value, Scorer):
            try:
                made: Scorer = value()
                return made
            except Exception as error:
                raise InputError(f"{folder}: cannot be made ({type(error).__name__}: {error}).") from error
        if isinstance(value, Scorer):
            return value
        if isinstance(value, type):
            raise InputError(
                f"{folder}: Expected a function of that name, or a Scorer, but it is a class that is none."
            )
        if not callable(value):
            there = "there is none" if value is None else f"it is of type {type(value).__name__}"
            raise InputError(f"{folder}: Expected a function of that name, or a Scorer, but {there}.")
        return cls(value, path.read_text(encoding="utf-8"))

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        rows = [self._score_row(*pair) for pair in zip(references, candidates, strict=True)]
        total = torch.tensor([value for value, _ in rows], dtype=torch.float32)
        return Scores(total, None, None, tuple(status for _, status in rows))

    def _score_row(self, reference: str, candidate: str) -> tuple[float, str]:
        """Score and status of a pair."""
        try:
            value = self.metric(reference, candidate)
        except Exception as error:  # whatever somebody's function raises concerns its row alone
            return math.nan, f"{self.title} raised {type(error).__name__}: {error}"
        try:
            return float(value), STATUS_OK
        except (TypeError, ValueError):
            return math.nan, f"expected a number from {self.title} but got {type(value).__name__}"

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`: of the file; what that file imports is not seen."""
        return hashlib.sha256(f"{self.title}\0{self.source_code}".encode()).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """Refuses: a folder holds settings and weights, never code.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{self.title} cannot be saved: it is code; load it from its file.")


def _import_file(path: Path) -> Any:
    """The module in a file, run anew."""
    if not path.is_file():
        raise InputError(f"{path}: Expected a Python file with a metric but there is none.")
    name = "radreward_custom_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: Expected a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path}: cannot be imported ({type(error).__name__}: {error}).") from error
    return module
