"""GREEN: a language model lists errors, and the score counts matched findings and significant errors."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.green.parser import GreenAnswer, parse_green
    from radreward.systems.green.prompt import GreenTemplate
    from radreward.systems.green.score import green_score
    from radreward.systems.green.scorer import GreenScorer

__all__ = ["GreenAnswer", "GreenScorer", "GreenTemplate", "green_score", "parse_green"]

__getattr__ = lazy_exports(__name__)
