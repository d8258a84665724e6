"""An unreachable Hub costs one request, not a series of retries."""

import os
import socketserver
import subprocess
import sys
import threading

CODE = """
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.models import Backbone
for load in (load_tokenizer, lambda name: Backbone(name, lora=None).config()):
    try:
        load("nobody/nothing")
    except InputError as error:
        print(error)
"""


class _ClosingServer(socketserver.ThreadingTCPServer):
    """A server that closes every connection without an answer, and counts them."""

    def __init__(self) -> None:
        self.connections = 0
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)

    def verify_request(self, request: object, client_address: object) -> bool:
        self.connections += 1
        return False


def test_unknown_name_without_the_hub_fails_after_one_request() -> None:
    with _ClosingServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0"}
        done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
        server.shutdown()
    first, second = done.stdout.splitlines()
    assert first.startswith("nobody/nothing: no tokenizer can be loaded from it")
    assert second.startswith("nobody/nothing: no backbone can be loaded from it")
    assert f"{endpoint} does not answer; only models on this machine are available." in done.stderr
    assert server.connections == 1
