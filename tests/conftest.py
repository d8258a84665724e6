"""Shared test setup: one thread per process, deterministic hypothesis, and the path of real reports."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.quick_databases import read_migrations_once
from tests.quick_disk import never_wait_for_the_disk

if TYPE_CHECKING:  # Windows has no fork server
    from multiprocessing.context import ForkServerContext

    from selenium.webdriver import Chrome

# Tests never assert a time: the machine may be busy, and a first call includes imports.
settings.register_profile(
    "radreward", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("radreward")
# Tests run in parallel; and with more threads, sums are rounded differently. PyTorch, NumPy and child processes read
# this once, so none of them is imported above.
os.environ["OMP_NUM_THREADS"] = "1"
# On a machine with a GPU, tests compute on the CPU, too; docs/gpu.md says how to run those that need it.
if os.environ.get("RADREWARD_GPU") != "1":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
# Tests start many processes: they store compiled modules, also where the environment says not to.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Imports make a million objects that stay; looking for garbage among them takes a tenth of the time.
gc.disable()

OPENI_VARIABLE = "RADREWARD_OPENI"
"""Environment variable with the folder of the Open-i collection (indiana_reports.csv), for tests on real reports."""

LONG = {
    "serving",
    "test_ablation.py",
    "test_full_size_experiments.py",
    "test_parts.py",
    "test_ray_backend.py",
    "test_tune.py",
}
"""Files and folders whose tests take long."""


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among what collection has imported."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first, those with a time limit and those of long files: one process would end alone."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None and LONG.isdisjoint(item.path.parts))


@pytest.fixture(scope="session", autouse=True)
def _quick_files_and_databases() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        never_wait_for_the_disk(patch)
        read_migrations_once(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_figures() -> Iterator[None]:
    """Let training draw no figures, which take a third of a short run; the run of `trained` draws them."""
    from radreward.modules.callbacks import RewardPlots

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RewardPlots, "draws_figures", False)
        yield


@pytest.fixture(scope="session")
def openi_csv() -> Path:
    """Return the file of real reports, or skip the test."""
    folder = os.environ.get(OPENI_VARIABLE)
    if not folder:
        pytest.skip(f"needs real reports: set {OPENI_VARIABLE} to the folder with indiana_reports.csv")
    path = Path(folder) / "indiana_reports.csv"
    if not path.is_file():
        pytest.fail(f"{OPENI_VARIABLE}: Expected a folder with indiana_reports.csv but {path} is missing.")
    return path


@pytest.fixture(scope="session")
def processes() -> "ForkServerContext":
    """Return a context whose processes have imported everything, which takes longer than most commands."""
    if sys.platform == "win32":
        pytest.skip("needs a fork server, which Windows does not have")
    from multiprocessing import forkserver

    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    with chdir(Path(__file__).parents[1]):  # the server finds `tests` in the folder in which it starts
        forkserver.ensure_running()
    return context


@pytest.fixture(scope="session")
def browser() -> Iterator["Chrome"]:
    """Return headless Chromium, started once because its start is slower than all tests."""
    from benchmarks.page_render import chromium

    try:
        with chromium() as driver:
            yield driver
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a decoder's folder in the format of the Hub; rows of 64 weights fill a block of 4-bit numbers.

    Its tokens are words, because reports have thousands of bytes. Its head has the weights of its embeddings, because
    the folder has no others.
    """
    import torch
    from transformers import AutoModel, LlamaConfig

    from radreward.data.tokenizer import word_tokenizer

    folder = tmp_path_factory.mktemp("tiny-llama")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048,
        max_position_embeddings=16_384,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        tie_word_embeddings=True,
    )
    AutoModel.from_config(config).save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def one_layer_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `tiny-generator` one layer of four: answers of an untrained decoder have as many tokens as they may."""
    from radreward.models.tiny_backbones import FAMILIES, tiny_config

    config = tiny_config("generator")
    config.num_hidden_layers = 1
    monkeypatch.setitem(FAMILIES, "generator", config)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system of 64 KiB, or skip the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(  # noqa: S603 - fixed arguments
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip(f"needs permission to mount a small disk: {mount.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607
