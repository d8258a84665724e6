"""Scoring of files and data frames: chunks, resume, and backends: this process, several, or Ray."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.scoring.backends import LocalBackend, ScoringBackend
    from radreward.scoring.file_scoring import ScoringSummary, score_file
    from radreward.scoring.frame_scoring import score_frame
    from radreward.scoring.input_columns import InputColumns
    from radreward.scoring.process_backend import ProcessBackend
    from radreward.scoring.ray_backend import RayBackend
    from radreward.scoring.score_columns import ScorerGroup, load_scorers

__all__ = [
    "InputColumns",
    "LocalBackend",
    "ProcessBackend",
    "RayBackend",
    "ScorerGroup",
    "ScoringBackend",
    "ScoringSummary",
    "load_scorers",
    "score_file",
    "score_frame",
]

__getattr__ = lazy_exports(__name__)
