"""Train, swap, tune, compare and use metrics that judge radiology reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from radreward.scorers import load as load

__all__ = ["load"]

# bitsandbytes, which peft imports, warns of an optional faster kernel that nobody here needs.
logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)


def __getattr__(name: str) -> Any:
    """`load`, imported when it is first asked for: `import radreward` stays fast."""
    if name == "load":
        from radreward.scorers import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
