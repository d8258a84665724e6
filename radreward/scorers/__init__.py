"""Metrics that score candidate reports against references, by name, from a folder or from a user's file."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer
    from radreward.scorers.crimson_rates import FindingRates, finding_rates
    from radreward.scorers.loading import ResolvedScorer, load, resolve
    from radreward.scorers.pair_errors import PairError
    from radreward.scorers.registry import SCORERS, NamedScorer

__all__ = [
    "FindingRates",
    "NamedScorer",
    "PairError",
    "ResolvedScorer",
    "SCORERS",
    "Scorer",
    "finding_rates",
    "load",
    "resolve",
]

__getattr__ = lazy_exports(__name__)
