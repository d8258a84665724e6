"""The socket of the service, and its server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from radreward.errors import InputError
from radreward.extras import require_extra

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from radreward.serving.limits import ServiceLimits

_MAX_PORT = 65535


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a listening socket; clients that connect before the server starts wait.

    Args:
        host: Name or address of this machine.
        port: Port; 0 for a free one.

    Raises:
        InputError: If the address cannot be used, or the packages of the extra `serve` are not installed.
    """
    require_extra("The service", "serve")
    if not 0 <= port <= _MAX_PORT:
        raise InputError(f"--port: Expected a port from 0 to {_MAX_PORT} but got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        message = f"{host}:{port}: cannot be used ({error.strerror}). Choose another --host or --port."
        raise InputError(message) from error
    with listener:
        yield listener


def serve_app(app: FastAPI, listener: socket.socket, limits: ServiceLimits) -> None:
    """Serve on a socket until SIGINT or SIGTERM, then answer the accepted requests. Requests are not logged."""
    import uvicorn

    with suppress(KeyboardInterrupt):  # the server raises it again after it has stopped
        uvicorn.Server(server_config(app, limits)).run(sockets=[listener])


def server_config(app: FastAPI, limits: ServiceLimits) -> uvicorn.Config:
    """Return the configuration of the server, with the limits of its connections."""
    import uvicorn

    from radreward.serving.connections import guarded_protocol

    return uvicorn.Config(
        app,
        http=guarded_protocol(limits),
        ws="none",
        proxy_headers=False,
        log_level="error",
        access_log=False,
        server_header=False,
    )
