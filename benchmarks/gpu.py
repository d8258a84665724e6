"""`python -m benchmarks.gpu`: all figures of a GPU in one JSON file, with random weights of the real sizes.

Needs torch, transformers, peft and lightning, and no weights or network. The parts are parity with the CPU, a step with
LoRA on Llama 3 8B beside the shape of TRL's step, decoding with that model, and scoring with MiniLM. The sizes "8B"
need a GPU of 80 GB and took two minutes on an H100. Without a GPU, small models
replace them (`--size tiny`): the code runs, but the results do not describe a GPU, and the file says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from rich.console import Console

from benchmarks import _gpu_parts, _gpu_step
from benchmarks._figures import Figure, figures_table
from benchmarks._gpu_models import SIZES, Size, peak_flops

NOT_A_GPU = "Computed on the CPU with small models: the results do not describe a GPU."


def run(size: Size, device: torch.device, peak: float | None) -> dict[str, Any]:
    """Run all parts; the results of a part that failed are its error, and the others run nevertheless."""
    console = Console(width=140)
    on_gpu = device.type == "cuda"
    result: dict[str, Any] = {
        "describes_gpu": on_gpu and size.name != "tiny",
        "device": _device(device),
        "size": size.name,
        "versions": {
            "python": sys.version.split()[0],
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "peak_tflops": peak and peak / 1e12,
        "published_tflops": _gpu_step.PUBLISHED_TFLOPS,
    }
    if not on_gpu:
        result["note"] = NOT_A_GPU
        console.print(NOT_A_GPU)
    result["parity"] = _part(partial(_gpu_parts.parity, device))
    result["steps"] = []
    for job in size.jobs:
        step = _part(partial(_gpu_step.measure, job, size.decoder, device, peak))
        result["steps"].append(step)
        if "failed" not in step:
            console.print(_gpu_step.result_table(step))
    result["decoding"] = _part(partial(_gpu_parts.decoding, size, device))
    result["scoring"] = _part(partial(_gpu_parts.scoring, size, device))
    return result


def _device(device: torch.device) -> dict[str, Any]:
    """Return the type of a device, and the name and memory of a GPU."""
    if device.type != "cuda":
        return {"type": device.type}
    properties = torch.cuda.get_device_properties(device)
    return {
        "type": "cuda",
        "name": properties.name,
        "memory_bytes": properties.total_memory,
        "cuda": torch.version.cuda,
    }


def _part(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of a part, or its error, with free memory for the next."""
    try:
        return dict(work())
    except Exception as error:
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}
    finally:
        if torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()


def failures(result: dict[str, Any]) -> list[str]:
    """Return the errors of the parts that failed."""
    parts = [result["parity"], *result["steps"], result["decoding"], result["scoring"]]
    return [part["failed"] for part in parts if "failed" in part]


def figures(result: dict[str, Any]) -> list[Figure]:
    """Return the figures of results that describe a GPU; of others, one row that says so."""
    if not result["describes_gpu"]:
        return [Figure("Figures of a GPU", None, parity="no GPU" if "note" in result else "small models")]
    measured = [Figure("GPU part", None, parity=f"FAILED: {error}") for error in failures(result)]
    measured += [figure for step in result["steps"] if "failed" not in step for figure in _gpu_step.figures(step)]
    for part, unit in {"decoding": "tokens_per_second", "scoring": "pairs_per_second"}.items():
        for name, value in result[part].get(unit, {}).items():
            measured.append(Figure(f"{part}, {name}", value, unit.replace("_per_second", "/s")))
    return measured


def measure(size_name: str, peak: float | None = None) -> dict[str, Any]:
    """Return the results of all parts on a GPU if there is one, else on one core.

    Raises:
        ValueError: If the sizes "8B" are requested without a GPU.
    """
    on_gpu = torch.cuda.is_available()
    if size_name != "tiny" and not on_gpu:
        raise ValueError(f"Expected a CUDA GPU for --size {size_name} but torch found none. Use --size tiny.")
    device = torch.device("cuda" if on_gpu else "cpu")
    if not on_gpu:
        torch.set_num_threads(1)
    return run(SIZES[size_name](), device, peak or peak_flops(device))


def main() -> list[Figure]:
    """Run all parts with the sizes for this machine, and print the results as JSON."""
    result = measure("8B" if torch.cuda.is_available() else "tiny")
    print(json.dumps(result), flush=True)
    if failed := failures(result):
        raise RuntimeError(f"{len(failed)} parts failed: {'; '.join(failed)}")
    return figures(result)


def command(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a part failed, 2 for sizes that this machine cannot compute."""
    default = "8B" if torch.cuda.is_available() else "tiny"
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=list(SIZES), default=default, help=f"default on this machine: {default}")
    parser.add_argument("--output", type=Path, default=Path("gpu.json"), help="file to write (default: gpu.json)")
    parser.add_argument("--peak-tflops", type=float, help="peak of the GPU in bfloat16, for MFU (default: by its name)")
    options = parser.parse_args(arguments)
    try:
        result = measure(options.size, options.peak_tflops and options.peak_tflops * 1e12)
    except ValueError as error:
        parser.error(str(error))
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    Console(width=140, markup=False).print(figures_table(figures(result)))
    print(f"Wrote {options.output}.")
    return int(bool(failures(result)))


if __name__ == "__main__":
    sys.exit(command())
