"""Upload to and download from a fake Hub; an unreachable Hub costs one request, not a series of retries."""

import os
import socketserver
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from radreward import load
from radreward.errors import InputError
from radreward.io.hub import upload_model
from tests.io.fake_hub import run_with_hub, running_fake_hub

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


def run_without_hub(code: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], str, int]:
    """Return a finished process, the address of its closing server, and the number of its connections."""
    with _ClosingServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0", **variables}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        server.shutdown()
    return done, endpoint, server.connections


def test_unknown_name_without_the_hub_fails_after_one_request() -> None:
    done, endpoint, connections = run_without_hub(CODE)
    first, second = done.stdout.splitlines()
    assert first.startswith("nobody/nothing: no tokenizer can be loaded from it")
    assert second.startswith("nobody/nothing: no backbone can be loaded from it")
    assert f"{endpoint} does not answer; only models on this machine are available." in done.stderr
    assert connections == 1


PUBLISHED = """
import radreward
from radreward.errors import InputError
for name in ("radgraph", "ratescore:published"):
    try:
        radreward.load(name).score(["Small left effusion."], ["Clear lungs."])
    except InputError as error:
        print(error)
"""


@pytest.mark.skipif(find_spec("radgraph") is None, reason="needs radgraph: pip install radgraph")
def test_missing_published_models_are_one_line_and_send_nothing_unless_downloads_are_allowed(tmp_path: Path) -> None:
    done, _, connections = run_without_hub(PUBLISHED, XDG_CACHE_HOME=str(tmp_path), HF_HOME=str(tmp_path))
    radgraph, ratescore = done.stdout.splitlines()
    assert radgraph.startswith("RadGraph F1: the model 'radgraph' cannot be loaded")
    assert radgraph.endswith("Use --allow-download, or `allow_download=True`, to download it.")
    assert ratescore == (
        "Angelakeke/RaTE-NER-Deberta: cannot be loaded as a token-classification model "
        "(it is not on this machine, and the Hub was not asked or does not answer)."
    )
    assert connections == 0


ONLINE = """
import radreward
from radreward.errors import InputError

name = radreward.load("er2score").push_to_hub("clinic/metric")
print(name)
radreward.load("rouge-l").push_to_hub("clinic/metric")  # a second version, without the files of the first
for model in ("clinic/metric", name, "clinic/nothing", "clinic/metric@nothing", "green:clinic/metric"):
    try:
        print(radreward.load(model, allow_download=True).fingerprint())
    except InputError as error:
        print(error)
"""
OFFLINE = """
import sys
import radreward
from radreward.errors import InputError

for model, allow_download in ((sys.argv[1], False), (sys.argv[1], True), ("clinic/new", False), ("clinic/new", True)):
    try:
        print(radreward.load(model, allow_download=allow_download).fingerprint())
    except InputError as error:
        print(error)
"""


def test_scorers_pushed_to_a_fake_hub_load_from_it_and_later_from_the_cache(tmp_path: Path) -> None:
    with running_fake_hub() as hub:
        name, newest, pinned, *errors = run_with_hub(hub.address, tmp_path, ONLINE).splitlines()
        first, second = list(hub.commits["clinic/metric"].values())[1:]
        private = hub.private
    assert set(first) == {"README.md", "calibration.json", "config.json", "model.safetensors"}
    assert set(second) == {"README.md", "rouge.json"}
    assert b"**For research only.**" in first["README.md"]
    assert private == {"clinic/metric": True}
    assert newest == load("rouge-l").fingerprint()
    assert pinned == load("er2score").fingerprint()
    assert errors[0].startswith("clinic/nothing: Expected a model of the Hub but there is none, or it is private")
    assert errors[1] == "clinic/metric: Expected a model of the Hub but it has no such revision."
    assert "Expected a folder with green.json" in errors[2]
    offline = run_with_hub(hub.address, tmp_path, OFFLINE, name).splitlines()
    assert offline[:2] == [pinned, pinned]
    missing = "clinic/new: Expected a folder, or a model of the Hub on this machine, but there is none; "
    assert offline[2:] == [
        f"{missing}allow_download=True (--allow-download) asks the Hub.",
        f"{missing}the Hub does not answer.",
    ]


def test_upload_of_other_files_or_to_another_name_raises(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name in ("metric", "owner/name@v1", "a/b/c"):
        with pytest.raises(InputError, match="Expected the name of a model on the Hub, owner/name"):
            upload_model(tmp_path, name, private=True)
    (tmp_path / "model.py").write_text("")
    with pytest.raises(InputError, match=r"model\.py: Expected JSON or safetensors only"):
        upload_model(tmp_path, "owner/name", private=True)
