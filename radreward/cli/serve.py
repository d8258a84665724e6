"""`radreward serve`: scores over HTTP, and a page on which two reports are compared."""

from __future__ import annotations

from collections.abc import Sequence

from radreward.cli.inputs import check_scorers
from radreward.errors import InputError
from radreward.io.terminal import print_line


def run(
    *,
    scorers: Sequence[str] = ("er2score", "ratescore", "sentence-eval"),
    host: str = "127.0.0.1",
    port: int = 8000,
    max_pairs: int = 100,
    max_requests: int = 32,
    timeout: float = 120.0,
) -> int:
    """Serve metrics over HTTP, with a page on which two reports are compared.

    Nothing is stored, and no report is logged. There is no login: with another host than 127.0.0.1, everybody who
    reaches the port can score. Ctrl-C ends it, after the requests that it has accepted.

    Args:
        scorers: Names (see `radreward list`), folders of saved models or of runs, or my_file.py:my_metric.
        host: Address to listen on; 0.0.0.0 for all of this machine's.
        port: Port to listen on; 0 for a free one.
        max_pairs: Maximum number of pairs in a request.
        max_requests: Number of requests that may wait or be scored at a time; others get status 503.
        timeout: Seconds after which a request fails.
    """
    for name, value in (("max-pairs", max_pairs), ("max-requests", max_requests), ("timeout", timeout)):
        if value <= 0:
            raise InputError(f"--{name}: Expected a number > 0 but got {value}.")
    check_scorers(scorers)
    from radreward.serving.server import listen, serve_app

    with listen(host, port) as listener:
        from radreward.scoring import load_scorers
        from radreward.serving.app import ServiceLimits, create_app

        loaded = load_scorers(scorers).scorers
        app = create_app(loaded, ServiceLimits(max_pairs=max_pairs, max_requests=max_requests, seconds=timeout))
        print_line(f"Serving {', '.join(loaded)}: http://{host}:{listener.getsockname()[1]}")
        serve_app(app, listener)
    print_line("Stopped.")
    return 0
