"""Train, compare, tune and apply metrics that judge radiology reports."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.integrations.torchmetrics import ScorerMetric as ScorerMetric
    from radreward.scorers.loading import load as load
    from radreward.scoring.frame_scoring import score_frame as score_frame

__all__ = ["ScorerMetric", "__version__", "load", "score_frame"]
__version__ = version("radreward")

__getattr__ = lazy_exports(__name__)

# bitsandbytes, imported by peft, warns about an optional kernel that is not used here.
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
