"""Options of the commands that load scorers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ScorerOptions:
    """Settings of a scorer.

    Args:
        device: Device of the models: `auto` for the best of this machine (the first CUDA GPU, else MPS, else the CPU),
            or a name such as cuda, cuda:1, mps or cpu.
        precision: Precision of the encoder of `sentence-eval` and reward models; bf16 is less exact, and faster on a
            CPU with AMX or AVX512-BF16.
        on_too_long: Reject or truncate a report over the model's limit; the status of its pair names it.
        allow_download: Download models from the Hub that are not on this machine; no report is sent.
    """

    device: str = "auto"
    precision: Literal["fp32", "bf16"] = "fp32"
    on_too_long: Literal["reject", "truncate"] = "reject"
    allow_download: bool = False
