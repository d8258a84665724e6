"""A stand-in for the package RadEval 2, with its interface, installed in an environment of its own."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

VERSION = "2.99"
SOURCE = '''
"""Stand-in: shares of common words, by the name of RadEval's metrics."""
import os
import socket
import sys

print("a metric that prints")


class RadEval:
    def __init__(self, metrics, per_sample, show_progress):
        assert per_sample and not show_progress
        [self.metric] = metrics
        if self.metric == "bertscore" and os.environ.get("HF_HUB_OFFLINE") == "1":
            raise OSError("no such model on this machine")
        if self.metric == "temporal":
            socket.create_connection(("hub.invalid", 80), timeout=1)

    def __call__(self, refs, hyps):
        print("progress")
        if any("end now" in hyp.lower() for hyp in hyps):
            print("out of memory", file=sys.stderr)
            sys.stderr.flush()
            os._exit(7)
        if any("fail here" in hyp.lower() for hyp in hyps):
            raise ValueError("cannot read\\n this")
        words = [(set(ref.split()), set(hyp.split())) for ref, hyp in zip(refs, hyps)]
        shares = [len(ref & hyp) / len(ref | hyp) for ref, hyp in words]
        if self.metric == "rouge":
            return {"rouge1": shares, "rougeL": [share / 2 for share in shares]}
        if self.metric == "radcliq":
            return {"radcliq_v1": [1 - share for share in shares]}
        if self.metric == "srrbert" and len(shares) > 1:
            return {"srrbert": shares[:-1]}
        return {self.metric: shares}
'''


def install(folder: Path, version: str = VERSION, source: str = SOURCE) -> Path:
    """Make an environment with the stand-in and return its interpreter."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    [packages] = (folder / "lib").glob("python*/site-packages")
    (packages / "radeval").mkdir()
    (packages / "radeval" / "__init__.py").write_text(source)
    metadata = packages / f"radeval-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: radeval\nVersion: {version}\n")
    return folder / "bin" / Path(sys.executable).name
