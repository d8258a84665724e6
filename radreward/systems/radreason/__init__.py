"""RadReason: a language model that reasons and states one error count per criterion."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.radreason.parser import parse_radreason
    from radreward.systems.radreason.prompt import RadReasonTemplate, format_radreason
    from radreward.systems.radreason.scorer import RadReasonScorer

__all__ = ["RadReasonScorer", "RadReasonTemplate", "format_radreason", "parse_radreason"]

__getattr__ = lazy_exports(__name__)
