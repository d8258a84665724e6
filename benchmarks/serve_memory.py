"""Peak memory of `radreward serve` after few and after many pairs; it must not grow with the number of requests.

The service runs in a process of its own, whose peak resident memory Linux reports. The pairs are generated reports of
about 60 words, 32 in a request.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks._figures import Figure
from benchmarks.score_memory import report_rows

PAIRS_PER_REQUEST = 32
TIMEOUT = 600.0
"""Seconds within which a request is answered."""


@contextmanager
def service(scorer: str) -> Iterator[tuple[str, int]]:
    """Run the service; yield its address and its process.

    Raises:
        RuntimeError: If it ends before it serves.
    """
    command = [sys.executable, "-m", "radreward", "serve", f"--scorers={scorer}", "--port=0", f"--timeout={TIMEOUT}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:  # noqa: S603 - our own command
        try:
            assert process.stdout is not None
            lines = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in process.stdout)
            address = next(filter(None, lines), None)
            if address is None:
                raise RuntimeError(f"Expected a service but it ended with code {process.wait()}.")
            yield address[0], process.pid
        finally:
            process.send_signal(signal.SIGINT)


def peak_bytes(pid: int) -> int:
    """Return the peak resident memory of a process."""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert match is not None
    return 1024 * int(match[1])


def main(scorer: str = "er2score", short: int = 512, long: int = 4096) -> list[Figure]:
    """Send the pairs, and compare the peaks after `short` and after `long` of them.

    Args:
        scorer: Name or folder of a scorer.
        short: First number of pairs, a multiple of `PAIRS_PER_REQUEST`.
        long: Second number of pairs, larger.

    Raises:
        ValueError: If the first peak would not be measured.
    """
    if short % PAIRS_PER_REQUEST or not 0 < short < long:
        raise ValueError(f"Expected `short` to be a multiple of {PAIRS_PER_REQUEST} below {long} but got {short}.")
    pairs = [{key: row[key] for key in ("reference", "candidate")} for row in report_rows(long)]
    peaks = {}
    with service(scorer) as (address, pid):
        for start in range(0, long, PAIRS_PER_REQUEST):
            if start == short:
                peaks[short] = peak_bytes(pid)
            body = json.dumps({"pairs": pairs[start : start + PAIRS_PER_REQUEST]})
            request = Request(f"{address}/score", body.encode(), {"Content-Type": "application/json"})  # noqa: S310 - our own service
            with urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310 - our own service
                answer.read()
        peaks[long] = peak_bytes(pid)
    print(json.dumps({"scorer": scorer, "bytes": peaks}), flush=True)
    mebibytes = " and ".join(f"{peak / 2**20:.0f}" for peak in peaks.values())
    work = f"peak memory of serving {scorer}, {long:,} pairs of 60 words to {short:,}"
    return [Figure(work, peaks[long] / peaks[short], parity=f"{mebibytes} MiB", at_most=1.1)]
