"""Limits of a service: size and arrival time of a request, number and length of its pairs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from radreward.text.normalization import MAX_REPORT_CHARS

if TYPE_CHECKING:
    from starlette.types import Message, Receive


_CHARS_PER_PAIR = 4_000
"""Characters of a pair, on average; a report of a chest radiograph rarely has more than 1,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Limits of a service.

    Attributes:
        max_pairs: Pairs in a request.
        max_bytes: Size of a request.
        max_requests: Maximum number of requests that wait or are scored.
        seconds: Maximum time of a request, and of the arrival of its body.
        max_connections: Maximum number of open connections; further ones get status 503 and are closed.
        header_seconds: Maximum time until all headers of a request have arrived, from the start of the connection or
            the answer to the request before; also of a client that does not read its answer.
    """

    max_pairs: int = 100
    max_bytes: int = 5_000_000
    max_requests: int = 32
    seconds: float = 120.0
    max_connections: int = 128
    header_seconds: float = 10.0

    @property
    def max_chars(self) -> int:
        """Characters of all texts of a request: 4,000 per pair, and at least those of a pair of maximum length."""
        return max(_CHARS_PER_PAIR * self.max_pairs, 3 * MAX_REPORT_CHARS)


def check_pairs(num_pairs: int, num_chars: int, limits: ServiceLimits) -> None:
    """Raise an `HTTPException` if a request has too many pairs or characters."""
    if num_pairs > limits.max_pairs:
        raise HTTPException(413, f"Expected at most {limits.max_pairs} pairs but got {num_pairs}.")
    if num_chars > limits.max_chars:
        message = f"Expected at most {limits.max_chars:,} characters in all pairs but got {num_chars:,}."
        raise HTTPException(413, f"{message} Send fewer pairs.")


def body_too_large(limits: ServiceLimits) -> HTTPException:
    """Return the error for a body that is too large."""
    return HTTPException(413, f"Expected a body of at most {limits.max_bytes:,} bytes. Send fewer pairs.")


def limit_body(receive: Receive, limits: ServiceLimits) -> Receive:
    """Return a `receive` that raises an `HTTPException` once the body is too large or too slow."""
    deadline = asyncio.get_running_loop().time() + limits.seconds
    size, complete = 0, False

    async def limited() -> Message:
        nonlocal size, complete
        if complete:  # only a disconnection can follow, at any time
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(408, f"Expected the whole body within {limits.seconds:g} s. Send it again.") from error
        size += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if size > limits.max_bytes:
            raise body_too_large(limits)
        return message

    return limited
