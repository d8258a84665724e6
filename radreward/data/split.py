"""Training and validation splits without common references."""

from __future__ import annotations

import hashlib


def is_held_out(reference: str, fraction: float, seed: int | str = 0) -> bool:
    """Return True if a reference belongs to the held-out split; depends on its text and the seed alone, not on order.

    Texts that differ only in case and white space count as one reference. To split a split again, use another seed;
    with the same seed and fraction, all of it falls on one side.

    Raises:
        ValueError: If `fraction` is not in [0, 1].

    >>> is_held_out("No effusion.", 0.5) == is_held_out(" no  effusion. ", 0.5)
    True
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Expected `fraction` to be in [0, 1] but got {fraction}.")
    digest = hashlib.sha256(f"{seed}\0{normalize_text(reference)}".encode()).digest()
    return int.from_bytes(digest[:8]) < fraction * 2**64


def normalize_text(text: str) -> str:
    """Return a text without differences in case and white space, for comparison."""
    return " ".join(text.casefold().split())
