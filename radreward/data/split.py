"""Train and validation parts that share no reference."""

from __future__ import annotations

import hashlib


def is_held_out(reference: str, fraction: float, seed: int | str = 0) -> bool:
    """Whether a reference belongs to the held-out part: by its text and the seed alone, so order does not matter.

    Texts that differ in case and white space only are one reference. Whoever splits a part again needs another seed:
    with the same one all of the first part is on one side.

    Raises:
        ValueError: If `fraction` is not in [0, 1].

    >>> held_out("No effusion.", 0.5) == held_out(" no  effusion. ", 0.5)
    True
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Expected `fraction` to be in [0, 1] but got {fraction}.")
    digest = hashlib.sha256(f"{seed}\0{normalize_text(reference)}".encode()).digest()
    return int.from_bytes(digest[:8]) < fraction * 2**64


def normalize_text(text: str) -> str:
    """A text by which references are compared: without differences in case and white space."""
    return " ".join(text.casefold().split())
