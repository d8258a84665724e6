"""What all tests share: one thread a process, hypothesis without a clock, and where real reports may lie."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Tests never assert a time: the machine is shared, and a first call pays for imports.
settings.register_profile("radreward", deadline=None, derandomize=True)
settings.load_profile("radreward")
# Tests run side by side; and sums in more threads are rounded otherwise than in this process.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

OPENI = Path(__file__).resolve().parents[2] / "shared" / "data" / "openi" / "indiana_reports.csv"


@pytest.fixture(scope="session")
def openi_csv() -> Path:
    """The real reports, where they lie beside the project."""
    if not OPENI.is_file():
        pytest.skip(f"needs the real reports, which are not part of the project: {OPENI} is absent")
    return OPENI
