"""Connections of the server: a limit of their number, and deadlines for headers and for clients that do not read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from radreward.serving.limits import ServiceLimits

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Length: 60\r\n\r\n"
    b'{"error": "Expected fewer connections. Try again in 5 s."}\r\n'
)


def guarded_protocol(limits: ServiceLimits) -> type[H11Protocol]:
    """Return uvicorn's protocol with `max_connections` and `header_seconds`; see `ServiceLimits`."""

    class GuardedProtocol(H11Protocol):
        """A connection that is closed if its client is too slow."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._header_deadline: asyncio.TimerHandle | None = None
            self._write_deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
            """Refuse the connection if there are too many."""
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # `pause_writing` is called as soon as the client does not read
            self._expect_headers()
            if len(self.connections) > limits.max_connections:
                transport.write(_FULL)
                transport.close()

        def on_response_complete(self) -> None:
            """Wait for the next request."""
            self._expect_headers()
            super().on_response_complete()

        def pause_writing(self) -> None:
            """Close the connection unless the client reads in time."""
            super().pause_writing()
            self._write_deadline = self.loop.call_later(limits.header_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            """Go on: the client has read."""
            super().resume_writing()
            _cancel(self._write_deadline)

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget the deadlines."""
            _cancel(self._header_deadline)
            _cancel(self._write_deadline)
            super().connection_lost(exc)

        def _expect_headers(self) -> None:
            _cancel(self._header_deadline)
            self._header_deadline = self.loop.call_later(limits.header_seconds, self._end_if_headers_miss)

        def _end_if_headers_miss(self) -> None:
            if self.cycle is None or self.cycle.response_complete:  # no request has begun since
                self.transport.abort()

    return GuardedProtocol


def _cancel(deadline: asyncio.TimerHandle | None) -> None:
    if deadline is not None:
        deadline.cancel()
