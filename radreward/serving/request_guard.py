"""Checks of requests before their body is read, and headers of all answers."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


class RequestGuard:
    """ASGI middleware that refuses bodies that are not JSON, too large or too slow; errors quote no content.

    Args:
        app: The application.
        max_bytes: Maximum size of a body.
        seconds: Maximum time until the whole body has arrived.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float) -> None:
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            if error := self._refusal(scope):
                await error(scope, receive, send_with_headers)
            else:
                await self.app(scope, self._limited(receive), send_with_headers)
        except Exception as error:  # a traceback could quote a report
            logger.error("A request failed: %s", type(error).__name__)
            if not started:
                response = JSONResponse({"error": "Expected an answer but the service failed."}, 500)
                await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """Return the answer to a request whose headers are unusable, or None."""
        headers = dict(scope["headers"])
        if scope["method"] != "POST":
            return None
        content_type = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
        if content_type != "application/json":
            return JSONResponse({"error": f"Expected content type application/json but got {content_type!r}."}, 415)
        if int(headers.get(b"content-length", b"0")) > self.max_bytes:
            return JSONResponse({"error": self._too_large()}, 413)
        return None

    def _limited(self, receive: Receive) -> Receive:
        """Return a `receive` that raises an `HTTPException` once the body is too large or too slow."""
        deadline = asyncio.get_running_loop().time() + self.seconds
        size, complete = 0, False

        async def limited() -> Message:
            nonlocal size, complete
            if complete:  # only a disconnection can follow, at any time
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise HTTPException(
                    408, f"Expected the whole body within {self.seconds:g} s. Send it again."
                ) from error
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > self.max_bytes:
                raise HTTPException(413, self._too_large())
            return message

        return limited

    def _too_large(self) -> str:
        return f"Expected a body of at most {self.max_bytes:,} bytes. Send fewer pairs."
