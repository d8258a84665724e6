"""A scorer of words in common, and pairs for it."""

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores


class Overlap(Scorer):
    """Fraction of the candidate's words that the reference has.

    Logs every candidate, fails at `fails_at`, and closes `started` when it starts to score.
    """

    def __init__(
        self, log: Path | None = None, seconds: float = 0.0, fails_at: str | None = None, started: Path | None = None
    ) -> None:
        self.log, self.seconds, self.fails_at, self.started = log, seconds, fails_at, started

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        pairs = [(set(r.split()), set(c.split())) for r, c in zip(references, candidates, strict=True)]
        if self.started:
            self.started.write_text("")
        time.sleep(self.seconds)
        if self.fails_at in candidates:
            raise RuntimeError("out of memory")
        if self.log:
            with self.log.open("a") as file:
                file.writelines(candidate + "\n" for candidate in candidates)
        total = torch.tensor([len(r & c) / len(c) for r, c in pairs])
        return Scores(total, None, None, (STATUS_OK,) * len(pairs))

    def fingerprint(self) -> str:
        return "overlap"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


def make_pairs(number: int) -> list[dict[str, Any]]:
    """Return pairs with a score of one half."""
    return [
        {"id": f"r{i}", "reference": "clear lungs", "candidate": f"clear word{i}", "site": i} for i in range(number)
    ]


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    """Write rows, or lines of text, as JSON lines."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def write_pairs(path: Path, number: int, empty: Collection[int] = ()) -> Path:
    """Write pairs, some without a candidate, as JSON lines."""
    pairs = make_pairs(number)
    return write_rows(path, [{**pair, "candidate": ""} if i in empty else pair for i, pair in enumerate(pairs)])
