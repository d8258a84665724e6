"""Text in, scores out."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.errors import InputError
from radreward.lazy import lazy
from radreward.models import CONFIG

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer
    from radreward.scorers.files import Summary, score_file
    from radreward.scorers.reward_model import RewardModelScorer

EMBEDDED = Path(__file__).parent / "embedded"


class Kind(NamedTuple):
    """A kind of scorer that can be loaded."""

    settings: str
    """The file of settings by which a saved one is known."""
    module: str
    name: str


REWARD_MODEL = Kind(CONFIG, "radreward.scorers.reward_model", "RewardModelScorer")
RATESCORE = Kind("ratescore.json", "radreward.scorers.ratescore", "RaTEScore")
KINDS = (REWARD_MODEL, RATESCORE)
NAMES: dict[str, tuple[Kind, Path | None]] = {"embedded": (REWARD_MODEL, EMBEDDED), "ratescore": (RATESCORE, None)}
"""What is in the package: its kind, and its folder where one is needed."""

__all__ = ["NAMES", "RewardModelScorer", "Scorer", "Summary", "find", "load", "score_file"]

__getattr__ = lazy(__name__)


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """The scorer of a name, of a saved model's folder, or of the folder of the run that trained it.

    Args:
        name_or_path: A name of `NAMES`, or a folder.
        settings: Those of `from_pretrained` of the scorer, such as `too_long`.

    Raises:
        InputError: If it is none of these.
    """
    kind, folder = find(name_or_path)  # told before anything heavy is imported
    scorer: Scorer = getattr(import_module(kind.module), kind.name).from_pretrained(folder, **settings)
    return scorer


def find(name_or_path: str | Path) -> tuple[Kind, Path | None]:
    """Of what kind a scorer is and in which folder it lies; None where the package alone makes it.

    Raises:
        InputError: If there is none of that name or in that folder.
    """
    if str(name_or_path) in NAMES:
        return NAMES[str(name_or_path)]
    path = Path(name_or_path).expanduser()
    if not path.is_dir():
        raise InputError(f"{path}: Expected the folder of a model or a name of {', '.join(NAMES)}.")
    for kind in KINDS:
        for folder in (path / "model", path):
            if (folder / kind.settings).is_file():
                return kind, folder
    if (path / "config.yaml").is_file():
        raise InputError(f"{path}: holds a run without a model; finish it with `radreward fit ... --ckpt_path=last`.")
    expected = " or ".join(kind.settings for kind in KINDS)
    raise InputError(f"{path}: Expected a folder with {expected}, or one whose folder model/ has them.")
