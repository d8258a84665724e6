"""Peak memory of `radreward score` for files of different lengths; it must not grow with the number of rows.

Each file is scored in a separate process, whose peak resident memory Linux reports. In the first files, the backbone is
tiny and the texts are short and distinct, so that the time is spent on reading, scoring and writing rows, not in a
model. The second files have generated reports of about 60 words, which the shipped models score.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import torch
from rich.console import Console
from rich.table import Table

from benchmarks._figures import Figure
from radreward.criteria import RadCliQCriteria
from radreward.io.tables import write_table
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact, save_reward_model
from radreward.models.precision import Precision, has_bfloat16_products
from radreward.prompts import PlainPairTemplate
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence
from radreward.text.findings import GENERATED_FINDINGS

CHILD = """
import re, sys
from pathlib import Path
from radreward.cli import main
code = main(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
sys.exit(code)
"""
SCHEMA = pa.schema({name: pa.string() for name in ("id", "reference", "candidate")})
PER_REFERENCE = 4


class Case(NamedTuple):
    """A short and a long file of one format."""

    suffix: str
    short: int = 10_000
    long: int = 200_000


class ShippedCase(NamedTuple):
    """A shipped model, and the rows of a short and a long file of reports."""

    scorer: str
    precision: Precision = "fp32"
    short: int = 512
    long: int = 4096


SHIPPED = (ShippedCase("er2score"), ShippedCase("er2score", "bf16"), ShippedCase("ratescore"))
CASES = (Case(".jsonl"), Case(".csv", 5_000, 30_000), Case(".parquet", 5_000, 30_000))


def rows(number: int) -> Iterator[dict[str, str]]:
    """Yield distinct pairs, with the candidates of a reference next to each other."""
    for index in range(number):
        reference = f"effusion {index // PER_REFERENCE}"
        yield {"id": f"r{index}", "reference": reference, "candidate": f"clear {index}"}


def report_rows(number: int) -> Iterator[dict[str, str]]:
    """Yield pairs of generated reports of eight findings, about 60 words."""
    rng, keys = Random(0), tuple(GENERATED_FINDINGS)

    def report() -> str:
        return " ".join(fact_sentence(sample_fact(key, rng), rng).text for key in sample_findings(rng, keys, 8))

    for index in range(number):
        yield {"id": f"r{index}", "reference": report(), "candidate": report()}


def write_model(folder: Path) -> Path:
    """Save a tiny model with random weights and return its folder."""
    torch.manual_seed(0)
    save_reward_model(
        RewardModelArtifact(PooledRewardModel(Backbone("tiny-bert"), RadCliQCriteria()), PlainPairTemplate(), 256),
        folder,
    )
    return folder


def peak_of_scoring(model: Path | str, source: Path, output: Path, *options: str) -> int:
    """Score a file in a separate process and return its peak resident memory in bytes."""
    return peak_memory(["score", f"--scorers={model}", f"--input={source}", f"--output={output}", *options])


def peak_memory(arguments: Sequence[str]) -> int:
    """Run a radreward command in a separate process and return its peak resident memory in bytes."""
    result = subprocess.run([sys.executable, "-c", CHILD, *arguments], check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own code and files
    return 1024 * int(result.stdout.splitlines()[-1])


def measure(case: Case, model: Path | str, folder: Path) -> dict[str, Any]:
    """Score both files; return the results that are printed as JSON."""
    peaks = []
    for number in (case.short, case.long):
        source = folder / f"in-{number}{case.suffix}"
        write_table(source, SCHEMA, rows(number), number if case.suffix == ".parquet" else 1000)  # one row group
        peaks.append(peak_of_scoring(model, source, folder / f"out-{number}{case.suffix}"))
    return {"case": case._asdict(), "short_bytes": peaks[0], "long_bytes": peaks[1], "ratio": peaks[1] / peaks[0]}


def measure_shipped(case: ShippedCase, folder: Path) -> Figure:
    """Score both files of reports by a shipped model; print the peaks as JSON."""
    work = f"peak memory of {case.scorer} in {case.precision}, {case.long:,} reports of 60 words to {case.short:,}"
    if case.precision == "bf16" and not has_bfloat16_products():
        return Figure(work, None, parity="this CPU has no bfloat16 products")
    peaks = []
    for number in (case.short, case.long):
        source = folder / f"reports-{number}.jsonl"
        write_table(source, SCHEMA, report_rows(number))
        output = folder / f"{case.scorer}-{case.precision}-{number}.jsonl"
        peaks.append(peak_of_scoring(case.scorer, source, output, f"--precision={case.precision}"))
    print(json.dumps({"case": case._asdict(), "bytes": peaks, "ratio": peaks[1] / peaks[0]}), flush=True)
    mebibytes = " and ".join(f"{peak / 2**20:.0f}" for peak in peaks)
    return Figure(work, peaks[1] / peaks[0], parity=f"{mebibytes} MiB", at_most=1.1)


def main(
    cases: Sequence[Case] = CASES, scorer: str | None = None, shipped: Sequence[ShippedCase] = SHIPPED
) -> list[Figure]:
    """Run and print the benchmark.

    Args:
        cases: Files to score.
        scorer: Name or folder of a scorer; by default a tiny reward model.
        shipped: Shipped models and the sizes of their files.
    """
    measured = []
    table = Table("format", "rows", "peak MiB", "rows", "peak MiB", "ratio", title="Peak memory of `radreward score`")
    with tempfile.TemporaryDirectory() as folder:
        model = scorer or write_model(Path(folder) / "model")
        for case in cases:
            result = measure(case, model, Path(folder))
            short, long = (f"{result[name] / 2**20:.0f}" for name in ("short_bytes", "long_bytes"))
            table.add_row(case.suffix, f"{case.short:,}", short, f"{case.long:,}", long, f"{result['ratio']:.2f}")
            print(json.dumps(result), flush=True)
            work = f"peak memory of `score`, {case.long:,} rows of {case.suffix} to {case.short:,}"
            measured.append(Figure(work, result["ratio"], at_most=1.1))
        measured += [measure_shipped(case, Path(folder)) for case in shipped]
    Console(width=100).print(table)
    return measured
