"""Text in, scores out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.errors import InputError
from radreward.lazy import lazy
from radreward.models import CONFIG

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer
    from radreward.scorers.files import Summary, score_file
    from radreward.scorers.reward_model import RewardModelScorer

NAMES = ("embedded", "ratescore")
EMBEDDED = Path(__file__).parent / "embedded"

__all__ = ["NAMES", "RewardModelScorer", "Scorer", "Summary", "load", "score_file"]

__getattr__ = lazy(__name__)


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """The scorer of a name, of a saved model's folder, or of the folder of the run that trained it.

    Args:
        name_or_path: A name of `NAMES`, or a folder.
        settings: Those of `from_pretrained` of the scorer, such as `too_long`.

    Raises:
        InputError: If it is none of these.
    """
    if (own := _ratescore(name_or_path)) is not None:
        from radreward.scorers.ratescore import RaTEScore

        return RaTEScore.from_pretrained(own or None, **settings)
    folder = model_folder(name_or_path)  # told before anything heavy is imported
    from radreward.scorers.reward_model import RewardModelScorer

    return RewardModelScorer.from_pretrained(folder, **settings)


def model_folder(name_or_path: str | Path) -> Path:
    """Where the saved model of a name or a folder is; raises as `load` does."""
    if str(name_or_path) == "embedded":
        if not (EMBEDDED / CONFIG).is_file():
            raise InputError(f"{name_or_path}: Expected the model in {EMBEDDED} but this installation has none.")
        return EMBEDDED
    path = Path(name_or_path).expanduser()
    if not path.is_dir():
        raise InputError(f"{path}: Expected the folder of a model or a name of {', '.join(NAMES)}.")
    found = next((folder for folder in (path, path / "model") if (folder / CONFIG).is_file()), None)
    if found is None:
        raise InputError(f"{path}: Expected a folder with {CONFIG} or model/{CONFIG} but it has neither.")
    return found


def _ratescore(name_or_path: str | Path) -> str | None:
    """The folder of a saved RaTEScore, "" for the one that is in the package, None for anything else."""
    if str(name_or_path) == "ratescore":
        return ""
    path = Path(name_or_path).expanduser()
    return next((str(folder) for folder in (path, path / "model") if (folder / "ratescore.json").is_file()), None)
