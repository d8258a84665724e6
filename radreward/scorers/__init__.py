"""Text in, scores out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.scorers.base import Scorer
from radreward.scorers.files import Summary, score_file
from radreward.scorers.reward_model import RewardModelScorer

NAMES = ("embedded",)

__all__ = ["NAMES", "RewardModelScorer", "Scorer", "Summary", "load", "score_file"]


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """The scorer of a name or of a saved model's folder.

    Args:
        name_or_path: A name of `NAMES`, or a folder.
        settings: Those of `RewardModelScorer.from_pretrained`.

    Raises:
        InputError: If it is neither.
    """
    if str(name_or_path) == "embedded":
        return RewardModelScorer.from_pretrained(Path(__file__).parent / "embedded", **settings)
    if not Path(name_or_path).expanduser().is_dir():
        raise InputError(f"{name_or_path}: Expected the folder of a model or a name of {', '.join(NAMES)}.")
    return RewardModelScorer.from_pretrained(Path(name_or_path).expanduser(), **settings)
