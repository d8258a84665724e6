"""Checks of requests before their body is read, and headers of all answers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from radreward.serving.json_response import ExactJSONResponse
from radreward.serving.limits import ServiceLimits, body_too_large, limit_body

if TYPE_CHECKING:
    from collections.abc import Set

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


class RequestGuard:
    """ASGI middleware that refuses unknown hosts and bodies that are not JSON, too large or too slow.

    Errors quote no content of a body.

    Args:
        app: The application.
        limits: Limits of a body.
        trusted_hosts: Names of the service in lower case, without a port. The address at which a request arrives is
            one too.
    """

    def __init__(self, app: ASGIApp, limits: ServiceLimits, trusted_hosts: Set[str]) -> None:
        self.app, self.limits, self.trusted_hosts = app, limits, trusted_hosts

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
        except ClientDisconnect:  # nobody reads an answer
            return
        except Exception as error:  # a traceback could quote a report
            logger.error("A request failed: %s", type(error).__name__)
            if not started:
                response = ExactJSONResponse({"error": "Expected an answer but the service failed."}, 500)
                await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ExactJSONResponse | None:
        """Return the answer to a request whose headers are unusable, or None."""
        headers = dict(scope["headers"])
        host = host_name(headers.get(b"host", b"").decode("latin-1"))
        if host not in self.trusted_hosts and (not scope.get("server") or host != scope["server"][0].lower()):
            message = "Expected a host that this service has, see --trusted-hosts, but got another one."
            return ExactJSONResponse({"error": message}, 421)
        if scope["method"] != "POST":
            return None
        content_type = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
        if content_type != "application/json":
            return ExactJSONResponse(
                {"error": f"Expected content type application/json but got {content_type!r}."}, 415
            )
        if int(headers.get(b"content-length", b"0")) > self.limits.max_bytes:
            error = body_too_large(self.limits)
            return ExactJSONResponse({"error": error.detail}, error.status_code)
        return None


def host_name(header: str) -> str:
    """Return the name or address in a `Host` header, in lower case, without port and brackets.

    >>> host_name("[::1]:8000"), host_name("LOCALHOST:8000"), host_name("example.org")
    ('::1', 'localhost', 'example.org')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()
