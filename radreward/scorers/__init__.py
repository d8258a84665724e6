"""Metrics that score candidate reports against references, by name, from a folder or from a user's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer as Scorer
    from radreward.scorers.registry import SCORER_SPECS as SCORER_SPECS
    from radreward.scorers.registry import SCORERS as SCORERS
    from radreward.scorers.registry import NamedScorer as NamedScorer
    from radreward.scorers.registry import ResolvedScorer as ResolvedScorer
    from radreward.scorers.registry import ScorerSpec as ScorerSpec
    from radreward.scorers.registry import load as load
    from radreward.scorers.registry import resolve as resolve

__all__ = ["SCORERS", "SCORER_SPECS", "NamedScorer", "ResolvedScorer", "Scorer", "ScorerSpec", "load", "resolve"]

__getattr__ = lazy_exports(__name__)
