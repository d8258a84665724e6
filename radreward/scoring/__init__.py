"""Score files: chunks, resume, local and Ray backends."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.scoring.file_scoring import ScoringSummary, score_file

__all__ = ["ScoringSummary", "score_file"]

__getattr__ = lazy_exports(__name__)
