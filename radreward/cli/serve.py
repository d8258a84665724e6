"""`radreward serve`: scores over HTTP, and a page on which two reports are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from radreward.cli.inputs import check_scorers
from radreward.cli.scorer_options import ScorerOptions
from radreward.errors import InputError
from radreward.io.terminal import print_line


def run(
    *,
    options: ScorerOptions,
    scorers: Sequence[str] = ("er2score", "ratescore", "sentence-eval"),
    host: str = "127.0.0.1",
    port: int = 8000,
    trusted_hosts: Sequence[str] = (),
    max_pairs: int = 100,
    max_requests: int = 32,
    timeout: float = 120.0,
) -> int:
    """Serve metrics over HTTP, with a page on which two reports are compared.

    The service stores nothing and logs no report. It has no login: with another host than 127.0.0.1, anyone who can
    reach the port can score. Ctrl-C stops it after it has answered the accepted requests.

    Args:
        options: Settings of the scorers.
        scorers: Names (see `radreward list`), folders of saved models or of runs, or my_file.py:my_metric;
            mine=runs/first gives a name.
        host: Address to listen on; 0.0.0.0 for all addresses of this machine.
        port: Port to listen on; 0 for a free one.
        trusted_hosts: Names under which clients reach the service, such as reports.example.org. Requests to other
            names than these, localhost and the address at which they arrive are refused.
        max_pairs: Maximum number of pairs in a request; its texts have at most 4,000 characters per pair on average.
        max_requests: Maximum number of requests that wait or are scored; further ones get status 503.
        timeout: Seconds after which a request fails.
    """
    for name, value in (("max-pairs", max_pairs), ("max-requests", max_requests), ("timeout", timeout)):
        if value <= 0:
            raise InputError(f"--{name}: Expected a number > 0 but got {value}.")
    from radreward.scorers.loading import split_name

    check_scorers([split_name(scorer)[1] for scorer in scorers])
    from radreward.serving.server import listen, serve_app

    with listen(host, port) as listener:
        from radreward.scoring import load_scorers
        from radreward.serving.app import create_app
        from radreward.serving.limits import ServiceLimits

        loaded = load_scorers(scorers, **asdict(options)).scorers
        limits = ServiceLimits(max_pairs=max_pairs, max_requests=max_requests, seconds=timeout)
        app = create_app(loaded, limits, trusted_hosts)
        print_line(f"Serving {', '.join(loaded)}: http://{host}:{listener.getsockname()[1]}")
        serve_app(app, listener, limits)
    print_line("Stopped.")
    return 0
