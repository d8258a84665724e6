"""Score files: chunks, resume, local and Ray backends."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy

if TYPE_CHECKING:
    from radreward.scoring.score_file import Summary, score_file

__all__ = ["Summary", "score_file"]

__getattr__ = lazy(__name__)
