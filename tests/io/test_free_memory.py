"""Free memory goes back to the system."""

import platform
import subprocess
import sys

import pytest

CHILD = """
import sys
from radreward.io.free_memory import return_free_memory

def resident():
    return 4096 * int(open("/proc/self/statm").read().split()[1])

small = [bytes(1_000) for _ in range(100_000)]
last = bytes(1_000)  # above all others, so that glibc keeps what is free below
full = resident()
del small
kept = resident()
return_free_memory()
print(full, kept, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_below_a_block_in_use_is_returned() -> None:
    result = subprocess.run([sys.executable, "-c", CHILD], check=True, capture_output=True, text=True)  # noqa: S603
    full, kept, left = map(int, result.stdout.split())
    assert full - kept < 20_000_000
    assert full - left > 60_000_000
