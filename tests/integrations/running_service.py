"""A service of scorers in a thread of this process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

import uvicorn

from radreward.scorers.base import Scorer
from radreward.serving.app import create_app
from radreward.serving.limits import ServiceLimits
from radreward.serving.server import listen, server_config


@contextmanager
def served(scorers: Mapping[str, Scorer], max_pairs: int) -> Iterator[str]:
    """Yield the address of a service that takes this number of pairs per request."""
    limits = ServiceLimits(max_pairs=max_pairs)
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(server_config(create_app(scorers, limits), limits))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join()
