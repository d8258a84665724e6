"""Checks of requests before their body is read, and headers of all answers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from radreward.serving.limits import ServiceLimits, body_too_large, limit_body

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
        limits: Limits of a body.
    """

    def __init__(self, app: ASGIApp, limits: ServiceLimits) -> None:
        self.app, self.limits = app, limits

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
                await self.app(scope, limit_body(receive, self.limits), send_with_headers)
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
        if int(headers.get(b"content-length", b"0")) > self.limits.max_bytes:
            error = body_too_large(self.limits)
            return JSONResponse({"error": error.detail}, error.status_code)
        return None
