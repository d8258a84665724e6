"""The benchmark of GPUs, run small on the CPU."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
OTHER_PACKAGES = ("datasets", "jsonargparse", "optuna", "pandas", "pyarrow", "scipy", "sklearn", "tensorboard", "trl")
BLOCKED_RUN = """
import sys
for name in {packages}:
    sys.modules[name] = None  # an import of it raises ImportError
from benchmarks.gpu import command
sys.exit(command(["--size", "tiny", "--output", sys.argv[1]]))
"""


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)  # benchmarks run from the root of the repository and are not installed
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return import_module("benchmarks.gpu")


@pytest.fixture(scope="module")
def blocked_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Output and JSON of a run without packages that torch, transformers, peft and lightning do not need."""
    if torch.cuda.is_available():
        pytest.skip("describes a machine without a GPU")
    file = tmp_path_factory.mktemp("gpu") / "gpu.json"
    code = BLOCKED_RUN.format(packages=OTHER_PACKAGES)
    run = subprocess.run([sys.executable, "-c", code, str(file)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout, json.loads(file.read_text())


def test_command_without_gpu_prints_that_no_gpu_was_measured(blocked_run: tuple[str, dict[str, Any]]) -> None:
    output, result = blocked_run
    assert not result["describes_gpu"]
    assert result["device"] == {"type": "cpu"}
    assert result["size"] == "tiny"
    assert result["note"] in output
    assert "not run" in output.splitlines()[-3]
    assert "TFLOP/s" not in output


def test_command_measures_all_parts(blocked_run: tuple[str, dict[str, Any]]) -> None:
    _, result = blocked_run
    assert max(result["parity"].values()) < 1e-4
    plain, checkpointed, without_peer = result["steps"]
    assert (plain["job"]["checkpointing"], checkpointed["job"]["checkpointing"]) == (False, True)
    peer, rows, tree = plain["variants"].values()
    assert max(row["error"] for row in (rows, tree)) < 1e-4
    assert peer["tokens"] == 3 * rows["tokens"]  # each of four candidates is in three pairs
    assert peer["tokens"] > rows["tokens"] > tree["tokens"]
    assert tree["mfu"] is None  # the peak of a CPU is unknown
    assert tree["peak_bytes"] is None
    assert peer["ratio"] == 1
    assert list(without_peer["variants"]) == ["tree"]
    assert min(result["decoding"]["tokens_per_second"].values()) > 0
    assert result["scoring"]["pairs_per_second"]["fp32"] > 0


def test_command_full_size_without_gpu_fails(gpu: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.command(["--size", "8B"])
    assert "Expected a CUDA GPU for --size 8B" in capsys.readouterr().err


def test_run_failed_part_is_recorded_and_the_others_run(
    gpu: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("benchmarks._gpu_step.measure", fail)
    for part in ("parity", "decoding", "scoring"):
        monkeypatch.setattr(f"benchmarks._gpu_parts.{part}", lambda *_, part=part: {"measured": part})
    file = tmp_path / "gpu.json"
    assert gpu.command(["--output", str(file)]) == 1
    result = json.loads(file.read_text())
    assert result["steps"] == [{"failed": "RuntimeError: out of memory"}] * 3
    assert [result[part]["measured"] for part in ("parity", "decoding", "scoring")] == ["parity", "decoding", "scoring"]
    with pytest.raises(RuntimeError, match="3 parts failed: RuntimeError: out of memory"):
        gpu.main()
    capsys.readouterr()


def test_figures_of_a_gpu_have_goals_and_mfu(gpu: ModuleType) -> None:
    tree = {"ratio": 6.0, "error": 1e-3, "mfu": 0.5, "model_tflops": 494.5, "peak_bytes": 2**34}
    result = {
        "describes_gpu": True,
        "parity": {"failed": "AssertionError: rewards differ"},
        "steps": [
            {"job": {"groups": 6, "checkpointing": True, "peer": True}, "variants": {"tree": tree}},
            {"job": {"groups": 8, "checkpointing": False, "peer": False}, "variants": {"tree": {**tree, "mfu": None}}},
        ],
        "decoding": {"tokens_per_second": {"radreward": 900.0}},
        "scoring": {"pairs_per_second": {"bf16": 4000.0}},
    }
    figures = {figure.work: figure for figure in gpu.figures(result)}
    assert figures["GPU part"].parity == "FAILED: AssertionError: rewards differ"
    assert figures["8B step, 6 groups, checkpointing; MFU"].value == 50
    assert figures["8B step, 6 groups, checkpointing; against TRL's step"].verdict == "met"
    assert figures["8B step, 8 groups; MFU"].value is None
    assert figures["decoding, radreward"].unit == "tokens/s"
    assert figures["scoring, bf16"].value == 4000


def test_step_different_gradient_raises(gpu: ModuleType) -> None:
    models, step = import_module("benchmarks._gpu_models"), import_module("benchmarks._gpu_step")
    size, device = models.tiny_size(), torch.device("cpu")
    model = models.reward_model(size.decoder, device, "float32")
    variants = step.build_variants(size.jobs[0], model, 500)
    paths, pairs = step.random_paths(size.jobs[0].case, 500), step.all_pairs(size.jobs[0].case)
    variants[step.PEER] = step.peer_variant(model, paths, pairs[1:])
    with pytest.raises(AssertionError, match="differs by"):
        step.check(model, variants, device)


def test_step_with_one_kernel_is_compared_with_the_node_loop(gpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    models, step = import_module("benchmarks._gpu_models"), import_module("benchmarks._gpu_step")
    size, device = models.tiny_size(), torch.device("cpu")
    monkeypatch.setattr(step, "supports_varlen", lambda *_: True)
    result = step.measure(size.jobs[2], size.decoder, device, None)
    assert list(result["variants"]) == [step.TREE, step.LOOP]
    assert result["variants"][step.LOOP]["error"] == 0  # on a CPU, both are the loop
    with step.node_loop():
        assert not import_module("radreward.models.node_attention").supports_varlen(None, None)


def test_peak_is_that_of_the_device_name(gpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    models = import_module("benchmarks._gpu_models")
    for name, peak in {"NVIDIA H100 PCIe": 756e12, "NVIDIA H100 80GB HBM3": 989e12, "NVIDIA L4": None}.items():
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _, name=name: name)
        assert models.peak_flops(torch.device("cuda")) == peak
    assert models.peak_flops(torch.device("cpu")) is None
